//! Every stream closes without waiting for a time limit. The limits are so long that a test that
//! waits for one hangs.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use async_io::Async;
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
use mcp_sansio::Era;
use mcp_sansio_adapters::asynchronous::client::{ConnectionEnd, Connector};

use crate::CLIENT;
use crate::script::{call, run, text};

const HOUR: Duration = Duration::from_secs(3600);

/// Sends `result` in response to the first call, and closes when the client has closed.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut read = [0; 4096];
    assert!(stream.read(&mut read).await.unwrap() > 0);
    let answer = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"here\"}]}}\n";
    stream.write_all(answer).await.unwrap();
    while stream.read(&mut read).await.unwrap() > 0 {}
}

async fn call_and_close(stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
    let connector = Connector::new(&CLIENT).set_era(Some(Era::Modern)).close_timeout(HOUR);
    let (client, connection) = connector.connect(stream);
    let calls = async {
        assert_eq!(text(&call(&client, "a").await.unwrap()), "here");
        drop(client);
    };
    let ((), end) = future::zip(calls, connection).await;
    assert!(matches!(end, Ok(ConnectionEnd::Closed)), "{end:?}");
}

fn listener() -> (Async<TcpListener>, std::net::SocketAddr) {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    (listener, address)
}

#[test]
fn b3_tcp_of_async_io_closes_at_once() {
    run(async {
        let (listener, address) = listener();
        let client =
            async { call_and_close(Async::<TcpStream>::connect(address).await.unwrap()).await };
        future::zip(client, async { serve(listener.accept().await.unwrap().0).await }).await;
    });
}

#[test]
fn b3_tcp_of_smol_closes_at_once() {
    run(async {
        let (listener, address) = listener();
        let client =
            async { call_and_close(smol::net::TcpStream::connect(address).await.unwrap()).await };
        future::zip(client, async { serve(listener.accept().await.unwrap().0).await }).await;
    });
}

#[cfg(unix)]
mod unix {
    use std::os::unix::net::UnixStream;

    use mcp_sansio_adapters::asynchronous::JoinedIo;
    use smol::process::{Command, Stdio};

    use super::*;

    #[test]
    fn b3_unix_sockets_of_async_io_close_at_once() {
        let (ours, theirs) = Async::<UnixStream>::pair().unwrap();
        run(future::zip(call_and_close(ours), serve(theirs)));
    }

    #[test]
    fn b3_unix_sockets_of_smol_close_at_once() {
        run(async {
            let (ours, theirs) = smol::net::unix::UnixStream::pair().unwrap();
            future::zip(call_and_close(ours), serve(theirs)).await;
        });
    }

    #[test]
    fn b3_the_pipes_of_a_child_close_at_once_and_it_ends() {
        run(async {
            let answer =
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"here"}]}}"#;
            let script = format!("read line; echo '{answer}'; cat > /dev/null");
            let mut command = Command::new("sh");
            let mut child = command
                .arg("-c")
                .arg(script)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let stream = JoinedIo::new(child.stdout.take().unwrap(), child.stdin.take().unwrap());
            call_and_close(stream).await;
            assert!(child.status().await.unwrap().success());
        });
    }
}
