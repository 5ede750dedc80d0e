//! Serves any number of TCP clients on tokio's threads, without an adapter.
//!
//! `cargo run -- 127.0.0.1:8080`
//!
//! Reading, writing and the outcomes of slow tools are branches of one `select!`, so none waits for
//! the others.

#[path = "../../first-hour/src/small.rs"]
mod small;

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use mcp_sansio::{ServerConfig, Step};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let (mut reader, mut writer) = stream.split();
    let (mut session, mut jobs, begun) = (small::session(&CONFIG), JoinSet::new(), Instant::now());
    loop {
        let now = mcp_sansio::Instant::from_millis(begun.elapsed().as_millis() as u64);
        match session.next(now) {
            Step::Event(event, mut turn) => {
                if let Some(job) = small::handle(&event, &mut turn) {
                    jobs.spawn_blocking(|| (job.request, job.run()));
                }
            }
            Step::Again => {}
            Step::Io { write, mut read, until } => {
                let may_read = !read.spare().is_empty();
                let wait = until.map_or(u64::MAX, |due| due.as_millis() - now.as_millis());
                tokio::select! {
                    got = reader.read(read.spare()), if may_read => match got? {
                        0 => session.end_of_input(),
                        n => read.commit(n),
                    },
                    written = writer.write(write), if !write.is_empty() => {
                        let written = written?;
                        session.wrote(written);
                    }
                    Some(done) = jobs.join_next() => {
                        if let Ok((request, reply)) = done {
                            let _ = session.answer(request, reply);
                        }
                    }
                    () = tokio::time::sleep(Duration::from_millis(wait)), if until.is_some() => {}
                }
            }
            Step::Closed => return Ok(()),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener =
        TcpListener::bind(&address).await.map_err(|error| format!("{address}: {error}"))?;
    eprintln!("tokio-server: listening on {}", listener.local_addr()?);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of files: some may be free in a while.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        tokio::spawn(async {
            // An error of one connection does not concern the others.
            let _ = serve(stream).await;
        });
    }
}

/// Time without accepting after an error.
const PAUSE: Duration = Duration::from_millis(100);
static CONFIG: ServerConfig<'_> = small::config(Duration::from_secs(60));
