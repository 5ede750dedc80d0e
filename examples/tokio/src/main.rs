//! Serves any number of TCP clients on tokio's threads, without an adapter.
//!
//! `cargo run -- 127.0.0.1:8080`
//!
//! Reading and writing are two branches of one `select!`, so neither waits for the other; after
//! each the machine runs.

#[path = "../../src/small.rs"]
mod small;

use std::io;
use std::time::Instant;

use small::Session;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let (mut reader, mut writer) = stream.split();
    let (mut session, mut input_ended, begun) = (Session::default(), false, Instant::now());
    loop {
        let now = mcp_sansio::Instant::from_millis(begun.elapsed().as_millis() as u64);
        session.run(now).map_err(io::Error::other)?;
        let Session { rx, tx, .. } = &mut session;
        if input_ended && tx.is_idle() {
            return Ok(());
        }
        // The buffer is full while the client does not read its responses.
        let may_read = !input_ended && !rx.spare().is_empty();
        tokio::select! {
            read = reader.read(rx.spare()), if may_read => {
                let read = read?;
                rx.commit(read);
                input_ended = read == 0;
            }
            written = writer.write(tx.pending()), if !tx.pending().is_empty() => {
                let written = written?;
                tx.advance(written);
            }
        }
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("tokio-server: listening on {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async {
            // An error of one connection does not concern the others.
            let _ = serve(stream).await;
        });
    }
}
