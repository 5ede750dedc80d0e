//! A UART with DMA: the hardware fills a ring and empties a buffer while the processor does other
//! things, one byte each in a millisecond.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use mcp_sansio::typed::{AsyncToolHandler, Tools};
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Catalog, Instant, NoOutput, ServerConfig, ServerFeatures, ToolContext, ToolResult,
};
use mcp_sansio_adapters::embedded_async::{Clock, Connection};

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("kettle", "0.1.0"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Boils water.
    Boil,
    /// Tells the temperature.
    Measure,
}

/// The ring of the receiver, and the transfer of the transmitter.
#[derive(Default)]
struct Uart {
    millis: Cell<u64>,
    line: RefCell<VecDeque<u8>>,
    ring: RefCell<VecDeque<u8>>,
    output: RefCell<Vec<u8>>,
    is_sending: Cell<bool>,
    /// Number of bytes that arrived while a transfer ran.
    both: Cell<usize>,
}

/// Bytes of the ring: it has to be read once in so many milliseconds.
const RING: usize = 16;

impl Uart {
    /// Lets a millisecond pass.
    fn tick(&self) {
        self.millis.set(self.millis.get() + 1);
        if let Some(byte) = self.line.borrow_mut().pop_front() {
            assert!(self.ring.borrow().len() < RING, "the ring overran");
            self.ring.borrow_mut().push_back(byte);
            self.both.set(self.both.get() + usize::from(self.is_sending.get()));
        }
    }
}

struct Kettle<'u>(&'u Uart);

impl AsyncToolHandler for Kettle<'_> {
    type Tools = Call;
    type Output<'a>
        = NoOutput
    where
        Self: 'a;

    async fn call<'a>(&'a self, call: Call, _: ToolContext<'a>) -> ToolResult<'a> {
        match call {
            Call::Measure => Ok("20".into()),
            Call::Boil => {
                self.0.sleep_until(self.0.now().saturating_add(Duration::from_secs(1))).await;
                Ok("The water boils".into())
            }
        }
    }
}

impl Clock for &Uart {
    fn now(&self) -> Instant {
        Instant::from_millis(self.millis.get())
    }

    async fn sleep_until(&self, at: Instant) {
        wait_until(|| self.now() >= at).await;
    }
}

/// An interrupt: the executor of this test polls everything after each millisecond.
async fn wait_until(is_over: impl Fn() -> bool) {
    poll_fn(|_| if is_over() { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// The receiver, or the transmitter.
struct Half<'u>(&'u Uart);

impl ErrorType for Half<'_> {
    type Error = ErrorKind;
}

impl Read for Half<'_> {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, ErrorKind> {
        wait_until(|| !self.0.ring.borrow().is_empty()).await;
        let mut ring = self.0.ring.borrow_mut();
        let len = into.len().min(ring.len());
        into.iter_mut().zip(ring.drain(..len)).for_each(|(to, byte)| *to = byte);
        Ok(len)
    }
}

/// A transfer that is dropped before its end stops where it is: bytes would be lost.
struct Transfer<'u>(&'u Uart);

impl Drop for Transfer<'_> {
    fn drop(&mut self) {
        assert!(!self.0.is_sending.get(), "a transfer was dropped before its end");
    }
}

impl Write for Half<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        let transfer = Transfer(self.0);
        self.0.is_sending.set(true);
        let end = self.0.millis.get() + bytes.len() as u64;
        wait_until(|| self.0.millis.get() >= end).await;
        self.0.output.borrow_mut().extend_from_slice(bytes);
        self.0.is_sending.set(false);
        drop(transfer);
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

#[test]
fn transfers_by_dma_run_while_requests_are_handled() {
    let uart = Uart::default();
    let modern = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let call = |id: u32, tool: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",{modern}}}}}\n"
        )
    };
    uart.line.borrow_mut().extend(call(1, "boil").bytes());
    for id in 2..=6 {
        uart.line.borrow_mut().extend(call(id, "measure").bytes());
    }
    let connection: Connection<'_, _, 512, 256> =
        Connection::new(&CONFIG, Kettle(&uart)).catalog(&CATALOG);
    let clock = &uart;
    let mut served = pin!(connection.serve(Half(&uart), Half(&uart), &clock));
    let mut cx = Context::from_waker(Waker::noop());
    while uart.output.borrow().iter().filter(|byte| **byte == b'\n').count() < 6 {
        assert!(served.as_mut().poll(&mut cx).is_pending());
        uart.tick();
        assert!(uart.millis.get() < 10_000, "{:?}", uart.output);
    }
    let output = uart.output.borrow();
    let lines: Vec<&str> = std::str::from_utf8(&output).unwrap().lines().collect();
    for (line, id) in lines.iter().zip([2, 3, 4, 5, 6, 1]) {
        assert!(line.contains(&format!("\"id\":{id}")), "{line}");
    }
    assert!(uart.both.get() > 200, "{} bytes arrived during transfers", uart.both.get());
}
