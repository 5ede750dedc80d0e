//! Tools that are types, on a port.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use mcp_sansio::typed::{AsyncToolHandler, ToolHandler, Tools};
use mcp_sansio::types::{Implementation, Text};
use mcp_sansio::{
    Catalog, Connection, Instant, NoOutput, Progress, RxBuffer, ServerConfig, ServerEvent,
    ServerFeatures, ServerState, ToolContext, ToolOutput, ToolResult, TxBuffer,
};
use mcp_sansio_adapters::embedded::{Port, Step};

use crate::uart::Uart;

#[derive(Tools)]
enum Call<'a> {
    /// Echoes.
    Echo { text: Text<'a> },
    /// Waits.
    Wait { milliseconds: u32 },
}

struct Fast;

impl ToolHandler for Fast {
    type Tools = Call<'static>;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, call: Call<'a>, _: ToolContext<'a>) -> ToolResult<'a> {
        match call {
            Call::Echo { text } => Ok(ToolOutput::Text(text)),
            Call::Wait { .. } => Err("It cannot wait")?,
        }
    }
}

struct Slow;

impl AsyncToolHandler for Slow {
    type Tools = Call<'static>;
    type Output<'a> = NoOutput;

    async fn call<'a>(&'a self, call: Call<'a>, ctx: ToolContext<'a>) -> ToolResult<'a> {
        match call {
            Call::Echo { text } => Ok(ToolOutput::Text(text)),
            Call::Wait { milliseconds } => {
                ctx.progress(&Progress::of(1)).await?;
                let due = ctx.now().saturating_add(Duration::from_millis(milliseconds.into()));
                poll_fn(|_| if ctx.now() < due { Poll::Pending } else { Poll::Ready(()) }).await;
                ctx.progress(&Progress::of(2)).await?;
                Ok("done".into())
            }
        }
    }
}

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("b", "1"), ServerFeatures::TOOLS)
        .progress_interval(Duration::ZERO);
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

fn call(tool: &str, arguments: &str) -> String {
    let meta = concat!(
        r#""_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}"#
    );
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{arguments},{meta}}}}}\n"
    )
}

/// Plays a line, and returns the output and how many milliseconds the tool was waited for.
fn play(input: &str, slow: bool) -> (String, u64) {
    let (rx, tx) = (RxBuffer::new([0; 1024]), TxBuffer::new([0; 128]));
    let state: ServerState<2, 0> = ServerState::new();
    let connection: Connection<'_, _, _, _> = Connection::new(&CONFIG, state, rx, tx);
    let uart = Uart::new(3);
    uart.says(input);
    let (mut port, clock) = (Port::new(uart.clone(), connection), Cell::new(0));
    loop {
        match port.next(Instant::from_millis(clock.get())).unwrap() {
            Step::Event(ServerEvent::Request(request), mut turn) => {
                let idle = || {
                    clock.set(clock.get() + 10);
                    Instant::from_millis(clock.get())
                };
                let called = if slow {
                    turn.call_async_tool(&CATALOG, &request, &Slow, idle)
                } else {
                    turn.call_tool(&CATALOG, &request, &mut Fast)
                };
                called.unwrap();
            }
            Step::Idle(_) => break,
            _ => {}
        }
    }
    let line = uart.line();
    assert_eq!(line.flushed, line.output.len());
    (String::from_utf8(line.output.clone()).unwrap(), clock.get())
}

#[test]
fn a_handler_is_called_from_a_step() {
    let long = "x".repeat(300);
    for slow in [false, true] {
        let (output, _) = play(&call("echo", &format!(r#"{{"text":"{long}"}}"#)), slow);
        assert!(output.contains(&format!(r#""text":"{long}""#)), "{output}");
        let (output, _) = play(&call("echo", "{}"), slow);
        assert!(output.contains("text: is missing, must be a string"), "{output}");
        let (output, _) = play(&call("none", "{}"), slow);
        assert!(output.contains(r#""message":"Unknown tool: none""#), "{output}");
    }
}

#[test]
fn time_goes_on_while_a_tool_waits() {
    let (output, now) = play(&call("wait", r#"{"milliseconds":25}"#), true);
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].contains(r#""progress":1"#) && lines[1].contains(r#""progress":2"#));
    assert!(lines[2].contains(r#""text":"done""#));
    assert_eq!((lines.len(), now), (3, 30));
}
