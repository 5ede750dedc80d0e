//! The rules of the server over HTTP, as traces: bytes of requests in, status, fields and body out.
//! Nothing but the core is at work here.

mod access;
mod headers;
mod host;
mod modern;
mod replays;
mod sessions;
mod streamed;
