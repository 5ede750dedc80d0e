//! A server that is a script, on a virtual clock.

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio_adapters::blocking::client::{ConnectionEnd, Transferred, Transport};
use serde_json::Value;

/// State of the server that a test observes.
#[derive(Default)]
pub(crate) struct Scene {
    /// The time in milliseconds.
    pub(crate) clock: AtomicU64,
    pub(crate) exchanges: AtomicUsize,
    pub(crate) most_pending: AtomicUsize,
}

impl Scene {
    pub(crate) fn now(&self) -> Instant {
        Instant::from_millis(self.clock.load(Relaxed))
    }
}

pub(crate) type Reply = Box<dyn FnMut(&Value) -> Vec<Value> + Send>;

/// A server whose responses a function returns. An exchange takes some milliseconds; one that
/// transfers nothing takes its whole timeout.
pub(crate) struct Scripted {
    pub(crate) scene: Arc<Scene>,
    pub(crate) reply: Reply,
    pub(crate) heard: Vec<u8>,
    pub(crate) inbox: VecDeque<u8>,
    /// Text that the server repeats after a tool was called.
    pub(crate) flood: &'static str,
    pub(crate) floods: bool,
    /// Whether it stops reading after a tool was called.
    pub(crate) is_deaf: bool,
    /// Maximum number of bytes that one exchange reads.
    pub(crate) chunk: usize,
    /// Whether one exchange reads one line.
    pub(crate) by_line: bool,
    /// Duration of an exchange in milliseconds.
    pub(crate) pace: u64,
}

impl Scripted {
    pub(crate) fn new(
        scene: &Arc<Scene>,
        reply: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
    ) -> Self {
        let (heard, inbox) = (Vec::new(), VecDeque::new());
        let (reply, scene): (Reply, _) = (Box::new(reply), Arc::clone(scene));
        Self {
            scene,
            reply,
            heard,
            inbox,
            flood: "",
            floods: false,
            is_deaf: false,
            chunk: usize::MAX,
            by_line: false,
            pace: 1,
        }
    }

    fn hear(&mut self, out: &[u8]) {
        self.heard.extend_from_slice(out);
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let message: Value = serde_json::from_slice(&self.heard[..end]).unwrap();
            self.heard.drain(..=end);
            self.floods |= message["method"] == "tools/call";
            for answer in (self.reply)(&message) {
                self.inbox.extend(format!("{answer}\n").bytes());
            }
        }
    }
}

impl Transport for Scripted {
    fn name(&self) -> String {
        "script".into()
    }

    fn open(&mut self) -> io::Result<()> {
        self.floods = false;
        Ok(())
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        let mut done = Transferred::default();
        self.scene.exchanges.fetch_add(1, Relaxed);
        assert!(self.scene.exchanges.load(Relaxed) < 100_000, "the loop does not terminate");
        self.scene.most_pending.fetch_max(out.len(), Relaxed);
        if !(self.is_deaf && self.floods) {
            self.hear(out);
            done.written = out.len();
        }
        if self.floods && !self.flood.is_empty() {
            while self.inbox.len() < into.len() {
                self.inbox.extend(self.flood.bytes());
            }
        }
        let line = self.inbox.iter().take(into.len()).position(|byte| *byte == b'\n');
        let line = line.filter(|_| self.by_line);
        let most = into.len().min(self.chunk).min(line.map_or(usize::MAX, |end| end + 1));
        self.inbox.make_contiguous();
        done.read = self.inbox.read(&mut into[..most])?;
        let takes = if done == Transferred::default() {
            timeout.expect("the transport waits without a timeout")
        } else {
            Duration::from_millis(self.pace)
        };
        self.scene.clock.fetch_add(takes.as_millis() as u64, Relaxed);
        Ok(done)
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        Ok(ConnectionEnd::new(self.name()))
    }
}
