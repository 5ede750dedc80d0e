//! Random scripts against a server.

mod application;
mod corpus;
mod ledger;
mod tasks;
mod world;

use mcp_sansio::ServerState;

use super::script::Script;

/// Plays `data` as a script: what a client sends, how it arrives, what the application does, and
/// how slowly the output drains.
///
/// These must hold:
/// - A call that fails writes nothing and changes nothing; one that succeeds writes at most one
///   whole line; `Full` means that bytes are pending.
/// - Each line is a JSON-RPC message, and no line is cut or mixed with another.
/// - Each request that is not cancelled gets one response, with the id as it was spelled; no other
///   response is sent.
/// - A repeated call ends; when every request has a response, none is open.
pub fn server_survives(data: &[u8]) {
    let script = Script::new(data);
    let mut rx = world::rx(&script);
    let mut memory = ServerState::new();
    let mut world = world::World::new(script, &mut memory);
    world.open(&mut rx);
    while !world.script.is_over() {
        world.step(&mut rx);
    }
    world.end(&mut rx);
}
