//! Firmware on a line that can be unplugged: the core, a few tools, and a record of notifications.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{
    Catalog, ClientRequest, Instant, RawJson, Request, RequestHandle, RxBuffer, SendError, Server,
    ServerConfig, ServerEvent, ServerFeatures, ServerState, Target, Tx, TxBuffer, entries,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A running board. On drop it loses power, and its line is closed.
pub(crate) struct Board {
    /// The board's end of the line.
    line: File,
    off: Arc<AtomicBool>,
    told: Arc<Mutex<Vec<String>>>,
    firmware: Option<JoinHandle<()>>,
}

impl Board {
    pub(crate) fn on(line: OwnedFd) -> Self {
        let line = File::from(line);
        let (off, told) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (port, power, notes) = (line.try_clone().unwrap(), off.clone(), told.clone());
        let firmware = thread::spawn(move || run(port, &power, &notes));
        Self { line, off, told, firmware: Some(firmware) }
    }

    /// A line without firmware.
    pub(crate) fn dead(line: OwnedFd) -> Self {
        Self { line: File::from(line), off: Arc::default(), told: Arc::default(), firmware: None }
    }

    /// Writes raw bytes to the line.
    pub(crate) fn say(&self, bytes: &[u8]) {
        let mut line = &self.line;
        line.write_all(bytes).unwrap();
    }

    /// Returns the notifications that the firmware has received.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// Waits for this notification.
    pub(crate) fn hears(&self, what: &str) {
        super::eventually(&format!("{what} in {:?}", self.told()), || {
            self.told().iter().any(|told| told == what)
        });
    }

    /// Closes a socket that other descriptors would keep open.
    pub(crate) fn hang_up(&self) {
        let _ = rustix::net::shutdown(&self.line, rustix::net::Shutdown::Both);
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.off.store(true, Ordering::Relaxed);
        if let Some(firmware) = self.firmware.take() {
            firmware.join().unwrap();
        }
    }
}

struct Firmware<'s> {
    server: Server<'s>,
    tx: TxBuffer<[u8; 4096]>,
    /// The request that waits for the client's roots.
    asking: Option<RequestHandle>,
}

fn run(mut port: File, off: &AtomicBool, told: &Mutex<Vec<String>>) {
    let mut state: ServerState = ServerState::new();
    let server = state.server(&CONFIG);
    let mut firmware = Firmware { server, tx: TxBuffer::new([0; 4096]), asking: None };
    let mut rx = RxBuffer::new([0; 4096]);
    while !off.load(Ordering::Relaxed) {
        while let Some(mut messages) = rx.next_messages() {
            while let Some(event) =
                firmware.server.next_event(NOW, &mut messages, &mut firmware.tx).unwrap()
            {
                firmware.handle(&event, &mut told.lock().unwrap()).unwrap();
                drain(&mut port, &mut firmware.tx);
            }
        }
        drain(&mut port, &mut firmware.tx);
        let patience = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        if poll(&mut [PollFd::new(&port, PollFlags::IN)], Some(&patience)) == Ok(0) {
            continue;
        }
        match port.read(rx.spare()) {
            Ok(0) => return,
            Ok(read) => rx.commit(read),
            // The other end is not open.
            Err(_) => thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn drain(port: &mut File, tx: &mut TxBuffer<[u8; 4096]>) {
    while !tx.pending().is_empty() {
        match port.write(tx.pending()) {
            Ok(written) => tx.advance(written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => tx.advance(usize::MAX),
        }
    }
}

impl Firmware<'_> {
    fn handle(&mut self, event: &ServerEvent<'_>, told: &mut Vec<String>) -> Result<(), SendError> {
        let Self { server, tx, asking } = self;
        let tx: &mut Tx<'_> = tx;
        match event {
            ServerEvent::Request(request) => return self.call(request, told),
            ServerEvent::CallFinished { outcome, .. } => {
                let text = outcome.result().map_or("refused", RawJson::as_str);
                if let Some(asking) = asking.take() {
                    server.respond(asking, &TextResult::new(text), tx)?;
                }
            }
            ServerEvent::Shutdown => {
                server.close();
                told.push("shutdown".to_owned());
            }
            ServerEvent::Initialize { revision, .. } => {
                told.push(format!("initialize {}", revision.as_str()))
            }
            ServerEvent::Initialized => told.push("initialized".to_owned()),
            ServerEvent::LogLevel(level) => told.push(format!("level {level:?}")),
            ServerEvent::Subscribed { uri } => told.push(format!("subscribed {uri}")),
            ServerEvent::RequestCancelled { .. } => told.push("cancelled".to_owned()),
            ServerEvent::Listening { .. } => told.push("listening".to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, request: &Request<'_>, told: &mut Vec<String>) -> Result<(), SendError> {
        let Self { server, tx, asking } = self;
        let tx: &mut Tx<'_> = tx;
        let Target::Tool(tool) = CATALOG.respond(server, request, tx)? else { return Ok(()) };
        if tool.key() == "ask" {
            *asking = Some(request.handle);
            server.request(NOW, ClientRequest::roots().parent(request.handle), tx)?;
        } else if tool.key() == "echo" {
            let text = request.arguments().get("text").and_then(RawJson::as_string);
            let text = text.map_or_else(|| Text::new("nothing"), Text::from);
            server.respond(request.handle, &TextResult::from(text), tx)?;
        } else {
            // Takes longer than the test waits.
            told.push("slow".to_owned());
        }
        Ok(())
    }
}

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("board", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::RESOURCES_SUBSCRIBE).with(ServerFeatures::LOGGING),
);
const ANYTHING: RawJson<'_> = RawJson::from_static(r#"{"type":"object"}"#);
static CATALOG: Catalog<'_> = Catalog::new().tools(entries![
    Tool::new("echo", ANYTHING),
    Tool::new("slow", ANYTHING),
    Tool::new("ask", ANYTHING),
]);
const NOW: Instant = Instant::from_millis(0);
