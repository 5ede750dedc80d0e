//! What the example programs share: the everything server, which `quickstart` starts as well, and a small application for servers without an adapter.

pub mod everything_server;
pub mod small;
