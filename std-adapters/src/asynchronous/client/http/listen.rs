//! GET streams, and the end of a session.

use std::io::{self, ErrorKind};

use mcp_sansio::Frame;
use mcp_sansio::http::client::{Exchange, ResponseKind};
use mcp_sansio::http::codec::BodyLength;
use mcp_sansio::http::sse::{EventKind, EventReader};

use super::exchange::{To, feed, follow, hear, resume};
use super::jobs::{Begun, Job};
use super::transport_state::{LINGER, TransportState, timeout};

/// Reads the GET stream of a session, for as long as the session lasts and the server offers it.
pub(super) async fn listen(shared: &TransportState) {
    let Some(mut exchange) = shared.with(|state| state.session.begin_get()) else { return };
    if let Ok(Some(wire)) = resume(shared, &mut exchange, None).await {
        let _ = follow(shared, wire, &mut exchange, To::Client).await;
    }
}

/// Reads the stream of a server of 2024-11-05. Its end ends the connection.
pub(super) async fn older(shared: &TransportState, begun: Begun) {
    let Begun { mut wire, mut exchange, mut events, chunk } = begun;
    let ended =
        hear(shared, &mut wire, &mut exchange, &mut events, chunk, To::Client, &mut Vec::new())
            .await;
    shared.finish(ended.err().filter(|error| error.kind() != ErrorKind::UnexpectedEof));
}

/// Tries HTTP+SSE (2024-11-05): the stream of such a server starts with the endpoint for messages.
pub(super) async fn try_older(shared: &TransportState) -> io::Result<bool> {
    let mut exchange = Exchange::http_sse();
    let target = shared.with(|state| state.target.clone());
    let credentials = shared.credentials("GET", &target, None).await.map_err(io::Error::other)?;
    let session = mcp_sansio::http::client::HttpSession::new();
    let head = shared.head("GET", &target, BodyLength::Absent, &credentials, &mut |put| {
        session.get_fields(None, put);
        true
    });
    let mut wire = shared.send("GET", &head.map_err(io::Error::other)?, &[]).await?;
    let reply = wire
        .head(|head| shared.with(|state| state.session.classify_response(&mut exchange, head)))
        .await;
    if !matches!(reply, Ok(ResponseKind::EventStream)) {
        return Ok(false);
    }
    let mut events = EventReader::with_limit(Vec::new(), shared.http.max_message);
    let mut chunk = Vec::new();
    let mut fed = 0;
    let first = loop {
        if let Some(event) = events.next_event() {
            break match (event.kind, event.data) {
                (EventKind::Endpoint, Frame::Complete(uri)) if uri.len() <= MAX_ENDPOINT => {
                    String::from_utf8(uri.to_vec()).ok()
                }
                _ => None,
            };
        }
        if chunk.is_empty() && !wire.piece(&mut |piece| chunk.extend_from_slice(piece)).await? {
            break None;
        }
        fed += feed(&mut events, &mut chunk);
        if fed > MAX_BEFORE_ENDPOINT {
            break None;
        }
    };
    let Some(uri) = first else { return Ok(false) };
    shared.with(|state| {
        let target = shared.origin().resolve(&state.target, &uri).map(|target| target.to_string());
        state.older = Some(target.map_err(|error| {
            io::Error::new(
                ErrorKind::InvalidData,
                format!("invalid endpoint event `{uri}`: {error}"),
            )
        })?);
        state.jobs.push(Job::Older(Box::new(Begun { wire, exchange, events, chunk })));
        Ok(true)
    })
}

/// Ends the session. The server's response is ignored.
pub(super) async fn delete(shared: &TransportState) {
    let Some(mut exchange) = shared.with(|state| state.session.begin_delete()) else { return };
    let _ = timeout(LINGER, async {
        let target = shared.with(|state| state.target.clone());
        let credentials = shared.credentials("DELETE", &target, None).await;
        let credentials = credentials.map_err(io::Error::other)?;
        let head = shared.with(|state| {
            shared.head("DELETE", &target, BodyLength::Absent, &credentials, &mut |put| {
                state.session.delete_fields(put);
                true
            })
        });
        let head = head.map_err(io::Error::other)?;
        let mut wire = shared.send("DELETE", &head, &[]).await?;
        wire.head(|head| shared.with(|state| state.session.classify_response(&mut exchange, head)))
            .await
    })
    .await;
}

/// Maximum length of the URI of an endpoint, in bytes.
const MAX_ENDPOINT: usize = 8 << 10;
/// Maximum number of bytes before the endpoint event.
const MAX_BEFORE_ENDPOINT: usize = 64 << 10;
