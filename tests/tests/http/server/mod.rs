//! The rules of the server over HTTP, as traces: bytes of requests in, status, fields and body out.
//! Only the core is used.

mod access;
mod authorization;
mod chaos;
mod connections;
mod fleet;
mod headers;
mod host;
mod http_sse;
mod limits;
mod modern;
mod sessions;
mod shares;
mod streamed;
