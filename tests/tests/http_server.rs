//! The rules of the server over HTTP, as traces: bytes of requests in, status, fields and body out.
//! Nothing but the core is at work here.

#[path = "http_server/access.rs"]
mod access;
#[path = "http_server/headers.rs"]
mod headers;
#[path = "http_server/host.rs"]
mod host;
#[path = "http_server/modern.rs"]
mod modern;
#[path = "http_server/replays.rs"]
mod replays;
#[path = "http_server/sessions.rs"]
mod sessions;
#[path = "http_server/streamed.rs"]
mod streamed;
