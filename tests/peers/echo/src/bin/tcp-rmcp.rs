//! An echo server on the official Rust SDK over TCP, as its examples have it. Prints its port, and
//! serves all connections on one thread.

use std::error::Error;

use echo::Echo;
use rmcp::ServiceExt;
use tokio::net::TcpListener;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("{}", listener.local_addr()?.port());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(async move {
                if let Ok(service) = Echo.serve(stream).await {
                    let _ = service.waiting().await;
                }
            });
        }
    })
}
