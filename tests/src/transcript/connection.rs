//! The input of a transcript, through a connection: it must send what the machine alone sends.

use mcp_sansio::{
    Connection, Instant, RawJson, RxBuffer, SendError, ServerConfig, ServerEvent, ServerState,
    Step, TxBuffer,
};

use super::parse::{Kind, Transcript};
use super::setup::Setup;
use super::wire::{PATIENCE, WAYS, Way};

type State = ServerState<8, 8>;

/// Plays the input of a server's transcript and its times in all ways. Each request is responded to
/// at once. Returns the number of bytes sent; 0 for the transcript of a client.
///
/// # Errors
/// The first way that sends something else than the machine alone.
pub fn play_through_connection(transcript: &Transcript) -> Result<usize, String> {
    if transcript.is_of_a_client() {
        return Ok(0);
    }
    let setup = Setup::read(transcript)?;
    let (config, mut steps) = (setup.config(), Vec::new());
    if let Some(open) = setup.opening() {
        steps.push(Kind::Input(open.into_bytes()));
    }
    steps.extend(transcript.steps.iter().map(|step| step.kind.clone()));
    let alone = alone(&config, setup.rx, &steps);
    for way in WAYS {
        let sent = connected(&config, setup.rx, &steps, way);
        if sent != alone {
            let (sent, alone) = (String::from_utf8_lossy(&sent), String::from_utf8_lossy(&alone));
            return Err(format!("{}: {way} sends\n{sent}\nnot\n{alone}", transcript.name));
        }
    }
    Ok(alone.len())
}

/// Returns what the peer of a server sends in a transcript, and when, in milliseconds; nothing for
/// the transcript of a client.
///
/// # Errors
/// The transcript has an unknown option.
pub fn input(transcript: &Transcript) -> Result<Vec<(u64, Vec<u8>)>, String> {
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
fn alone(config: &ServerConfig<'_>, rx: usize, steps: &[Kind]) -> Vec<u8> {
    let (mut state, mut rx) = (State::new(), RxBuffer::new(vec![0; rx]));
    let mut server = state.server(config);
    let mut tx = TxBuffer::with_limit(Vec::new(), 1 << 24);
    let mut now = Instant::from_millis(0);
    for step in steps {
        match step {
            Kind::Input(bytes) => {
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let spare = rx.spare();
                    let n = rest.len().min(spare.len());
                    spare[..n].copy_from_slice(&rest[..n]);
                    rx.commit(n);
                    rest = &rest[n..];
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
            }
            Kind::Clock(ms) => {
                now = Instant::from_millis(*ms);
                while server.handle_timeout(now, &mut tx).expect("room").is_some() {}
            }
            _ => {}
        }
    }
    tx.pending().to_vec()
}

/// Returns the output of a connection.
fn connected(config: &ServerConfig<'_>, rx: usize, steps: &[Kind], way: &Way) -> Vec<u8> {
    let rx = RxBuffer::new(vec![0; rx]);
    let mut connection: Connection<'_, _, _, _> =
        Connection::new(config, State::new(), rx, way.buffer());
    let (mut now, mut sent) = (Instant::from_millis(0), Vec::new());
    for step in steps {
        let mut rest = match step {
            Kind::Input(bytes) => &bytes[..],
            Kind::Clock(ms) => {
                now = Instant::from_millis(*ms);
                &[]
            }
            _ => continue,
        };
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
                    let got = rest.len().min(read.spare().len()).min(way.piece);
                    read.spare()[..got].copy_from_slice(&rest[..got]);
                    read.commit(got);
                    rest = &rest[got..];
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
