//! Connects an MCP client on standard input and output with a server behind an MQTT broker, in the
//! manner of `serial-bridge`: `mqtt-bridge BROKER NAME`, for example `127.0.0.1:1883 thermometer`.

use std::error::Error;
use std::io;
use std::mem::take;
use std::pin::pin;
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use embedded_io_async::{Read as _, Write as _};
use firmware_mqtt::{
    Buffers, ConfigBuilder, MESSAGE, PACKET, Pipe, Reader, Session, Topics, Writer, carry,
};
use mcp_sansio_adapters::embedded_async::{CheckedError, CheckedReader, CheckedWriter};
use tokio::io::{Stdin, Stdout, stdin, stdout};
use tokio::net::TcpStream;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [broker, name] = words.as_slice() else {
        return Err("usage: mqtt-bridge HOST:PORT NAME".into());
    };
    let (to_server, from_server) = (format!("mcp/{name}/in"), format!("mcp/{name}/out"));
    let topics = Topics { input: &from_server, output: &to_server };
    let (mut sent, mut received) = (Pipe::new(), Pipe::new());
    let (to_send, sending) = sent.split();
    let (receiving, received) = received.split();

    let input = pin!(send(FromTokio::new(stdin()), CheckedWriter::new(sending)));
    let output = pin!(receive_lines(CheckedReader::new(receiving), FromTokio::new(stdout())));
    let line = pin!(async {
        let (mut rx, mut tx) = ([0; PACKET], [0; PACKET]);
        // The broker finds a name.
        let mut session = Session::new(ConfigBuilder::new(Buffers::new(&mut rx, &mut tx)));
        loop {
            let lost = match TcpStream::connect(broker).await {
                Ok(tcp) => {
                    let io = FromTokio::new(tcp);
                    match carry(&mut session, io, topics, &received, &to_send).await {
                        Ok(never) => match never {},
                        Err(error) => error.to_string(),
                    }
                }
                Err(error) => error.to_string(),
            };
            eprintln!("mqtt-bridge: {broker}: {lost}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    tokio::select! {
        () = line => {}
        end = output => end?,
        end = input => {
            end?;
            // Responses to the last requests.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    // Not `return`: a thread may wait for standard input.
    std::process::exit(0)
}

/// Longer lines are no messages of any server.
const LONGEST_LINE: usize = 16 << 20;

async fn send(mut from: FromTokio<Stdin>, mut to: CheckedWriter<Writer<'_>>) -> io::Result<()> {
    let mut bytes = [0; MESSAGE];
    // An empty line ends what the client before has left unfinished.
    let Ok(()) = to.write_all(b"\n").await;
    loop {
        let read = from.read(&mut bytes).await?;
        if read == 0 {
            return Ok(());
        }
        let Ok(()) = to.write_all(&bytes[..read]).await;
    }
}

/// Hands on whole lines only: those with a fault could be valid, and mean something else.
async fn receive_lines(
    mut from: CheckedReader<Reader<'_>>,
    mut to: FromTokio<Stdout>,
) -> io::Result<()> {
    let (mut line, mut bytes, mut has_gap) = (Vec::new(), [0; MESSAGE], false);
    loop {
        let read = match from.read(&mut bytes).await {
            Ok(read) => read,
            Err(CheckedError::Port(never)) => match never {},
            Err(_) => {
                has_gap = true;
                continue;
            }
        };
        for byte in &bytes[..read] {
            if line.len() < LONGEST_LINE {
                line.push(*byte);
            } else {
                has_gap = true;
            }
            if *byte == b'\n' {
                if take(&mut has_gap) {
                    eprintln!("mqtt-bridge: a line of the server came with faults, and is lost");
                } else {
                    to.write_all(&line).await?;
                    to.flush().await?;
                }
                line.clear();
            }
        }
    }
}
