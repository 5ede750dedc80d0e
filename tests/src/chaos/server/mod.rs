//! Bytes that mean a conversation: whatever they say, the server must survive it and keep its
//! promises.
//!
//! One function for the seeded test (`tests/tests/scripted/chaos.rs`) and for the fuzzer (`tests/fuzz`).

mod application;
mod corpus;
mod ledger;
mod world;

use super::script::Script;

/// Plays `data` as a script of what a client sends, how it arrives, what the application does and
/// how slowly the output drains.
///
/// # Panics
/// When a promise is broken:
/// - a call that fails writes nothing and changes nothing; one that succeeds writes one whole line,
///   or none; `Full` means that something is pending;
/// - each line is a JSON-RPC message, and no line is cut or mixed with another;
/// - each request is answered once, in its own words for the id, unless it was cancelled; nothing
///   else is answered;
/// - what is repeated comes to an end; when everything has been answered, nothing is in flight.
pub fn server_survives(data: &[u8]) {
    let mut script = Script::new(data);
    let mut rx = world::rx(&mut script);
    let mut world = world::World::new(script);
    world.open(&mut rx);
    while !world.script.is_over() {
        world.step(&mut rx);
    }
    world.end(&mut rx);
}
