//! The smol adapter's server over HTTP, on real sockets: what the core alone cannot show. Clients
//! are blocking sockets, and say every byte themselves.

mod access;
mod bodies;
mod connections;
mod hostile;
mod load;
mod lost;
mod many;
mod memory;
mod old;
mod scripted;
mod sessions;
mod site;
