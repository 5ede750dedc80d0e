//! Two ends, the line, the clock.

use super::client_end::{self, ClientEnd};
use super::server_end::{self, ServerEnd};
use super::show;
use crate::chaos::script::Script;
use crate::pair::{Audit, Speaker};

pub(super) struct World<'d> {
    script: Script<'d>,
    client: ClientEnd,
    server: ServerEnd,
    audit: Audit,
    now: u64,
}

impl<'d> World<'d> {
    pub(super) fn new(mut script: Script<'d>) -> Self {
        let (client, server) = (ClientEnd::new(&mut script), ServerEnd::new(&mut script));
        let mut world = Self { script, client, server, audit: Audit::default(), now: 1000 };
        world.client.run(&client_end::Op::Open, world.now);
        world
    }

    pub(super) fn is_over(&self) -> bool {
        self.script.is_over()
    }

    /// One thing happens.
    pub(super) fn step(&mut self) {
        let now = self.now;
        match self.script.below(20) {
            0..4 => self.client_acts(),
            4..8 => self.server_acts(),
            8..11 => self.up(),
            11..14 => self.down(),
            14 | 15 => {
                // All that can arrive arrives.
                for _ in 0..self.script.below(8) {
                    self.up();
                    self.down();
                }
            }
            16 => self.wait(&[0, 1, 5, 40, 200]),
            17 => self.wait(&[300, 700, 1000, 3000, 100_000]),
            18 if self.script.once_in(16) => self.wait(&[u64::MAX / 2, 1 << 40]),
            18 if self.script.once_in(4) => self.now = now.saturating_sub(500),
            19 if self.client.books.failed || self.script.once_in(24) => self.reconnect(),
            _ => {
                self.client_acts();
                self.server_acts();
            }
        }
        self.listen();
    }

    fn client_acts(&mut self) {
        if self.client.begun.is_none() {
            self.client.act(&mut self.script, self.now);
        } else if self.script.once_in(3) {
            self.client.intrude(&mut self.script, self.now);
        } else {
            self.drain_client();
            self.client.go_on(self.now);
        }
    }

    fn server_acts(&mut self) {
        if self.server.begun.is_none() {
            self.server.act(&mut self.script, self.now);
        } else if self.script.once_in(3) {
            self.server.intrude(&mut self.script, self.now);
        } else {
            self.drain_server();
            self.server.go_on(self.now);
        }
    }

    fn drain_client(&mut self) {
        self.client.line.drain(*self.script.pick(&[usize::MAX, usize::MAX, 100, 17, 1]));
        self.listen();
    }

    fn drain_server(&mut self) {
        self.server.line.drain(*self.script.pick(&[usize::MAX, usize::MAX, 100, 17, 1]));
        self.listen();
    }

    /// From the client to the server.
    fn up(&mut self) {
        self.drain_client();
        self.client.go_on(self.now);
        self.drain_client();
        if self.server.begun.is_none() {
            let chunk = *self.script.pick(&[usize::MAX, usize::MAX, 300, 40, 7, 1]);
            self.client.line.deliver(chunk, &mut self.server.rx);
            self.server.run(&server_end::Op::NextEvent, self.now);
        } else {
            self.server_acts();
        }
    }

    /// From the server to the client.
    fn down(&mut self) {
        self.drain_server();
        self.server.go_on(self.now);
        self.drain_server();
        if self.client.begun.is_none() {
            let chunk = *self.script.pick(&[usize::MAX, usize::MAX, 300, 40, 7, 1]);
            self.server.line.deliver(chunk, &mut self.client.rx);
            self.client.run(&client_end::Op::NextEvent, self.now);
        } else {
            self.client_acts();
        }
    }

    fn wait(&mut self, times: &[u64]) {
        self.now = self.now.saturating_add(*self.script.pick(times));
        show(format_args!("   {}", self.now));
        if self.client.begun.is_none() {
            self.client.run(&client_end::Op::Timeout, self.now);
        }
        if self.server.begun.is_none() {
            self.server.run(&server_end::Op::Timeout, self.now);
        }
    }

    fn reconnect(&mut self) {
        show(format_args!("   lost"));
        self.listen();
        self.client.close(&mut self.script);
        self.server.close(&mut self.script);
        self.audit.reconnect();
        self.client.run(&client_end::Op::Open, self.now);
    }

    /// Reads what was said.
    fn listen(&mut self) {
        for text in std::mem::take(&mut self.client.line.said) {
            show(format_args!("> {}", String::from_utf8_lossy(&text)));
            self.audit.line(Speaker::Client, &text);
        }
        for text in std::mem::take(&mut self.server.line.said) {
            show(format_args!("< {}", String::from_utf8_lossy(&text)));
            self.audit.line(Speaker::Server, &text);
        }
    }

    /// Everything is answered or given up, and must be gone.
    pub(super) fn end(mut self) -> u64 {
        show(format_args!("   the end"));
        for _ in 0..20_000 {
            if self.client.books.failed {
                self.client.close(&mut self.script);
                self.server.close(&mut self.script);
                return self.over();
            }
            self.client.go_on(self.now);
            self.client.line.drain(usize::MAX);
            self.listen();
            self.server.go_on(self.now);
            self.server.line.drain(usize::MAX);
            self.listen();
            let mut left = false;
            if self.server.begun.is_none() {
                left |= self.client.line.deliver(usize::MAX, &mut self.server.rx) > 0;
                self.server.run(&server_end::Op::NextEvent, self.now);
                left |= self.server.begun.is_some() || self.server.finish(self.now);
            }
            self.server.line.drain(usize::MAX);
            self.listen();
            if self.client.begun.is_none() {
                left |= self.server.line.deliver(usize::MAX, &mut self.client.rx) > 0;
                self.client.run(&client_end::Op::NextEvent, self.now);
                left |= self.client.begun.is_some() || self.client.finish(self.now);
            }
            left |= [&self.client.line, &self.server.line].into_iter().any(|line| line.is_busy());
            if !left
                && self.client.begun.is_none()
                && self.server.begun.is_none()
                && self.rest_is_read()
            {
                return self.over();
            }
        }
        panic!("there is no end");
    }

    /// Whether no frame waits any more.
    fn rest_is_read(&mut self) -> bool {
        for rx in [&mut self.client.rx, &mut self.server.rx] {
            if rx.next_frame().is_some() {
                rx.unread();
                return false;
            }
        }
        true
    }

    fn over(&self) -> u64 {
        assert!(self.client.line.is_whole() && self.server.line.is_whole());
        assert_eq!(
            (self.client.client.open_requests(), self.server.server.open_requests()),
            (0, 0)
        );
        assert_eq!((self.client.client.open_calls(), self.server.server.open_calls()), (0, 0));
        self.client.events + self.server.events + self.audit.lines
    }
}
