//! Streamable HTTP: as many kept-alive connections as requests in flight, one request at a time on
//! each.

mod connection;
pub mod memory;

use std::io;
use std::ops::Range;
use std::time::Duration;

use crate::load::{Run, measure};
use crate::process::{Candidate, Cpus, Process, port};
use crate::scenario::Scenario;
use crate::server::unexpected;
use crate::sys;
use crate::wire::{Era, Wire};
use connection::{Connection, Response};

/// Makes one run: starts a server, greets it, warms it up, measures it.
pub fn run(candidate: &Candidate, scenario: &Scenario, cpus: &Cpus) -> io::Result<Run> {
    Process::with(candidate, cpus, |process, _input, output| {
        let port = port(output)?;
        let wire = Wire::new(scenario.era, scenario.text_length);
        let mut load = Load {
            head: greet(port, &wire, scenario.era)?,
            connections: (0..scenario.mode.window())
                .map(|_| Connection::open(port))
                .collect::<io::Result<_>>()?,
            wire,
        };
        measure(process, scenario, |ids, latencies| load.call(ids, latencies))
    })
}

/// Greets on a separate connection. Returns the head of every call without its last line, the
/// length.
fn greet(port: u16, wire: &Wire, era: Era) -> io::Result<String> {
    let common = format!("POST {}", common(port));
    let mut connection = Connection::open(port)?;
    let modern = |method: &str| {
        format!("{common}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n")
    };
    let head = match era {
        Era::Legacy => common.clone(),
        Era::Modern => modern("server/discover"),
    };
    let answer = ask(&mut connection, &head, wire.greeting().as_bytes())?;
    if !wire.is_greeting_answer(&answer.body) {
        return Err(unexpected("not a response to the greeting", &answer.body));
    }
    let Some(initialized) = wire.after_greeting() else {
        return Ok(modern("tools/call") + "Mcp-Name: echo\r\n");
    };
    let mut head = common + "MCP-Protocol-Version: 2025-11-25\r\n";
    if let Some(session) = &answer.session {
        head += &format!("Mcp-Session-Id: {session}\r\n");
    }
    let answer = ask(&mut connection, &head, initialized.as_bytes())?;
    if answer.status != 202 {
        return Err(io::Error::other(format!(
            "unexpected response to the notification: {}",
            answer.status
        )));
    }
    Ok(head)
}

/// Part of the head after the method, common to all requests.
fn common(port: u16) -> String {
    format!(
        "/mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    )
}

fn ask(connection: &mut Connection, head: &str, body: &[u8]) -> io::Result<Response> {
    connection.send(head, body, 0)?;
    loop {
        sys::wait(&mut [connection.poll_fd()])?;
        if let Some(answer) = connection.receive()? {
            return Ok(answer.clone());
        }
    }
}

struct Load {
    head: String,
    wire: Wire,
    connections: Vec<Connection>,
}

impl Load {
    /// Makes calls with these ids and checks that each response echoes the text that its connection
    /// sent.
    fn call(&mut self, mut ids: Range<u64>, latencies: &mut Vec<Duration>) -> io::Result<()> {
        let mut waiting = 0;
        let mut body = Vec::new();
        let mut send = |connection: &mut Connection, id| {
            body.clear();
            self.wire.push_call(id, &mut body);
            connection.send(&self.head, &body, id)
        };
        for (connection, id) in self.connections.iter_mut().zip(&mut ids) {
            send(connection, id)?;
            waiting += 1;
        }
        while waiting > 0 {
            let mut fds: Vec<_> = self.connections.iter().map(Connection::poll_fd).collect();
            sys::wait(&mut fds)?;
            let ready: Vec<_> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            for (connection, _) in self.connections.iter_mut().zip(ready).filter(|(_, is)| *is) {
                let (id, sent) = connection.asked;
                let Some(answer) = connection.receive()? else {
                    continue;
                };
                latencies.push(sent.elapsed());
                if answer.status != 200 || self.wire.echoed(&answer.body) != Some(id) {
                    return Err(unexpected("not the echo of the request", &answer.body));
                }
                match ids.next() {
                    Some(id) => send(connection, id)?,
                    None => waiting -= 1,
                }
            }
        }
        Ok(())
    }
}
