//! What the example programs share: the everything server, which `quickstart` starts as well.

pub mod everything_server;
