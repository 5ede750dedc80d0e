//! The smol adapter's client over a child's pipes, all of it on one thread.

use std::error::Error;
use std::process::Stdio;

use async_io::Async;
use clients::{CONFIG, Clock, Load, WARM_UP, params};
use mcp_sansio::{CallOptions, Era, RawJson};
use mcp_sansio_adapters::asynchronous::JoinedIo;
use mcp_sansio_adapters::asynchronous::client::{Client, Connector};

/// As many tasks as calls are to be in flight, each with its share of the calls.
async fn call(client: &Client, load: &Load, from: u64, to: u64) {
    let executor = smol::LocalExecutor::new();
    let tasks: Vec<_> = (0..load.window)
        .map(|first| {
            executor.spawn(async move {
                for number in (from + first..to).step_by(load.window as usize) {
                    let text = load.text(number);
                    let result = client
                        .request("tools/call", &params(&text), CallOptions::new())
                        .await
                        .expect("an answer");
                    let content = result
                        .as_json()
                        .get("content")
                        .and_then(|content| content.elements().next());
                    let echoed =
                        content.and_then(|block| block.get("text")).and_then(RawJson::as_string);
                    assert!(echoed.and_then(|echoed| echoed.as_plain()) == Some(text.as_str()));
                }
            })
        })
        .collect();
    executor
        .run(async {
            for task in tasks {
                task.await;
            }
        })
        .await;
}

fn main() -> Result<(), Box<dyn Error>> {
    let load = Load::from_arguments();
    let mut child = load.command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(output), Some(input)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no pipes".into());
    };
    let pipes = JoinedIo::new(Async::new(input)?, Async::new(output)?);
    let (client, connection) = Connector::new(&CONFIG).era(Era::Legacy).connect(pipes);
    async_io::block_on(connection.drive(async {
        call(&client, &load, 0, WARM_UP).await;
        let clock = Clock::start();
        call(&client, &load, WARM_UP, WARM_UP + load.calls).await;
        clock.stop(&load);
    }));
    child.wait()?;
    Ok(())
}
