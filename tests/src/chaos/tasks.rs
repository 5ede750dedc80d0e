//! Random scripts for tasks between a client and a server.

use std::time::Duration;

use mcp_sansio::Revision;

use super::script::Script;
use crate::pair::tasks::{Setting, World};

/// Plays `data` as a script: calls that become tasks, what their work does, what the client cancels
/// and listens to, how time passes, and which lines are lost, come twice, or are the last of their
/// connection.
///
/// These must hold:
/// - Each call ends once, with what its task ended with. It ends with nothing only after the time
///   of the task.
/// - The user is asked once for each key, and the work gets at most one response for it.
/// - Every line passes [`Audit`](crate::pair::Audit).
/// - In the end nothing is open, and the table of tasks is empty.
pub fn tasks_survive(data: &[u8]) {
    let script = Script::new(data);
    let (legacy, modern) = (Revision::V2025_11_25, Revision::LATEST);
    let revisions: [&[Revision]; 4] = [&[legacy], &[modern], &[legacy, modern], &[modern, legacy]];
    let setting = Setting {
        revisions: script.pick::<&[Revision]>(&revisions),
        room: 4096,
        chunk: usize::MAX,
        ttl: *script.pick(&[600, 600, 20, 3].map(Duration::from_secs)),
    };
    let mut world = World::unconnected(setting, script);
    world.is_rough = true;
    world.reconnect();
    while !world.script.is_over() {
        step(&mut world);
    }
    world.finish();
}

fn step(world: &mut World<'_>) {
    let calls = world.followed().len();
    match world.script.below(20) {
        0..=2 if calls < 12 => {
            let ttl = [None, Some(Duration::from_secs(5)), Some(Duration::from_secs(300))];
            let ttl = *world.script.pick(&ttl);
            world.call(ttl);
        }
        3 if calls > 0 => {
            let index = world.script.below(calls);
            world.cancel(index);
        }
        4 if calls > 0 => {
            let index = world.script.below(calls);
            world.listen(index);
        }
        5..=10 => world.happen(),
        11..=14 => {
            let ms = *world.script.pick(&[1, 100, 1000, 1500, 4000]);
            world.wait(ms);
        }
        15 => {
            let ms = *world.script.pick(&[10_000, 40_000, 100_000]);
            world.wait(ms);
        }
        16 if world.script.once_in(4) => world.reconnect(),
        _ => world.pump(),
    }
}
