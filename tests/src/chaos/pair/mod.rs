//! Client and server, and everything that may come between them.
//!
//! One function for the seeded test (`tests/tests/scripted/chaos.rs`) and whoever wants to replay one of its
//! scripts.

mod client;
mod client_app;
mod corpus;
mod end;
mod server;
mod server_app;
mod world;

use crate::chaos::script::Script;

/// Plays `data` as a script: what the applications do, how slowly the output drains, in which
/// pieces and how late it arrives, how time passes, and when the connection is lost. Returns how
/// many events and lines there were.
///
/// # Panics
/// When a promise is broken:
/// - each request of either side ends once: with an event, with an answer, or by being given up;
/// - what is written is what an [`Audit`](crate::pair::Audit) accepts;
/// - a call that fails writes nothing and changes nothing; nobody writes into the frame of another,
///   and what has begun is finished;
/// - progress grows, and comes before the end; changes come between a subscription's
///   acknowledgement and its end;
/// - whatever is due is known to `poll_timeout` beforehand, and is over when `handle_timeout` says
///   so;
/// - when everything has been answered, nothing is in flight.
pub fn pair_survives(data: &[u8]) -> u64 {
    let mut world = world::World::new(Script::new(data));
    while !world.is_over() {
        world.step();
    }
    world.end()
}

/// Says what happens, in a replay.
fn show(what: std::fmt::Arguments<'_>) {
    static SHOWS: std::sync::LazyLock<bool> =
        std::sync::LazyLock::new(|| std::env::var_os("CHAOS_DATA").is_some());
    if *SHOWS {
        println!("{what}");
    }
}
