//! Both ends, the lines between them, and the clock.

use super::client::{Act, ClientApp};
use super::end::{End, Op, Role};
use super::server::ServerApp;
use crate::chaos::script::{Script, show};
use crate::pair::Audit;

pub(super) struct World<'d> {
    script: Script<'d>,
    client: End<ClientApp>,
    server: End<ServerApp>,
    audit: Audit,
    now: u64,
}

impl<'d> World<'d> {
    pub(super) fn new(script: Script<'d>) -> Self {
        let (client, server) = (End::new(&script), End::new(&script));
        let mut world = Self { script, client, server, audit: Audit::default(), now: 1000 };
        world.client.run(&Op::Act(Act::Open), world.now);
        world
    }

    pub(super) fn is_over(&self) -> bool {
        self.script.is_over()
    }

    pub(super) fn step(&mut self) {
        let Self { script, client, server, audit, now } = self;
        match script.below(20) {
            0..4 => client.act(script, audit, *now),
            4..8 => server.act(script, audit, *now),
            8..11 => transfer(client, server, script, audit, *now),
            11..14 => transfer(server, client, script, audit, *now),
            14 | 15 => {
                // Deliver in both directions, several times.
                for _ in 0..script.below(8) {
                    transfer(client, server, script, audit, *now);
                    transfer(server, client, script, audit, *now);
                }
            }
            16 => self.wait(&[0, 1, 5, 40, 200]),
            17 => self.wait(&[300, 700, 1000, 3000, 100_000]),
            18 if script.once_in(16) => self.wait(&[u64::MAX / 2, 1 << 40]),
            18 if script.once_in(4) => *now = now.saturating_sub(500),
            19 if client.app.failed || script.once_in(24) => self.reconnect(),
            _ => {
                client.act(script, audit, *now);
                server.act(script, audit, *now);
            }
        }
        self.listen();
    }

    fn wait(&mut self, times: &[u64]) {
        self.now = self.now.saturating_add(*self.script.pick(times));
        show(format_args!("   {}", self.now));
        if self.client.begun.is_none() {
            self.client.run(&Op::Timeout, self.now);
        }
        if self.server.begun.is_none() {
            self.server.run(&Op::Timeout, self.now);
        }
    }

    fn reconnect(&mut self) {
        show(format_args!("   lost"));
        self.listen();
        self.client.close(&self.script);
        self.server.close(&self.script);
        self.audit.reconnect();
        self.client.run(&Op::Act(Act::Open), self.now);
    }

    fn listen(&mut self) {
        self.client.listen(&mut self.audit);
        self.server.listen(&mut self.audit);
    }

    /// Everything is responded to or given up, after which nothing may be left.
    pub(super) fn end(mut self) {
        show(format_args!("   the end"));
        for _ in 0..20_000 {
            if self.client.app.failed {
                self.client.close(&self.script);
                self.server.close(&self.script);
                return self.over();
            }
            let Self { client, server, audit, now, .. } = &mut self;
            client.go_on(*now);
            client.drain(audit);
            server.go_on(*now);
            server.drain(audit);
            let mut left = finish(client, server, *now);
            server.drain(audit);
            left |= finish(server, client, *now);
            left |= client.line.is_busy() || server.line.is_busy();
            left |= client.begun.is_some() || server.begun.is_some();
            left |= client.rx.next_messages().is_some() || server.rx.next_messages().is_some();
            if !left {
                return self.over();
            }
        }
        panic!("the script does not terminate");
    }

    fn over(&self) {
        assert!(self.client.line.is_whole() && self.server.line.is_whole());
        let (client, server) = (&self.client.machine, &self.server.machine);
        assert_eq!((client.open_requests(), server.open_requests()), (0, 0));
        assert_eq!((client.open_calls(), server.open_calls()), (0, 0));
    }
}

/// Some bytes leave one end and arrive at the other, which handles what is complete.
fn transfer<A: Role, B: Role>(
    from: &mut End<A>,
    to: &mut End<B>,
    script: &Script<'_>,
    audit: &mut Audit,
    now: u64,
) {
    from.drain_some(script, audit);
    from.go_on(now);
    from.drain_some(script, audit);
    if to.begun.is_none() {
        let chunk = *script.pick(&[usize::MAX, usize::MAX, 300, 40, 7, 1]);
        from.line.deliver(chunk, &mut to.rx);
        to.run(&Op::NextEvent, now);
    } else {
        to.act(script, audit, now);
    }
}

/// All bytes arrive at `to`, which finishes one thing. `false` when there was nothing left to do.
fn finish<A: Role, B: Role>(from: &mut End<A>, to: &mut End<B>, now: u64) -> bool {
    if to.begun.is_some() {
        return false;
    }
    let arrived = from.line.deliver(usize::MAX, &mut to.rx) > 0;
    to.run(&Op::NextEvent, now);
    arrived | (to.begun.is_some() || to.finish(now))
}
