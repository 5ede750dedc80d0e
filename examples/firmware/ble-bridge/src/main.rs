//! Connects an MCP client on standard input and output with a server behind Bluetooth LE, in the
//! manner of `serial-bridge`. `ble-bridge --help`
#![forbid(unsafe_code)]

mod lines;
mod link;

use std::process::exit;
use std::time::Duration;

use lines::{Incoming, outgoing};
use link::{Link, Received};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, stdin, stdout};
use tokio::time::sleep;

const HELP: &str = "\
Connects an MCP client on this computer to an MCP server on a device with Bluetooth LE; the client
sees a server on stdio.

usage: ble-bridge [--wait SECONDS] NAME

  NAME             the name that the device advertises; it has the Nordic UART service, and its
                   lines have checksums
  --wait SECONDS   how long the device is looked for (30)

It ends when its input ends, and with an error when the device is lost. One that is started later
takes the device over.

for example:
  ble-bridge thermometer
  cargo run -p mcp-sansio-inspect -- -- examples/firmware/target/host/debug/ble-bridge thermometer
";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let (name, wait) = match words.as_slice() {
        ["-h" | "--help"] => return print!("{HELP}"),
        [name] if !name.starts_with('-') => (name, Some(30)),
        ["--wait", wait, name] if !name.starts_with('-') => (name, wait.parse().ok()),
        _ => (&"", None),
    };
    let Some(wait) = wait else {
        eprintln!("usage: ble-bridge [--wait SECONDS] NAME\n(ble-bridge --help shows examples)");
        exit(2);
    };
    let outcome = run(name, Duration::from_secs(wait)).await;
    if let Err(why) = &outcome {
        eprintln!("ble-bridge: {why}");
    }
    // Not `return`: a thread may wait for standard input.
    exit(outcome.is_err().into())
}

async fn run(name: &str, wait: Duration) -> Result<(), String> {
    let mut link = tokio::select! {
        link = Link::open(name, wait) => link?,
        () = stopped() => return Ok(()),
    };
    let (sender, receiver) = link.split();
    let input = async {
        let mut bytes = [0; 4096];
        let mut checksum = <_>::default();
        loop {
            let read = stdin().read(&mut bytes).await.map_err(|error| format!("input: {error}"))?;
            if read == 0 {
                // Responses to the last requests.
                sleep(Duration::from_secs(1)).await;
                return Ok(());
            }
            sender.send(&outgoing(&bytes[..read], &mut checksum)).await?;
        }
    };
    let output = async {
        let (mut lines, mut output) = (Incoming::default(), stdout());
        loop {
            let bytes = match receiver.next().await {
                Received::Bytes(bytes) => bytes,
                Received::Lost => return Err(format!("the connection to {name} is lost")),
            };
            let (whole, faults) = lines.take(&bytes);
            for _ in 0..faults {
                eprintln!("ble-bridge: a line of the server came with faults, and is lost");
            }
            let written = async { output.write_all(&whole).await.and(output.flush().await) };
            written.await.map_err(|error| format!("output: {error}"))?;
        }
    };
    let outcome = tokio::select! {
        outcome = input => outcome,
        outcome = output => outcome,
        () = stopped() => Ok(()),
    };
    // Or the system keeps the connection, and nobody else finds the device.
    link.close().await;
    outcome
}

/// Waits until someone wants this program to end.
async fn stopped() {
    #[cfg(unix)]
    if let Ok(mut terminated) =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    {
        tokio::select! {
            _ = terminated.recv() => return,
            _ = tokio::signal::ctrl_c() => return,
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
