//! Environment of a connection: a scripted port, a virtual clock, and an executor that polls only
//! woken futures.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded_async::Clock;
use serde_json::Value;

/// Next input of a port.
enum Input {
    Byte(u8),
    Fault(ErrorKind),
    End,
}

struct Wire {
    input: VecDeque<Input>,
    output: Vec<u8>,
    /// Maximum number of bytes of a read or write.
    chunk: usize,
    /// Number of bytes that the other end still accepts.
    capacity: usize,
    is_broken: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
    now: u64,
    timers: Vec<(u64, Waker)>,
    /// Number of further timers, of those up to a hundred seconds, that fire early.
    early: u32,
    log: Vec<String>,
    notes: Vec<String>,
}

/// The other end of the port, and the clock.
#[derive(Clone)]
pub(crate) struct Stage(Rc<RefCell<Wire>>);

#[derive(Clone)]
pub(crate) struct Port(Stage);

impl Stage {
    /// Creates a port that moves at most `chunk` bytes at once, and a peer that accepts all output.
    pub(crate) fn new(chunk: usize) -> Self {
        Self(Rc::new(RefCell::new(Wire {
            input: VecDeque::new(),
            output: Vec::new(),
            chunk,
            capacity: usize::MAX,
            is_broken: false,
            reader: None,
            writer: None,
            now: 0,
            timers: Vec::new(),
            early: 0,
            log: Vec::new(),
            notes: Vec::new(),
        })))
    }

    pub(crate) fn port(&self) -> Port {
        Port(self.clone())
    }

    fn put(&self, input: impl IntoIterator<Item = Input>) {
        let mut wire = self.0.borrow_mut();
        wire.input.extend(input);
        wire.reader.take().into_iter().for_each(Waker::wake);
    }

    pub(crate) fn bytes(&self, bytes: impl AsRef<[u8]>) {
        self.put(bytes.as_ref().iter().map(|byte| Input::Byte(*byte)));
    }

    pub(crate) fn send(&self, message: &Value) {
        self.bytes(format!("{message}\n"));
    }

    pub(crate) fn fault(&self, kind: ErrorKind) {
        self.put([Input::Fault(kind)]);
    }

    pub(crate) fn end(&self) {
        self.put([Input::End]);
    }

    pub(crate) fn break_off(&self) {
        self.0.borrow_mut().is_broken = true;
        self.takes(0);
    }

    /// Lets the peer accept this many bytes from now on.
    pub(crate) fn takes(&self, capacity: usize) {
        let mut wire = self.0.borrow_mut();
        wire.capacity = capacity;
        wire.writer.take().into_iter().for_each(Waker::wake);
    }

    /// Returns the number of bytes that were sent and not read.
    pub(crate) fn unread(&self) -> usize {
        self.0.borrow().input.len()
    }

    pub(crate) fn pass(&self, ms: u64) {
        let mut wire = self.0.borrow_mut();
        wire.now += ms;
        let now = wire.now;
        let (due, rest) = wire.timers.drain(..).partition(|(at, _)| *at <= now);
        wire.timers = rest;
        let due: Vec<(u64, Waker)> = due;
        due.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Makes the next timers fire early; those that are waiting are polled again.
    pub(crate) fn timers_are_early(&self, count: u32) {
        let mut wire = self.0.borrow_mut();
        wire.early = count;
        wire.timers.drain(..).for_each(|(_, waker)| waker.wake());
    }

    /// Returns the number of timers.
    pub(crate) fn timers(&self) -> usize {
        self.0.borrow().timers.len()
    }

    /// Records an event of the application.
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.borrow_mut().notes.push(what.into());
    }

    /// Returns the events since the last call.
    pub(crate) fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.0.borrow_mut().notes)
    }

    /// Summarizes complete lines.
    fn collect(&self) {
        let mut wire = self.0.borrow_mut();
        while let Some(end) = wire.output.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = wire.output.drain(..=end).collect();
            let message: Value = serde_json::from_slice(&line).expect("the output is JSON");
            wire.log.push(short(&message));
        }
    }

    /// Returns the output since the last call.
    pub(crate) fn log(&self) -> Vec<String> {
        self.collect();
        std::mem::take(&mut self.0.borrow_mut().log)
    }

    /// Returns all output that [`log`](Self::log) has not returned.
    pub(crate) fn output(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.borrow_mut().output)
    }
}

/// `< 1 text`, `< 1 error -32602`, `< notifications/progress 2`.
fn short(message: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let id = message.get("id").map_or("-".to_owned(), text);
    if let Some(error) = message.get("error") {
        return format!("< {id} error {} {}", error["code"], text(&error["message"]));
    }
    if let Some(method) = message.get("method") {
        let params = &message["params"];
        let what = ["progress", "data", "uri"].iter().find_map(|key| params.get(key)).map(text);
        return format!("< {} {}", text(method), what.unwrap_or_default()).trim_end().to_owned();
    }
    let result = &message["result"];
    let failed = if result["isError"] == true { "failed: " } else { "" };
    let what = match result["content"][0].get("text") {
        Some(said) => format!("{failed}{}", text(said)),
        None => result
            .as_object()
            .map(|all| all.keys().map(String::as_str).collect::<Vec<_>>().join(","))
            .unwrap_or_default(),
    };
    format!("< {id} {what}").trim_end().to_owned()
}

impl ErrorType for Port {
    type Error = ErrorKind;
}

impl Read for Port {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        poll_fn(|cx| {
            let mut wire = self.0.0.borrow_mut();
            let most = buffer.len().min(wire.chunk);
            let mut read = 0;
            while read < most {
                match wire.input.front() {
                    Some(Input::Byte(byte)) => buffer[read] = *byte,
                    Some(_) if read > 0 => break,
                    Some(Input::Fault(kind)) => {
                        let kind = *kind;
                        wire.input.pop_front();
                        return Poll::Ready(Err(kind));
                    }
                    Some(Input::End) => return Poll::Ready(Ok(0)),
                    None => break,
                }
                wire.input.pop_front();
                read += 1;
            }
            if read > 0 {
                return Poll::Ready(Ok(read));
            }
            wire.reader = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Write for Port {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        poll_fn(|cx| {
            let mut wire = self.0.0.borrow_mut();
            if wire.is_broken {
                return Poll::Ready(Err(ErrorKind::BrokenPipe));
            }
            let len = bytes.len().min(wire.chunk).min(wire.capacity);
            if len == 0 {
                wire.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            if wire.capacity != usize::MAX {
                wire.capacity -= len;
            }
            wire.output.extend_from_slice(&bytes[..len]);
            Poll::Ready(Ok(len))
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Clock for Stage {
    fn now(&self) -> Instant {
        Instant::from_millis(self.0.borrow().now)
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> {
        poll_fn(move |cx| {
            let mut wire = self.0.borrow_mut();
            if wire.now >= at.as_millis() {
                return Poll::Ready(());
            }
            if let Some(left) = wire.early.checked_sub(1).filter(|_| at.as_millis() < 100_000) {
                wire.early = left;
                return Poll::Ready(());
            }
            wire.timers.push((at.as_millis(), cx.waker().clone()));
            Poll::Pending
        })
    }
}

/// Polls one future, only when it was woken.
pub(crate) struct Player<'f, T> {
    future: Pin<Box<dyn Future<Output = T> + 'f>>,
    flag: Arc<Flag>,
    polls: usize,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'f, T> Player<'f, T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'f) -> Self {
        Self { future: Box::pin(future), flag: Arc::new(Flag(AtomicBool::new(true))), polls: 0 }
    }

    /// Polls the future until it is no longer woken, or completes.
    pub(crate) fn run(&mut self) -> Option<T> {
        let waker = Waker::from(self.flag.clone());
        for _ in 0..100_000 {
            if !self.flag.0.swap(false, Ordering::Relaxed) {
                return None;
            }
            self.polls += 1;
            if let Poll::Ready(value) = self.future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Some(value);
            }
        }
        panic!("the future is woken without end");
    }

    /// Returns the number of polls since the last call.
    pub(crate) fn polls(&mut self) -> usize {
        std::mem::take(&mut self.polls)
    }
}
