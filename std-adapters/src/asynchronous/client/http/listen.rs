//! GET streams, and the end of a session.

use std::io::ErrorKind;

use mcp_sansio::Frame;
use mcp_sansio::http::client::{Exchange, HttpSession};
use mcp_sansio::http::sse::{EventKind, EventReader};

use super::exchange::{To, ask, feed, follow, get, hear, resume};
use super::jobs::{Begun, Job};
use super::transport_state::{LINGER, Put, State, TransportState, within};
use crate::client::HttpError;

/// Reads the GET stream of a session, for as long as the session lasts and the server offers it.
pub(crate) async fn listen(shared: &TransportState) {
    let Some(mut exchange) = shared.with(|state| state.session.begin_get()) else { return };
    if let Ok(Some(wire)) = resume(shared, &mut exchange, None).await {
        let _ = follow(shared, wire, &mut exchange, To::Client).await;
    }
}

/// Reads the stream of a server of 2024-11-05. Its end ends the connection.
pub(crate) async fn older(shared: &TransportState, begun: Begun) {
    let Begun { mut wire, mut exchange, mut events, chunk } = begun;
    let ended =
        hear(shared, &mut wire, &mut exchange, &mut events, chunk, To::Client, &mut Vec::new())
            .await;
    shared.finish(ended.err().filter(|error| error.kind() != ErrorKind::UnexpectedEof));
}

/// Tries HTTP+SSE (2024-11-05): the stream of such a server starts with the endpoint for messages.
/// `id` is that of `initialize`.
pub(crate) async fn try_older(
    shared: &TransportState,
    id: Option<&str>,
) -> Result<bool, HttpError> {
    let mut exchange = Exchange::http_sse();
    let session = HttpSession::new();
    let fields = |_: &State, put: Put<'_>| session.get_fields(None, put);
    let opened = get(shared, &mut exchange, id, &fields).await;
    let mut wire = match opened {
        Ok(Some(wire)) => wire,
        Ok(None) | Err(HttpError::ConnectionLost | HttpError::Invalid(_)) => return Ok(false),
        Err(error) => return Err(error),
    };
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
            HttpError::Invalid(format!("invalid endpoint event `{uri}`: {error}"))
        })?);
        state.jobs.push(Job::Older(Box::new(Begun { wire, exchange, events, chunk })));
        Ok(true)
    })
}

/// Ends the session. The server's response is ignored.
pub(crate) async fn delete(shared: &TransportState) {
    let Some(mut exchange) = shared.with(|state| state.session.begin_delete()) else { return };
    let fields = |state: &State, put: Put<'_>| state.session.delete_fields(put);
    let _ = within(LINGER, ask(shared, "DELETE", &mut exchange, None, &fields)).await;
}

/// Maximum length of the URI of an endpoint, in bytes.
const MAX_ENDPOINT: usize = 8 << 10;
/// Maximum number of bytes before the endpoint event.
const MAX_BEFORE_ENDPOINT: usize = 64 << 10;
