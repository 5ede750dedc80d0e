//! POST requests: from a message to its response.

use std::time::Duration;

use mcp_sansio::http::client::{Exchange, OutgoingMessage, Post, ResponseKind, UrlError};
use mcp_sansio::{OwnedJson, RawJson};
use mcp_sansio_http1::BodyLength;

use super::authorize::{self, Refused};
use super::exchange::{Got, To, follow, read, unusable};
use super::inbox::Failure;
use super::jobs::Job;
use super::transport_state::{Diagnostic, TransportState, within};
use super::{listen, reconnect, tools};
use crate::client::HttpError;

/// Attempts made for a message.
#[derive(Default)]
struct Tried {
    authorization: authorize::Tried,
    another_session: bool,
    another_list: bool,
    same_version: bool,
    redirects: u8,
}

/// The next step after an attempt.
enum Next {
    Done,
    Again,
    /// The server responded with this error.
    Refused(OwnedJson),
}

/// Sends a message and delivers the response.
pub(crate) async fn post(shared: &TransportState, sent: &Post) {
    let post = sent.message();
    let mut tried = Tried::default();
    loop {
        let failure = match attempt(shared, sent, &post, &mut tried).await {
            Ok(Next::Again) => continue,
            Ok(Next::Done) => break,
            Ok(Next::Refused(error)) => Failure::JsonRpc(error),
            Err(error) => Failure::Http(error),
        };
        match post.id() {
            Some(id) => shared.call_failed(id, failure),
            None => shared.report(Diagnostic::Refused(failure.as_core())),
        }
        break;
    }
    opened(shared, &post);
}

/// Allows the next message.
fn opened(shared: &TransportState, post: &OutgoingMessage<'_>) {
    if post.is_handshake() {
        shared.with(|state| state.is_opening = false);
    }
}

async fn attempt(
    shared: &TransportState,
    sent: &Post,
    post: &OutgoingMessage<'_>,
    tried: &mut Tried,
) -> Result<Next, HttpError> {
    let message = sent.body();
    let target = shared.with(|state| state.older.as_ref().unwrap_or(&state.target).clone());
    let credentials = shared.credentials("POST", &target, post.id()).await?;
    let (mut exchange, head, generation, is_older) = shared.with(|state| {
        remember(&mut state.opening, sent, post);
        let exchange = state.session.begin_post(post);
        let schema = post.tool_name().and_then(|tool| state.tools.schema(&tool.to_string()));
        let length = BodyLength::Known(message.len() as u64);
        let head = shared.head("POST", &target, length, &credentials, &mut |put| {
            state.session.post_fields(post, schema, put).is_ok()
        });
        Ok::<_, HttpError>((exchange, head?, state.generation, state.older.is_some()))
    })?;
    // The client enforces the time limits of its requests, and drops them.
    let read_timeout = if post.id().is_some() { Duration::MAX } else { shared.http.accept_timeout };
    let sent = async {
        let mut wire = shared.send("POST", &head, message).await?;
        let head = wire.head(|head| {
            shared.observed(head);
            let reply = shared.with(|state| state.session.classify_response(&mut exchange, head));
            let text = |name| head.fields.get(name).unwrap_or_default().to_owned();
            let unauthorized = Refused::of(head, &credentials);
            let location =
                if matches!(head.status, 307 | 308) { text("location") } else { String::new() };
            (head.status, reply, unauthorized, location)
        });
        let head = head.await?;
        Ok::<_, HttpError>((wire, head))
    };
    let (mut wire, (status, reply, unauthorized, location)) = within(read_timeout, sent).await?;
    // A server of 2024-11-05 responds on its stream.
    if is_older && (200..=299).contains(&status) {
        opened(shared, post);
        shared.drain(wire).await;
        return Ok(Next::Done);
    }
    let to = if post.has_method("tools/list") && exchange.is_modern() {
        To::ClientAsTools
    } else {
        To::Client
    };
    match reply {
        ResponseKind::Message => {
            let got = within(read_timeout, read(shared, wire, &mut exchange, to)).await?;
            finish(shared, post, got).await
        }
        ResponseKind::EventStream => {
            let got = within(read_timeout, follow(shared, wire, &mut exchange, to)).await?;
            finish(shared, post, got).await
        }
        ResponseKind::Accepted => {
            opened(shared, post);
            if post.has_method("notifications/initialized") {
                shared.with(|state| state.jobs.push(Job::Listen));
            }
            shared.drain(wire).await;
            if post.id().is_some() {
                unusable(shared, &exchange, "request accepted (HTTP 202) without a response");
            }
            Ok(Next::Done)
        }
        ResponseKind::SessionEnded => {
            shared.drain(wire).await;
            if tried.another_session {
                return Err(HttpError::Status(404));
            }
            tried.another_session = true;
            reconnect::renew(shared, generation, post.id()).await?;
            Ok(Next::Again)
        }
        ResponseKind::Unauthorized(_) => {
            shared.drain(wire).await;
            match unauthorized {
                Some(refused) => reauthorize(shared, post, refused, tried).await,
                None => Err(HttpError::Status(status)),
            }
        }
        ResponseKind::ErrorStatus(status) => {
            let (body, is_cut) = within(read_timeout, wire.body(MAX_ERROR)).await?;
            if !is_cut {
                shared.release(wire);
            }
            if !location.is_empty() && tried.redirects < MAX_REDIRECTS {
                tried.redirects += 1;
                return redirect(shared, &location);
            }
            rejected(shared, post, &exchange, status, &body, tried).await
        }
        ResponseKind::Invalid(reason) => Err(HttpError::Invalid(reason.to_owned())),
        _ => Err(HttpError::Status(status)),
    }
}

/// Keeps the messages that open another session.
fn remember(opening: &mut [Option<Post>; 2], sent: &Post, post: &OutgoingMessage<'_>) {
    if post.has_method("initialize") {
        *opening = [Some(sent.clone()), None];
    } else if post.has_method("notifications/initialized") {
        opening[1] = Some(sent.clone());
    }
}

/// Completes a request: the response has arrived, or will not.
async fn finish(
    shared: &TransportState,
    post: &OutgoingMessage<'_>,
    got: Got,
) -> Result<Next, HttpError> {
    opened(shared, post);
    if let Some(wire) = got.wire {
        shared.drain(wire).await;
    }
    if got.is_over { Ok(Next::Done) } else { Err(HttpError::ConnectionLost) }
}

async fn reauthorize(
    shared: &TransportState,
    post: &OutgoingMessage<'_>,
    refused: Refused,
    tried: &mut Tried,
) -> Result<Next, HttpError> {
    if shared.reauthorize(&refused, &mut tried.authorization, post.id()).await? {
        return Ok(Next::Again);
    }
    Err(refused.into())
}

/// Takes another path of the same origin from now on.
fn redirect(shared: &TransportState, location: &str) -> Result<Next, HttpError> {
    let moved = shared.with(|state| {
        let target =
            shared.origin().resolve(&state.target, location).map(|target| target.to_string())?;
        state.target.clone_from(&target);
        Ok::<_, UrlError>(target)
    });
    match moved {
        Ok(target) => {
            shared.report(Diagnostic::Redirected(&target));
            Ok(Next::Again)
        }
        Err(error) => Err(HttpError::Invalid(format!("redirected to `{location}`: {error}"))),
    }
}

async fn rejected(
    shared: &TransportState,
    post: &OutgoingMessage<'_>,
    exchange: &Exchange,
    status: u16,
    body: &[u8],
    tried: &mut Tried,
) -> Result<Next, HttpError> {
    let error = shared.with(|state| state.session.json_rpc_error(body));
    let code = error.and_then(|error| error.get("code").and_then(RawJson::as_i64));
    if shared.with(|state| {
        state.older.is_none() && state.session.may_support_http_sse(exchange, status, error)
    }) && listen::try_older(shared, post.id()).await?
    {
        return Ok(Next::Again);
    }
    if code == Some(HEADER_MISMATCH) && post.tool_name().is_some() && !tried.another_list {
        tried.another_list = true;
        // The list says which arguments are mirrored in header fields.
        if tools::refresh(shared, post).await {
            return Ok(Next::Again);
        }
    }
    // The server rejects the version of the message, but lists it as supported: retried once.
    let supported = error.and_then(|error| error.get("data")?.get("supported"));
    let mutual = supported.zip(post.protocol_version()).is_some_and(|(supported, ours)| {
        supported
            .elements()
            .any(|version| version.as_string().is_some_and(|version| version == ours))
    });
    if code == Some(UNSUPPORTED_VERSION) && mutual && !tried.same_version {
        tried.same_version = true;
        return Ok(Next::Again);
    }
    error.map_or(Err(HttpError::Status(status)), |error| Ok(Next::Refused(error.into())))
}

/// Maximum length of an error response, in bytes.
const MAX_ERROR: usize = 64 << 10;
const MAX_REDIRECTS: u8 = 4;
/// Error code of 2026-07-28, basic/transports/streamable-http.
const HEADER_MISMATCH: i64 = -32020;
/// Error code of 2026-07-28, basic/versioning.
const UNSUPPORTED_VERSION: i64 = -32022;
