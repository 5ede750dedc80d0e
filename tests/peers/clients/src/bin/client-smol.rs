//! The smol adapter's client over a child's pipes, all of it on one thread.

use std::error::Error;

use async_io::Async;
use clients::{CONFIG, Clock, Load, WARM_UP, is_echo, params};
use mcp_sansio::{CallOptions, Era};
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
                    assert!(is_echo(result.as_json(), &text));
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
    let (mut child, output, input) = load.start()?;
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
