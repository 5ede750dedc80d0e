//! Memory of a server for each connection and for each open stream, from its resident set before
//! and after they are opened.

use std::io;

use super::{Connection, ask, common, greet};
use crate::process::{Candidate, Cpus, Process, port};
use crate::scenario::SHORT;
use crate::server::unexpected;
use crate::sys;
use crate::wire::{Era, INITIALIZE, Wire, listen};

pub const CONNECTIONS: usize = 500;
pub const STREAMS: usize = 100;

/// Resident memory in KiB.
pub struct Memory {
    pub idle: f64,
    pub each_connection: f64,
    /// An error if the server has no streams in this era.
    pub each_stream: io::Result<f64>,
}

/// Starts the server, makes a call on each of 500 connections, and keeps them open while it opens
/// 100 streams: subscriptions in the modern era, `GET` of a session each in the legacy one.
pub fn measure(candidate: &Candidate, era: Era, cpus: &Cpus) -> io::Result<Memory> {
    Process::with(candidate, cpus, |process, _input, output| grown(process, port(output)?, era))
}

fn grown(process: &Process, port: u16, era: Era) -> io::Result<Memory> {
    let wire = Wire::new(era, SHORT);
    let head = greet(port, &wire, era)?;
    let resident = || Ok::<_, io::Error>(process.resident_memory()? as f64);

    let idle = resident()?;
    let mut connections = Vec::new();
    let mut body = Vec::new();
    for id in 1..=CONNECTIONS as u64 {
        let mut connection = Connection::open(port)?;
        body.clear();
        wire.push_call(id, &mut body);
        let answer = ask(&mut connection, &head, &body)?;
        if wire.echoed(&answer.body) != Some(id) {
            return Err(unexpected("not the echo of the request", &answer.body));
        }
        connections.push(connection);
    }
    let connected = resident()?;
    let streams: io::Result<Vec<_>> = (0..STREAMS).map(|_| open_stream(port, era)).collect();
    let streaming = resident()?;
    Ok(Memory {
        idle,
        each_connection: (connected - idle) / CONNECTIONS as f64,
        each_stream: streams.map(|_| (streaming - connected) / STREAMS as f64),
    })
}

fn open_stream(port: u16, era: Era) -> io::Result<Connection> {
    let mut stream = Connection::open(port)?;
    let common = common(port);
    match era {
        Era::Modern => {
            let head = format!(
                "POST {common}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n"
            );
            stream.send(&head, listen().as_bytes(), 0)?;
        }
        Era::Legacy => {
            let answer = ask(&mut stream, &format!("POST {common}"), INITIALIZE.as_bytes())?;
            let session =
                answer.session.ok_or_else(|| io::Error::other("no session, so no stream"))?;
            let head = format!(
                "GET {common}MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n"
            );
            stream.send(&head, &[], 0)?;
        }
    }
    loop {
        sys::wait(&mut [stream.poll_fd()])?;
        if let Some(answer) = stream.receive()? {
            return Err(unexpected("no stream", &answer.body));
        }
        if stream.is_streaming() {
            return Ok(stream);
        }
    }
}
