//! The blocking server against clients that flood or block it, and handlers that panic.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;
use std::time::Duration;

use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    Instant, Json, RequestHandle, SendError, ServerConfig, ServerEvent, ServerFeatures,
};
use mcp_sansio_adapters::blocking::{self, Context, Error, Handler, Input, Threaded};
use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::{Value, json};

use super::call;

static CONFIG: ServerConfig<'static> = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::LOGGING),
);

/// Input that is available at once.
struct AtOnce<R>(R);

impl<R: Read> Read for AtOnce<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: Read> Input for AtOnce<R> {
    fn wait(&mut self, _: Option<Duration>) -> io::Result<bool> {
        Ok(true)
    }
}

/// A text, and then as many reads of blank lines as a count says.
struct Blank {
    first: VecDeque<u8>,
    reads_left: usize,
    longest: Arc<AtomicUsize>,
}

impl Blank {
    fn after(first: &str, reads_left: usize) -> Self {
        Self { first: first.bytes().collect(), reads_left, longest: Arc::default() }
    }
}

impl Read for Blank {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.longest.fetch_max(buffer.len(), Relaxed);
        if !self.first.is_empty() {
            return self.first.read(buffer);
        }
        let Some(left) = self.reads_left.checked_sub(1) else { return Ok(0) };
        self.reads_left = left;
        buffer.fill(b'\n');
        Ok(buffer.len())
    }
}

/// Returns the messages in an output.
fn messages(output: &[u8]) -> Vec<Value> {
    let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap_or(Value::Null)).collect()
}

/// Handler that panics in each of its functions. It keeps which panics were those of a request.
struct Panicking<'t> {
    told: &'t Mutex<Vec<bool>>,
    job: Option<RequestHandle>,
}

/// A result that is longer than the output buffer, and panics while it is serialized.
struct Long {
    panics: bool,
}

impl Serialize for Long {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("", 2)?;
        object.serialize_field("content", &[(); 0])?;
        if self.panics {
            panic!("serialize");
        }
        object.serialize_field("structuredContent", &"x".repeat(4 << 20))?;
        object.end()
    }
}

impl Handler for Panicking<'_> {
    fn on_event(&mut self, event: ServerEvent<'_>, ctx: &mut Context<'_>) -> Result<(), Error> {
        let ServerEvent::Request(request) = event else { panic!("event") };
        match request.name().map(|name| name.to_string()).as_deref() {
            Some("at once") => panic!("at once"),
            Some("answered") => {
                ctx.respond(request.handle, &TextResult::new("answered"))?;
                panic!("answered");
            }
            Some("half") => {
                // The first part has been sent when the rest panics.
                let mut result = Long { panics: false };
                ctx.send(|server, tx| {
                    let done = server.respond(request.handle, &Json(&result), tx);
                    result.panics = done == Err(SendError::Full) && tx.is_mid_frame();
                    done
                })?;
            }
            Some("value") => ctx.respond(request.handle, &Json(Long { panics: true }))?,
            Some("job") => self.job = Some(request.handle),
            _ => ctx.respond(request.handle, &TextResult::new("well"))?,
        }
        Ok(())
    }

    fn on_panic(
        &mut self,
        request: Option<RequestHandle>,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        self.told.lock().unwrap().push(request.is_some());
        match self.job.take() {
            Some(job) if request.is_none() => ctx.respond(job, &TextResult::error("failed")),
            _ => Ok(()),
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.job.map(|_| Instant::from_millis(0))
    }

    fn on_timer(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        panic!("woken");
    }
}

#[test]
fn f9_a_handler_that_panics_ends_its_own_request_and_no_session() {
    let tools = ["at once", "answered", "half", "value", "well", "job"];
    let lines: String = tools.iter().zip(1..).map(|(tool, id)| call(id, tool)).collect();
    // The last event is not a request.
    let lines = lines
        + "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"\"}}\n"
        + &call(7, "well");
    let (told, mut output) = (Mutex::default(), Vec::new());
    let (input, handler) = (AtOnce(io::Cursor::new(lines)), Panicking { told: &told, job: None });
    blocking::serve_on(&CONFIG, input, &mut output, handler).unwrap();
    let messages = messages(&output);
    let internal = |id: u32| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "The handler panicked"}});
    let said = |id: u32| {
        let mut said = messages.iter().filter(|message| message["id"] == id);
        let message = said.next().expect("a response");
        assert_eq!(said.next(), None, "it is the only one");
        message
    };
    for id in [1, 3, 4] {
        assert_eq!(*said(id), internal(id));
    }
    for (id, text) in [(2, "answered"), (5, "well"), (7, "well")] {
        assert_eq!(said(id)["result"]["content"][0]["text"], text);
    }
    // The begun line of the third is not a message; the next line is.
    assert_eq!(messages.iter().filter(|message| message.is_null()).count(), 1);
    // The handler responds to the job of `woken`, or has done so at the event before.
    assert_eq!(said(6)["result"]["isError"], true);
    assert_eq!(told.into_inner().unwrap(), [true, true, true, true, false]);
}

#[test]
fn f9_a_handler_that_panics_at_each_wake_is_paused() {
    struct Woken(Arc<AtomicUsize>);
    impl Handler for Woken {
        fn on_event(&mut self, _: ServerEvent<'_>, _: &mut Context<'_>) -> Result<(), Error> {
            Ok(())
        }
        fn next_timer(&self) -> Option<Instant> {
            Some(Instant::from_millis(0))
        }
        fn on_timer(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
            self.0.fetch_add(1, Relaxed);
            panic!("woken")
        }
    }
    let woken = Arc::new(AtomicUsize::new(0));
    let begun = std::time::Instant::now();
    let input = AtOnce(Blank::after("", 100));
    blocking::serve_on(&CONFIG, input, io::sink(), Woken(Arc::clone(&woken))).unwrap();
    // Once, and once more for each second that the test took.
    assert!(woken.load(Relaxed) <= 1 + begun.elapsed().as_secs() as usize);
}

#[test]
fn p1_a_client_that_never_pauses_does_not_keep_deadlines_and_jobs() {
    struct Job(Option<RequestHandle>, usize);
    impl Handler for &mut Job {
        fn on_event(&mut self, event: ServerEvent<'_>, _: &mut Context<'_>) -> Result<(), Error> {
            match event {
                ServerEvent::Request(request) => self.0 = Some(request.handle),
                ServerEvent::RequestTimedOut { request } if self.0 == Some(request) => {
                    self.0 = None
                }
                _ => {}
            }
            Ok(())
        }
        fn next_timer(&self) -> Option<Instant> {
            Some(Instant::from_millis(0))
        }
        fn on_timer(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
            self.1 += 1;
            // Paced, so that the deadline passes during the flood.
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        }
    }
    let config = CONFIG.request_timeout(Duration::from_millis(50));
    let mut job = Job(None, 0);
    // A long line has grown the buffer; then endless blank lines follow.
    let first = format!("{}{}\n", call(1, "wait"), " ".repeat(1 << 20));
    let input = Blank::after(&first, 80);
    let (longest, mut output) = (Arc::clone(&input.longest), Vec::new());
    blocking::serve_on(&config, AtOnce(input), &mut output, &mut job).unwrap();
    assert_eq!(job.0, None, "its deadline came");
    let is_late = |message: &Value| message["id"] == 1 && message["error"]["code"] == -32603;
    assert!(messages(&output).iter().any(is_late));
    assert!(job.1 >= 80, "woken {} times", job.1);
    assert!(longest.load(Relaxed) <= 64 << 10);
}

#[cfg(unix)]
#[test]
fn p1_a_client_that_never_reads_is_let_go_by_a_write_timeout() {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    let (mut client, server) = UnixStream::pair().unwrap();
    server.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let output = server.try_clone().unwrap();
    let answer = |event: ServerEvent<'_>, ctx: &mut Context<'_>| match event {
        ServerEvent::Request(request) => ctx.respond(request.handle, &Json(Long { panics: false })),
        _ => Ok(()),
    };
    let serving = std::thread::spawn(move || {
        blocking::serve_on(&CONFIG, blocking::Polled::new(server), output, answer)
    });
    client.write_all(call(1, "long").as_bytes()).unwrap();
    let ended = serving.join().unwrap();
    assert!(
        matches!(&ended, Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock),
        "{ended:?}"
    );
}

#[test]
fn s8_the_longest_duration_is_never() {
    let config = CONFIG.request_timeout(Duration::MAX).ping_interval(Duration::MAX);
    let handler = |_: ServerEvent<'_>, _: &mut Context<'_>| Ok(());
    let input = Threaded::new(io::Cursor::new(call(1, "wait")));
    blocking::serve_on(&config, input, io::sink(), handler).unwrap();
    assert!(Threaded::new(io::empty()).wait(Some(Duration::MAX)).unwrap());
    #[cfg(unix)]
    {
        use std::io::Write as _;
        let (mut client, server) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut server = blocking::Polled::new(server);
        client.write_all(b"x").unwrap();
        assert!(server.wait(Some(Duration::MAX)).unwrap());
    }
}

#[test]
fn m1_a_job_of_another_thread_goes_on_while_no_further_request_fits() {
    /// Counts the bytes that are read.
    struct Counted(VecDeque<u8>, Arc<AtomicUsize>);
    impl Read for Counted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(buffer)?;
            self.1.fetch_add(read, Relaxed);
            Ok(read)
        }
    }
    /// Keeps its requests until the thread is done.
    struct Waiting(Vec<RequestHandle>, mpsc::Sender<Waker>, Arc<AtomicBool>);
    impl Handler for Waiting {
        fn on_start(&mut self, waker: &mut dyn FnMut() -> io::Result<Waker>) -> Result<(), Error> {
            self.1.send(waker()?).unwrap();
            Ok(())
        }
        fn on_event(&mut self, event: ServerEvent<'_>, _: &mut Context<'_>) -> Result<(), Error> {
            let ServerEvent::Request(request) = event else { panic!("event") };
            self.0.push(request.handle);
            Ok(())
        }
        fn next_timer(&self) -> Option<Instant> {
            let is_due = self.2.load(Relaxed) && !self.0.is_empty();
            is_due.then(|| Instant::from_millis(0))
        }
        fn on_timer(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
            self.0.drain(..).try_for_each(|request| ctx.respond(request, &TextResult::new("done")))
        }
    }
    // All entries of the table, then long lines, which are more than the buffer takes.
    let (entries, count) = (u32::from(blocking::IN_FLIGHT), u32::from(blocking::IN_FLIGHT) + 36);
    let long = |id| call(id, "wait").replace('\n', &format!("{}\n", " ".repeat(1 << 19)));
    let lines = (0..count).map(|id| if id < entries { call(id, "wait") } else { long(id) });
    let input: String = lines.collect();
    let (read, is_done) = (Arc::<AtomicUsize>::default(), Arc::default());
    let input = AtOnce(Counted(input.into_bytes().into(), Arc::clone(&read)));
    let (wakers, waker) = mpsc::channel();
    let handler = Waiting(Vec::new(), wakers, Arc::clone(&is_done));
    let (ended, is_ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut output = Vec::new();
        blocking::serve_on(&CONFIG, input, &mut output, handler).unwrap();
        ended.send(output).unwrap();
    });
    assert!(settled(&read, blocking::MAX_LINE) < 17 << 20);
    is_done.store(true, Relaxed);
    waker.recv().unwrap().wake();
    let output = is_ended.recv_timeout(Duration::from_secs(20)).expect("the server is woken");
    let messages = messages(&output);
    let ids = messages.iter().map(|message| message["id"].as_u64().unwrap());
    assert!(ids.eq(0..u64::from(count)));
}

/// Endless input that counts its reads.
struct Endless(Arc<AtomicUsize>);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.fetch_add(1, Relaxed);
        Ok(buffer.len())
    }
}

/// Waits until the thread has read up to its limit, and a little longer.
fn settled(reads: &AtomicUsize, least: usize) -> usize {
    for _ in 0..10_000 {
        if reads.load(Relaxed) >= least {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(50));
    reads.load(Relaxed)
}

#[test]
fn m1_a_thread_reads_a_limited_number_of_chunks_ahead() {
    let reads = Arc::new(AtomicUsize::new(0));
    let mut input = Threaded::new(Endless(Arc::clone(&reads)));
    // One waits, and the second is to be queued.
    assert_eq!(settled(&reads, 2), 2);
    assert_eq!(input.read(&mut [0; 1]).unwrap(), 1);
    assert_eq!(settled(&reads, 3), 3);

    use mcp_sansio_adapters::blocking::client::{ThreadedStreams, Transport as _};
    let reads = Arc::new(AtomicUsize::new(0));
    let mut streams = ThreadedStreams::new("endless", Endless(Arc::clone(&reads)), io::sink());
    assert_eq!(settled(&reads, 2), 2);
    // One of them is taken.
    let mut into = vec![0; 64 << 10];
    while streams.transfer(&[], &mut into, Some(Duration::from_secs(10))).unwrap().read == 0 {}
    assert_eq!(settled(&reads, 3), 3);
    streams.close().unwrap();
}

#[test]
fn r3_b2_a_signal_during_a_read_ends_no_input() {
    /// Input whose every other read a signal ends early.
    struct Signalled(io::Cursor<String>, bool);

    impl Read for Signalled {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            let most = buffer.len().min(20);
            if self.1 {
                Err(io::ErrorKind::Interrupted.into())
            } else {
                self.0.read(&mut buffer[..most])
            }
        }
    }

    let lines = call(1, "a") + &call(2, "b");
    let input = || AtOnce(Signalled(io::Cursor::new(lines.clone()), false));
    let mut outputs = [Vec::new(), Vec::new()];
    let respond =
        |ctx: &mut blocking::RequestContext<'_, '_>| ctx.respond(&TextResult::new("done"));
    let app = || blocking::App::new(&CONFIG);
    app().serve_on(input(), &mut outputs[0], respond).unwrap();
    app().serve_on(Threaded::new(input()), &mut outputs[1], respond).unwrap();
    for output in outputs {
        let ids: Vec<_> = messages(&output).iter().map(|message| message["id"].clone()).collect();
        assert_eq!(ids, [json!(1), json!(2)]);
    }
}
