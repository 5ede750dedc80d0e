//! The tests of the HTTP server, behind hyper. They leave out HTTP/1.1 itself.

#[path = "../../../../std-adapters/tests/http_server/access.rs"]
mod access;
#[path = "../../../../std-adapters/tests/http_server/bodies.rs"]
mod bodies;
#[path = "../../../../std-adapters/tests/http_server/load.rs"]
mod load;
#[path = "../../../../std-adapters/tests/http_server/lost.rs"]
mod lost;
#[path = "../../../../std-adapters/tests/http_server/many.rs"]
mod many;
#[path = "../../../../std-adapters/tests/http_server/memory.rs"]
mod memory;
#[path = "../../../../std-adapters/tests/http_server/observer.rs"]
mod observer;
mod pump;
#[path = "../../../../std-adapters/tests/recorder/mod.rs"]
mod recorder;
#[path = "../../../../std-adapters/tests/http_server/requests.rs"]
mod requests;
#[path = "../../../../std-adapters/tests/http_server/sessions.rs"]
mod sessions;
#[path = "../../../../std-adapters/tests/http_server/site.rs"]
mod site;
