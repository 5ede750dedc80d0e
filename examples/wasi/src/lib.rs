//! A server as a component of `wasi:http/proxy`, for hosts such as `jco serve`.
//!
//! Each request has a [`Site`] of its own, so that nothing is lost if the host drops the instance
//! after it: requests of 2026-07-28 stand alone, and older clients are served without sessions.

mod tools;

use std::io::Write as _;

use mcp_sansio::http::Fields;
use mcp_sansio::{Instant, ServerEvent};
use mcp_sansio_engine::site::{
    ExchangeKey, OwnedHead, Site, SiteBody, SiteOptions, SiteResponse, SiteStep,
};
use tools::{CONFIG, CountDown, Reply};
use wasip2::clocks::monotonic_clock;
use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{
    Fields as Headers, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use wasip2::io::streams::OutputStream;

wasip2::http::proxy::export!(Component);

struct Component;

impl Guest for Component {
    fn handle(request: IncomingRequest, response: ResponseOutparam) {
        let mut options = SiteOptions::new();
        options.path = Some("/mcp");
        options.has_sessions = false;
        let random = || std::array::from_fn(|_| wasip2::random::random::get_random_u64() as u8);
        let mut site = Site::new(&CONFIG, options, random);
        let exchange = site.open(now(), head(&request), None);
        receive(&mut site, exchange, &request);
        send(&mut site, exchange, response);
    }
}

/// Reads the body. How long it may take is up to the host.
fn receive(site: &mut Site<'_, Reply>, exchange: ExchangeKey, request: &IncomingRequest) {
    let body = request.consume().expect("consumed once");
    let stream = body.stream().expect("taken once");
    while site.wants_body(exchange) {
        let Ok(piece) = stream.blocking_read(PIECE) else { break };
        // The only body always has room, up to the longest that is accepted.
        site.feed_body(exchange, &piece);
    }
    site.end_of_body(now(), exchange);
}

/// Runs the tools and writes the response, until it is complete or the client is gone.
fn send(site: &mut Site<'_, Reply>, exchange: ExchangeKey, response: ResponseOutparam) {
    let (mut response, mut sending) = (Some(response), None);
    let mut count_downs: Vec<CountDown> = Vec::new();
    loop {
        match site.next(now()) {
            SiteStep::Event(ServerEvent::Request(request), mut turn) => {
                count_downs.extend(tools::begin(&request, &mut turn));
            }
            SiteStep::Ready(_) => {
                let Some(head) = site.response(exchange) else { continue };
                if let Some(response) = response.take() {
                    sending = Some(begin(&head, response));
                }
                let Some((stream, _)) = &mut sending else { continue };
                while let SiteBody::Piece(piece) = site.body(exchange) {
                    if stream.write_all(piece).and_then(|()| stream.flush()).is_err() {
                        return;
                    }
                    let written = piece.len();
                    site.wrote(now(), exchange, written);
                }
                match site.body(exchange) {
                    SiteBody::End => break,
                    // The host notices a body that is not finished.
                    SiteBody::Cut => return,
                    _ => {}
                }
            }
            SiteStep::Wait(until) => {
                let due = count_downs.iter().map(|count_down| count_down.due).chain(until).min();
                // Nothing is left that could complete the response.
                let Some(due) = due else { return };
                monotonic_clock::subscribe_instant(due.as_millis() * 1_000_000).block();
                count_downs.retain_mut(|it| it.due > now() || it.step(site, now()));
            }
            _ => {}
        }
    }
    if let Some((stream, body)) = sending {
        drop(stream);
        let _ = OutgoingBody::finish(body, None);
    }
}

/// Begins the response. The stream is dropped first: hosts trap if the body ends before it.
fn begin(head: &SiteResponse<'_>, to: ResponseOutparam) -> (OutputStream, OutgoingBody) {
    let fields = Headers::new();
    for (name, value) in head.fields() {
        fields.append(name, value.as_bytes()).expect("a field that responses may have");
    }
    if let Some(length) = head.length() {
        fields.append("content-length", length.to_string().as_bytes()).expect("as those above");
    }
    let response = OutgoingResponse::new(fields);
    response.set_status_code(head.status()).expect("a valid status");
    let body = response.body().expect("taken once");
    ResponseOutparam::set(to, Ok(response));
    let stream = body.write().expect("taken once");
    (stream, body)
}

/// The header fields of a request.
struct Received(Vec<(String, Vec<u8>)>);

impl Fields for Received {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        let mut all = self.0.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        all.nth(n).map(|(_, value)| value.as_slice())
    }
}

fn head(request: &IncomingRequest) -> OwnedHead {
    let mut fields = request.headers().entries();
    fields.retain(|(name, _)| !name.eq_ignore_ascii_case("host"));
    // Hosts take `Host` out of the fields.
    fields.extend(request.authority().map(|host| ("host".to_owned(), host.into_bytes())));
    let method = match request.method() {
        Method::Post => "POST",
        Method::Options => "OPTIONS",
        Method::Get => "GET",
        Method::Delete => "DELETE",
        // Not accepted, whichever it is.
        _ => "HEAD",
    };
    let target = request.path_with_query().unwrap_or_default();
    OwnedHead::new(method, &target, Received(fields))
}

fn now() -> Instant {
    Instant::from_millis(monotonic_clock::now() / 1_000_000)
}

/// Bytes of a body that are read at a time, at most.
const PIECE: u64 = 64 << 10;
