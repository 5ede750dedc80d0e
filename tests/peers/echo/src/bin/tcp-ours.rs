//! An echo server on the smol adapter. Prints its port, and serves all connections on one thread.

use std::io;
use std::net::TcpListener;

use async_io::Async;
use echo::{CATALOG, CONFIG, LIMITS, echo};
use mcp_sansio_adapters::asynchronous;
use mcp_sansio_adapters::asynchronous::App;

fn main() -> io::Result<()> {
    let app = App::new(&CONFIG, echo).catalog(&CATALOG).limits(LIMITS);
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
    println!("{}", listener.get_ref().local_addr()?.port());
    async_io::block_on(asynchronous::serve(&app, &listener))
}
