//! An echo server on the asynchronous adapter's Streamable HTTP: `http-ours smol` or `http-ours
//! tokio`. Prints its port, and serves all connections on one thread; `tokio:2` on two.

use std::io;
use std::net::TcpListener;

use async_io::Async;
use echo::{CATALOG, CONFIG, LIMITS, echo};
use mcp_sansio_adapters::asynchronous::App;
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};

fn main() -> io::Result<()> {
    let app = App::new(&CONFIG, echo).catalog(&CATALOG).limits(LIMITS);
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let argument = std::env::args().nth(1).unwrap_or_default();
    let (runtime, threads) = argument.split_once(':').unwrap_or((&argument, ""));
    if let Ok(threads) = threads.parse() {
        let tokio = tokio::runtime::Builder::new_current_thread().build()?;
        // Of both runtimes the threads have that in which this is.
        let _tokio = (runtime == "tokio").then(|| tokio.enter());
        let listeners = http::listeners(address, threads)?;
        println!("{}", listeners[0].local_addr()?.port());
        return http::serve_on_threads(&app, listeners, HttpOptions::new());
    }
    if runtime == "tokio" {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        return runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind(address).await?;
            println!("{}", listener.local_addr()?.port());
            http::serve(&app, listener, HttpOptions::new()).await
        });
    }
    let listener = Async::<TcpListener>::bind(address)?;
    println!("{}", listener.get_ref().local_addr()?.port());
    async_io::block_on(http::serve(&app, listener, HttpOptions::new()))
}
