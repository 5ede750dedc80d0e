//! Responses: one message, or an event stream and the streams that resume it.

use std::io;
use std::time::Duration;

use futures_lite::future::poll_once;
use mcp_sansio::Frame;
use mcp_sansio::http::client::{Exchange, NextStep, OutgoingMessage, ResponseKind};
use mcp_sansio::http::sse::{EventKind, EventReader};
use mcp_sansio_http1::BodyLength;

use super::authorize::{Refused, Tried};
use super::inbox::Failure;
use super::transport_state::{Diagnostic, Put, State, TransportState, within};
use super::wire::Wire;
use crate::client::HttpError;
use crate::runtime::timer::Timer;

/// Destination of messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    Client,
    /// The client; the message is a list of tools, which is filtered.
    ClientAsTools,
    /// The transport itself, which sent the request: the latest message is kept.
    Us,
}

/// Result of reading a response.
pub(crate) struct Got {
    /// Whether the response is complete.
    pub(crate) is_over: bool,
    /// The latest message, if it was [for the transport](To::Us).
    pub(crate) message: Vec<u8>,
    /// The connection, with the rest of its response.
    pub(crate) wire: Option<Wire>,
}

/// Reads a response that is one message.
pub(crate) async fn read(
    shared: &TransportState,
    mut wire: Wire,
    exchange: &mut Exchange,
    to: To,
) -> io::Result<Got> {
    let (body, is_cut) = wire.body(shared.http.max_message).await?;
    let mut got = Got { is_over: true, message: Vec::new(), wire: Some(wire) };
    if is_cut {
        let start = body.len() / 2;
        let (prefix, tail) = body.split_at(start);
        take(shared, exchange, Frame::Oversized { prefix, tail }, to, &mut got.message).await;
        // Neither its start nor its end contains an id.
        if !exchange.has_response() {
            unusable(shared, exchange, TOO_LONG);
        }
        got.wire = None;
        return Ok(got);
    }
    take(shared, exchange, Frame::Complete(&body), to, &mut got.message).await;
    got.is_over = exchange.has_response();
    Ok(got)
}

/// Reads a response that is an event stream, and resumes it as long as possible.
pub(crate) async fn follow(
    shared: &TransportState,
    wire: Wire,
    exchange: &mut Exchange,
    to: To,
) -> Result<Got, HttpError> {
    let mut events = EventReader::with_limit(Vec::new(), shared.http.max_message);
    let mut got = Got { is_over: false, message: Vec::new(), wire: None };
    let mut current = Some(wire);
    loop {
        if let Some(mut wire) = current.take() {
            // An interrupted stream has ended.
            let _ =
                hear(shared, &mut wire, exchange, &mut events, Vec::new(), to, &mut got.message)
                    .await;
            if exchange.has_response() {
                got.wire = Some(wire);
            }
        }
        match exchange.end_of_body(events.last_event_id(), events.retry()) {
            NextStep::Done => {
                got.is_over = true;
                return Ok(got);
            }
            NextStep::Lost => return Ok(got),
            NextStep::Resume(wait) => {
                Timer::after(wait).await;
                events.restart();
                current = match resume(shared, exchange, events.last_event_id()).await {
                    Ok(Some(wire)) => Some(wire),
                    Ok(None) => return Ok(got),
                    Err(HttpError::NotConnected(_) | HttpError::ConnectionLost) => None,
                    Err(error) => return Err(error),
                };
            }
        }
    }
}

/// Resumes a stream of the session, or opens one. Returns `None` if the server offers none.
pub(crate) async fn resume(
    shared: &TransportState,
    exchange: &mut Exchange,
    last_event_id: Option<&str>,
) -> Result<Option<Wire>, HttpError> {
    let id = exchange.request_id().map(str::to_owned);
    get(shared, exchange, id.as_deref(), &|state, put| state.session.get_fields(last_event_id, put))
        .await
}

/// Sends a GET for an event stream. Returns `None` if the response is another.
pub(crate) async fn get(
    shared: &TransportState,
    exchange: &mut Exchange,
    id: Option<&str>,
    fields: &PutFields<'_>,
) -> Result<Option<Wire>, HttpError> {
    let (kind, wire) = ask(shared, "GET", exchange, id, fields).await?;
    if kind == ResponseKind::EventStream {
        return Ok(Some(wire));
    }
    shared.drain(wire).await;
    Ok(None)
}

/// Sends a request that has these fields and no body, also again if there are other credentials.
/// `id` is that of the call that waits for it.
pub(crate) async fn ask(
    shared: &TransportState,
    method: &str,
    exchange: &mut Exchange,
    id: Option<&str>,
    fields: &PutFields<'_>,
) -> Result<(ResponseKind, Wire), HttpError> {
    let mut tried = Tried::of(method);
    loop {
        let target = shared.with(|state| state.target.clone());
        let credentials = shared.credentials(method, &target, id).await?;
        let head = shared.with(|state| {
            shared.head(method, &target, BodyLength::Absent, &credentials, &mut |put| {
                fields(state, put);
                true
            })
        })?;
        let mut wire = shared.send(method, &head, &[]).await?;
        let response = wire.head(|head| {
            shared.observed(head);
            let kind = shared.with(|state| state.session.classify_response(exchange, head));
            (kind, Refused::of(head, &credentials))
        });
        let (kind, refused) = response.await?;
        let Some(refused) = refused else { return Ok((kind, wire)) };
        shared.drain(wire).await;
        if !shared.reauthorize(&refused, &mut tried, id).await? {
            return Err(refused.into());
        }
    }
}

/// Sends a message of the transport itself, also again if there are other credentials. Returns what
/// the server responds, with [`Got`] if that is a message. `id` is that of the call that waits for
/// it, `limit` the maximum time of sending, and that of reading.
pub(crate) async fn ask_with(
    shared: &TransportState,
    post: &OutgoingMessage<'_>,
    message: &[u8],
    id: Option<&str>,
    limit: Duration,
) -> Result<(ResponseKind, Option<Got>), HttpError> {
    let mut tried = Tried::default();
    loop {
        let target = shared.with(|state| state.target.clone());
        let credentials = shared.credentials("POST", &target, id).await?;
        let (mut exchange, head) = shared.with(|state| {
            let exchange = state.session.begin_post(post);
            let length = BodyLength::Known(message.len() as u64);
            let head = shared.head("POST", &target, length, &credentials, &mut |put| {
                state.session.post_fields(post, None, put).is_ok()
            });
            (exchange, head)
        });
        let head = head?;
        let answered = async {
            let mut wire = shared.send("POST", &head, message).await?;
            let response = wire.head(|head| {
                shared.observed(head);
                let kind =
                    shared.with(|state| state.session.classify_response(&mut exchange, head));
                (kind, Refused::of(head, &credentials))
            });
            let response = response.await?;
            Ok::<_, HttpError>((wire, response))
        };
        let (wire, (kind, refused)) = within(limit, answered).await?;
        let got = match kind {
            ResponseKind::Message => {
                Some(within(limit, read(shared, wire, &mut exchange, To::Us)).await?)
            }
            ResponseKind::EventStream => {
                Some(within(limit, follow(shared, wire, &mut exchange, To::Us)).await?)
            }
            _ => {
                shared.drain(wire).await;
                None
            }
        };
        if let Some(refused) = refused {
            if shared.reauthorize(&refused, &mut tried, id).await? {
                continue;
            }
            return Err(refused.into());
        }
        let got = match got {
            Some(Got { wire: Some(wire), is_over, message }) => {
                shared.drain(wire).await;
                Some(Got { wire: None, is_over, message })
            }
            got => got,
        };
        return Ok((kind, got));
    }
}

/// Writes header fields of a request.
type PutFields<'f> = dyn Fn(&State, Put<'_>) + Sync + 'f;

/// Reads a stream until it ends, or the response has arrived. `chunk` is what was read before.
///
/// # Errors
/// If the connection fails, or [`MAX_EVENT`] times the longest message goes by without an event.
pub(crate) async fn hear(
    shared: &TransportState,
    wire: &mut Wire,
    exchange: &mut Exchange,
    events: &mut EventReader<Vec<u8>>,
    mut chunk: Vec<u8>,
    to: To,
    message: &mut Vec<u8>,
) -> io::Result<()> {
    let mut without_event = 0;
    loop {
        while let Some(event) = events.next_event() {
            without_event = 0;
            if event.kind == EventKind::Message {
                take(shared, exchange, event.data, to, message).await;
            }
        }
        if exchange.has_response() {
            // Most servers end the stream at once; checked without waiting.
            let _ = poll_once(wire.piece(&mut |_| ())).await;
            return Ok(());
        }
        if chunk.is_empty() && !wire.piece(&mut |piece| chunk.extend_from_slice(piece)).await? {
            return Ok(());
        }
        let fed = feed(events, &mut chunk);
        without_event += fed;
        if without_event / MAX_EVENT > shared.http.max_message {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no event within 16 times HttpTransport::max_message",
            ));
        }
    }
}

/// Feeds as much as there is room for to the reader. Returns the number of bytes.
pub(crate) fn feed(events: &mut EventReader<Vec<u8>>, chunk: &mut Vec<u8>) -> usize {
    let spare = events.spare();
    let n = chunk.len().min(spare.len());
    if let (Some(spare), Some(part)) = (spare.get_mut(..n), chunk.get(..n)) {
        spare.copy_from_slice(part);
    }
    events.commit(n);
    chunk.drain(..n);
    n
}

/// Handles a message.
async fn take(
    shared: &TransportState,
    exchange: &mut Exchange,
    data: Frame<'_>,
    to: To,
    message: &mut Vec<u8>,
) {
    let was_answered = exchange.has_response();
    shared.with(|state| state.session.observe(exchange, data));
    match data {
        Frame::Complete(bytes) => match to {
            To::Client => shared.deliver(bytes.to_vec()).await,
            To::ClientAsTools if exchange.has_response() => {
                let sanitized = shared.with(|state| state.tools.take(bytes));
                sanitized.dropped.iter().for_each(|(name, reason)| {
                    shared.report(Diagnostic::ToolDropped { name, reason })
                });
                shared.deliver(sanitized.message.unwrap_or_else(|| bytes.to_vec())).await;
            }
            To::ClientAsTools => shared.deliver(bytes.to_vec()).await,
            To::Us => bytes.clone_into(message),
        },
        Frame::Oversized { .. } if exchange.has_response() && !was_answered => {
            unusable(shared, exchange, TOO_LONG)
        }
        Frame::Oversized { .. } => shared.report(Diagnostic::TooLong),
    }
}

/// Reports that the response is invalid.
pub(crate) fn unusable(shared: &TransportState, exchange: &Exchange, reason: &str) {
    if let Some(id) = exchange.request_id() {
        shared.call_failed(id, Failure::Http(HttpError::Invalid(reason.to_owned())));
    }
}

/// Maximum length of a stream without an event, as a multiple of the longest message. Comments and
/// oversized data count.
const MAX_EVENT: usize = 16;
const TOO_LONG: &str = "response is longer than HttpTransport::max_message";
