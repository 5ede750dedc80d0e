//! Every stream closes without waiting for a time limit. The limits are so long that a test that
//! waits for one hangs.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use async_io::Async;
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
use mcp_sansio::Era;
use mcp_sansio_adapters::asynchronous::client::{ClientLimits, ConnectionEnd, Connector};
use mcp_sansio_adapters::asynchronous::{ChildProcess, Stderr};

use crate::CLIENT;
#[cfg(unix)]
use crate::script::run;
use crate::script::{call, first_response, run_in_real_time, text};

const HOUR: Duration = Duration::from_secs(3600);

/// Sends `result` in response to the first call, and closes when the client has closed.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut read = [0; 4096];
    assert!(stream.read(&mut read).await.unwrap() > 0);
    stream.write_all(&first_response("here")).await.unwrap();
    while stream.read(&mut read).await.unwrap() > 0 {}
}

async fn call_and_close(stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
    let connector = Connector::new(&CLIENT)
        .era(Era::Modern)
        .limits(ClientLimits { close_timeout: HOUR, ..ClientLimits::new() });
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
fn b3_tcp_closes_at_once() {
    run_in_real_time(async {
        let (listener, address) = listener();
        let client = async {
            call_and_close(Async::<TcpStream>::connect(address).await.unwrap()).await;
            call_and_close(smol::net::TcpStream::connect(address).await.unwrap()).await;
        };
        let server = async {
            for _ in 0..2 {
                serve(listener.accept().await.unwrap().0).await;
            }
        };
        future::zip(client, server).await;
    });
}

/// Where the child connects. The connection ends with it.
const PARENT: &str = "CLOSING_PARENT";

#[test]
#[ignore = "is a process that another test starts"]
fn deaf_child() {
    let _parent = TcpStream::connect(std::env::var(PARENT).unwrap()).unwrap();
    std::thread::sleep(HOUR);
}

#[test]
fn b3_a_child_process_that_ignores_the_end_of_its_input_is_ended() {
    let start = async || {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "closing::deaf_child", "--nocapture"]);
        command.env(PARENT, listener.local_addr().unwrap().to_string());
        let mut child = ChildProcess::spawn(&mut command, Stderr::Null).unwrap();
        child.exit_timeouts = [Duration::from_millis(100), HOUR];
        // Its pipes are in use.
        child.read_exact(&mut [0; 8]).await.unwrap();
        (listener.accept().unwrap().0, child)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (mut alive, child) in [smol::block_on(start()), runtime.block_on(start())] {
        drop(child);
        alive.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        match alive.read(&mut [0]) {
            Ok(read) => assert_eq!(read, 0),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::io::{self, BufRead as _, BufReader, ErrorKind};
    use std::os::unix::net::UnixStream;
    use std::process::{ChildStdin, ChildStdout};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Instant;

    use mcp_sansio_adapters::asynchronous::{
        BoxedStream, JoinedIo, Runtime, RuntimeFuture, within,
    };

    use super::*;

    #[test]
    fn b3_unix_sockets_close_at_once() {
        run_in_real_time(async {
            let (ours, theirs) = Async::<UnixStream>::pair().unwrap();
            future::zip(call_and_close(ours), serve(theirs)).await;
            let (ours, theirs) = smol::net::unix::UnixStream::pair().unwrap();
            future::zip(call_and_close(ours), serve(theirs)).await;
        });
    }

    #[test]
    fn b3_pipes_in_memory_close_at_once() {
        let ((requests, to_server), (responses, to_client)) = (piper::pipe(64), piper::pipe(64));
        let server = serve(JoinedIo::new(requests, to_client));
        run(future::zip(call_and_close(JoinedIo::new(responses, to_server)), server));
    }

    /// Responds to a line, writes to standard error, and exits at the end of its input.
    fn server() -> Command {
        let answer =
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"here"}]}}"#;
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("read line; echo one >&2; echo '{answer}'; cat >/dev/null; echo two >&2"));
        command
    }

    #[test]
    fn b3_a_child_process_closes_at_once_and_ends() {
        run_in_real_time(async {
            let mut child = ChildProcess::spawn(&mut server(), Stderr::Keep).unwrap();
            child.exit_timeouts = [HOUR; 2];
            let (id, stderr) = (child.id().unwrap(), child.stderr.clone());
            call_and_close(child).await;
            // It is waited for: a process that was not would still have an entry.
            while is_running(id) || stderr.last().len() < 2 {
                async_io::Timer::after(Duration::from_millis(1)).await;
            }
            assert_eq!(stderr.last(), ["one", "two"]);
        });
    }

    #[test]
    fn b3_a_child_process_that_ignores_the_end_of_its_input_is_terminated_and_then_killed() {
        run_in_real_time(async {
            let (soon, later) = (Duration::from_millis(100), Duration::from_millis(300));
            for (script, at_least) in [
                ("echo ready; exec sleep 3600", soon),
                ("trap '' TERM; echo ready; while :; do sleep 0.1; done", soon + later),
            ] {
                let mut command = Command::new("sh");
                let mut child =
                    ChildProcess::spawn(command.args(["-c", script]), Stderr::Inherit).unwrap();
                let id = child.id().unwrap();
                // The shell has set its trap by then.
                child.read_exact(&mut [0; 6]).await.unwrap();
                let begun = Instant::now();
                child.exit_timeouts = [soon, later];
                drop(child);
                while is_running(id) {
                    async_io::Timer::after(Duration::from_millis(1)).await;
                }
                assert!(begun.elapsed() >= at_least, "{script}: {:?}", begun.elapsed());
            }
        });
    }

    /// A runtime that has no pipes, and reads the id of a process from its output.
    struct NoPipes(AtomicU32);

    impl Runtime for NoPipes {
        fn sleep_until(&self, at: Instant) -> RuntimeFuture<()> {
            Box::pin(async move {
                async_io::Timer::at(at).await;
            })
        }

        fn pipes(&self, output: ChildStdout, _: ChildStdin) -> io::Result<BoxedStream> {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line)?;
            self.0.store(line.trim().parse().unwrap(), Ordering::Relaxed);
            Err(ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn a_child_process_for_which_the_runtime_has_no_pipes_is_ended() {
        static NO_PIPES: NoPipes = NoPipes(AtomicU32::new(0));
        run_in_real_time(async {
            let mut command = Command::new("sh");
            command.args(["-c", "echo $$; exec cat"]);
            let spawned = within(&NO_PIPES, async {
                ChildProcess::spawn(&mut command, Stderr::Null).map(drop)
            });
            assert_eq!(spawned.await.unwrap_err().kind(), ErrorKind::Unsupported);
            while is_running(NO_PIPES.0.load(Ordering::Relaxed)) {
                async_io::Timer::after(Duration::from_millis(1)).await;
            }
        });
    }

    /// Returns whether the process exists, even if it has exited and was not waited for.
    fn is_running(id: u32) -> bool {
        let id = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
        rustix::process::test_kill_process(id).is_ok()
    }
}
