//! Tests of the asynchronous HTTP server on real sockets. Clients are blocking sockets and write
//! every byte themselves.

mod access;
mod authorization;
mod bodies;
#[path = "../bus/mod.rs"]
mod bus;
mod connections;
#[path = "../asynchronous/door.rs"]
mod door;
#[path = "../exchange/mod.rs"]
mod exchange;
mod exchanges;
mod fleet;
mod hostile;
mod load;
mod lost;
mod many;
mod memory;
mod observer;
mod owners;
mod pump;
#[path = "../recorder/mod.rs"]
mod recorder;
mod requests;
mod scopes;
mod scripted;
mod sessions;
mod shards;
mod shares;
mod site;
mod times;
#[path = "../virtual_time/mod.rs"]
mod virtual_time;
