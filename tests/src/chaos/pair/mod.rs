//! Random scripts for a client and a server together.

mod client;
mod corpus;
mod end;
mod server;
mod world;

use crate::chaos::script::Script;

/// Plays `data` as a script: what the applications do, how slowly the output drains, in which
/// pieces and how late it arrives, how time passes, and when the connection is lost.
///
/// These must hold:
/// - Each request of either side ends once: with an event, a response, or a cancellation.
/// - Every line passes [`Audit`](crate::pair::Audit).
/// - A call that fails writes nothing and changes nothing; no call writes into the frame of
///   another, and every frame is finished.
/// - Progress increases, and comes before the response; changes come between a subscription's
///   acknowledgement and its end.
/// - `poll_timeout` announces every deadline, and `handle_timeout` leaves none that has passed.
/// - When every request has a response, nothing is open.
pub fn pair_survives(data: &[u8]) {
    let mut world = world::World::new(Script::new(data));
    while !world.is_over() {
        world.step();
    }
    world.end();
}
