//! Both ways to serve the thermometer, with the same client of both eras.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;

use embedded_io::{ErrorType, Read, ReadReady, Write};
use firmware_thermometer::{Board, serve, serve_async};
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded_async::Clock;

/// A room in which it grows warmer whenever time passes.
#[derive(Clone, Copy)]
struct Room(&'static Cell<u64>);

impl Room {
    fn new() -> Self {
        Self(Box::leak(Box::new(Cell::new(0))))
    }
}

impl Clock for Room {
    fn now(&self) -> Instant {
        Instant::from_millis(self.0.get())
    }

    async fn sleep_until(&self, at: Instant) {
        // Nothing ever sends a time that has come.
        if at.as_millis() < 1_000_000 {
            self.0.set(self.0.get().max(at.as_millis()));
        } else {
            std::future::pending().await
        }
    }
}

impl Board for Room {
    fn temperature(&self) -> i16 {
        200 + (self.0.get() / 1000) as i16
    }

    fn wait(&self) -> Instant {
        self.now()
    }
}

/// A serial line with a client that has sent everything already.
struct Line {
    input: &'static [u8],
    output: Rc<Cell<Vec<u8>>>,
}

impl ErrorType for Line {
    type Error = Infallible;
}

impl Read for Line {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, Infallible> {
        Read::read(&mut self.input, into)
    }
}

impl ReadReady for Line {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(true)
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        let mut output = self.output.take();
        output.extend_from_slice(bytes);
        self.output.set(output);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl embedded_io_async::Read for Line {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, Infallible> {
        Read::read(self, into)
    }
}

impl embedded_io_async::Write for Line {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Write::write(self, bytes)
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Returns the lines that the client gets from each way to serve.
fn lines(input: &'static str) -> [Vec<String>; 2] {
    let line = || Line { input: input.as_bytes(), output: Rc::default() };
    let text = |output: Rc<Cell<Vec<u8>>>| {
        String::from_utf8(output.take()).unwrap().lines().map(str::to_owned).collect()
    };
    let blocking = line();
    let output = Rc::clone(&blocking.output);
    serve(blocking, Room::new()).unwrap();
    let (reader, writer) = (line(), line());
    let output_async = Rc::clone(&writer.output);
    embassy_futures::block_on(serve_async(reader, writer, Room::new())).unwrap();
    [text(output), text(output_async)]
}

macro_rules! modern {
    ($params:literal) => {
        concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"#,
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p"},"#,
            $params,
            "}}\n",
        )
    };
}

#[test]
fn a_measurement_of_2026_07_28_is_longer_than_the_buffer() {
    for lines in lines(modern!(r#""name":"measure""#)) {
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        let content = format!(r#""structuredContent":{{"recent":[200{}]}}"#, ",200".repeat(99));
        assert!(line.contains(&content), "{line}");
    }
}

#[test]
fn watching_reports_progress() {
    for lines in lines(modern!(r#""name":"watch","arguments":{"count":3}"#)) {
        let [first, _, third, result] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(first.contains(r#""progress":0,"total":3"#), "{first}");
        assert!(third.contains(r#""progress":2,"total":3"#), "{third}");
        assert!(result.contains("200,201,202,203]}"), "{result}");
    }
}

#[test]
fn arguments_are_checked_in_2025_11_25() {
    let input = concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calibrate","#,
        r#""arguments":{"offset":201}}}"#,
        "\n",
    );
    for lines in lines(input) {
        let [_, result] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(result.contains("offset: must be an integer from -200 to 200, is 201"), "{result}");
    }
}
