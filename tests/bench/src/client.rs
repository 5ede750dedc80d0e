//! Calls of clients: from the parameters to the result, with a server of the core in memory.

use std::future::Future as _;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, Era, RawJson, RxBuffer, Server, TxBuffer};
use mcp_sansio_adapters::asynchronous::client as asynchronous;
use mcp_sansio_adapters::blocking::client as blocking;

use crate::stream::{Peer, Stream};
use crate::{Case, ours};

static CONFIG: ClientConfig =
    ClientConfig::new(Implementation::new("bench", "1"), ClientFeatures::NONE);
const ARGUMENTS: RawJson = RawJson::from_static(
    r#"{"text":"a text of some words a text of some words a text of some words a"}"#,
);

/// The case of each client in each era; one call is in flight.
pub(crate) fn cases() -> Vec<Case> {
    let eras = [("legacy", Era::Legacy), ("modern", Era::Modern)];
    eras.into_iter()
        .flat_map(|(name, era)| [blocking(name, era), asynchronous(name, era)])
        .collect()
}

fn blocking(name: &str, era: Era) -> Case {
    let connector = blocking::Connector::new(&CONFIG).era(era);
    let mut client = connector.connect(Line::new()).expect("the server is there");
    Case::new(format!("client-blocking-{name}"), ARGUMENTS.as_str().len(), move || {
        client.call_tool("echo", &ARGUMENTS).expect("it responds").as_json().as_str().len()
    })
}

fn asynchronous(name: &str, era: Era) -> Case {
    let connector = asynchronous::Connector::new(&CONFIG).era(era);
    let (client, connection) = connector.connect(Stream(Line::new()));
    let mut connection = Box::pin(connection);
    Case::new(format!("client-async-{name}"), ARGUMENTS.as_str().len(), move || {
        let mut call = pin!(client.call_tool("echo", &ARGUMENTS));
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(result) = call.as_mut().poll(&mut cx) {
                return result.expect("it responds").as_json().as_str().len();
            }
            assert!(connection.as_mut().poll(&mut cx).is_pending(), "the connection is open");
        }
    })
}

/// A server behind a line without delay.
struct Line {
    server: Server<'static>,
    rx: RxBuffer<&'static mut [u8]>,
    tx: TxBuffer<&'static mut [u8]>,
}

impl Line {
    fn new() -> Self {
        let memory = || &mut *Box::leak(vec![0; ours::LARGE].into_boxed_slice());
        Self { server: ours::new(), rx: RxBuffer::new(memory()), tx: TxBuffer::new(memory()) }
    }
}

impl Peer for Line {
    fn write(&mut self, bytes: &[u8]) {
        self.rx.spare()[..bytes.len()].copy_from_slice(bytes);
        self.rx.commit(bytes.len());
        while let Some(frame) = self.rx.next_frame() {
            ours::serve(&mut self.server, frame, &mut self.tx);
        }
    }

    fn read(&mut self, into: &mut [u8]) -> Option<usize> {
        let pending = self.tx.pending();
        let n = pending.len().min(into.len());
        into[..n].copy_from_slice(&pending[..n]);
        self.tx.advance(n);
        (n > 0).then_some(n)
    }
}

impl blocking::Transport for Line {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn open(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        _: Option<Duration>,
    ) -> io::Result<blocking::Transferred> {
        self.write(out);
        let (written, read) = (out.len(), self.read(into).unwrap_or(0));
        Ok(blocking::Transferred { written, read, ended: false })
    }

    fn close(&mut self) -> io::Result<blocking::ConnectionEnd> {
        Ok(blocking::ConnectionEnd::new("memory".to_owned()))
    }
}
