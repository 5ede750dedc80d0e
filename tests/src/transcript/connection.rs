//! The input of a transcript, through a connection: it must send what the machine alone sends.

use std::io::Read as _;

use mcp_sansio::{
    Connection, Instant, RawJson, RxBuffer, SendError, ServerConfig, ServerEvent, ServerState,
    Step, TxBuffer,
};

use super::parse::{Kind, Transcript};
use super::setup::Setup;
use super::wire::{PATIENCE, WAYS, Way};

type State = ServerState<8, 8>;
/// The lines that arrive, with their times in milliseconds.
type Input = Vec<(u64, Vec<u8>)>;

/// Plays the input of a server's transcript and its times in all ways. Each request is responded to
/// at once. Returns the number of bytes sent; 0 for the transcript of a client.
pub fn play_through_connection(transcript: &Transcript) -> Result<usize, String> {
    let input = input(transcript)?;
    if input.is_empty() {
        return Ok(0);
    }
    let setup = Setup::read(transcript)?;
    let config = setup.config();
    let alone = alone(&config, setup.rx, &input);
    for way in WAYS {
        let sent = connected(&config, setup.rx, &input, way);
        if sent != alone {
            let (sent, alone) = (String::from_utf8_lossy(&sent), String::from_utf8_lossy(&alone));
            return Err(format!("{}: {way} sends\n{sent}\nnot\n{alone}", transcript.name));
        }
    }
    Ok(alone.len())
}

/// Returns what the peer of a server sends in a transcript, and when; nothing for the transcript of
/// a client.
pub fn input(transcript: &Transcript) -> Result<Input, String> {
    if transcript.is_of_a_client() {
        return Ok(Vec::new());
    }
    let (mut input, mut now) = (Vec::new(), 0);
    input.extend(Setup::read(transcript)?.opening().map(|open| (now, open.into_bytes())));
    for step in &transcript.steps {
        match &step.kind {
            Kind::Input(bytes) => input.push((now, bytes.clone())),
            Kind::Clock(ms) => {
                now = *ms;
                input.push((now, Vec::new()));
            }
            _ => {}
        }
    }
    Ok(input)
}

/// Returns the output of the machine, which has room for all of it.
fn alone(config: &ServerConfig<'_>, rx: usize, input: &Input) -> Vec<u8> {
    let (mut state, mut rx) = (State::new(), RxBuffer::new(vec![0; rx]));
    let mut server = state.server(config);
    let mut tx = TxBuffer::with_limit(Vec::new(), 1 << 24);
    for (ms, bytes) in input {
        let (now, mut rest) = (Instant::from_millis(*ms), &bytes[..]);
        while !rest.is_empty() {
            let n = rest.read(rx.spare()).expect("a slice is read");
            rx.commit(n);
            while let Some(mut messages) = rx.next_messages() {
                while let Some(event) =
                    server.next_event(now, &mut messages, &mut tx).expect("room")
                {
                    if let ServerEvent::Request(request) = event {
                        let handle = request.handle;
                        server.respond_raw(handle, RawJson::EMPTY, &mut tx).expect("room");
                    }
                }
            }
        }
        while server.handle_timeout(now, &mut tx).expect("room").is_some() {}
    }
    tx.pending().to_vec()
}

/// Returns the output of a connection.
fn connected(config: &ServerConfig<'_>, rx: usize, input: &Input, way: &Way) -> Vec<u8> {
    let rx = RxBuffer::new(vec![0; rx]);
    let mut connection: Connection<'_, _, _, _> =
        Connection::new(config, State::new(), rx, way.buffer());
    let mut sent = Vec::new();
    for (ms, bytes) in input {
        let (now, mut rest) = (Instant::from_millis(*ms), &bytes[..]);
        for round in 0.. {
            assert!(round < PATIENCE, "the connection does not come to rest");
            match connection.next(now) {
                Step::Event(ServerEvent::Request(request), mut turn) => {
                    let pump = |bytes: &[u8], _: &mut _| {
                        let n = bytes.len().min(way.drain);
                        sent.extend_from_slice(&bytes[..n]);
                        Ok::<_, SendError>(n)
                    };
                    let handle = request.handle;
                    turn.send(pump, |server, tx| server.respond_raw(handle, RawJson::EMPTY, tx))
                        .expect("it is written");
                }
                Step::Event(..) | Step::Again => {}
                Step::Io { write, mut read, .. } => {
                    let piece = rest.by_ref().take(way.piece as u64).read(read.spare());
                    let got = piece.expect("a slice is read");
                    read.commit(got);
                    let n = write.len().min(way.drain);
                    sent.extend_from_slice(&write[..n]);
                    connection.wrote(n);
                    if got + n == 0 {
                        break;
                    }
                }
                Step::Closed => unreachable!("the input has not ended"),
            }
        }
    }
    sent
}
