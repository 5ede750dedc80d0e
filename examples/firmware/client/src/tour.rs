//! The calls that the client makes.

use core::fmt::{self, Write as _};

use mcp_sansio::types::{CallToolResult, ContentBlock, Tool};
use mcp_sansio::{CallOptions, CallOutcome, Client, ClientEvent, Json, Printable, RawJson};
use mcp_sansio_adapters::embedded::{ClientHandler, Error, Turn};
use serde::{Deserialize, Serialize};

use crate::Server;
use crate::report::Report;
use crate::uart::Uart;

/// Counts notifications and violations.
#[derive(Default)]
pub(crate) struct Visitor {
    progress: u32,
    logs: u32,
    noise: u32,
}

impl ClientHandler<Uart> for Visitor {
    fn on_event(
        &mut self,
        event: &ClientEvent<'_>,
        _: &mut Turn<'_, Uart, Client<'_>>,
    ) -> Result<(), Error<core::convert::Infallible>> {
        match event {
            ClientEvent::Progress { .. } => self.progress += 1,
            ClientEvent::Log { .. } => self.logs += 1,
            ClientEvent::Violation(_) => self.noise += 1,
            _ => {}
        }
        Ok(())
    }

    fn on_idle(&mut self, _: Option<mcp_sansio::Instant>) {
        // Until a tick of the clock or a byte.
        cortex_m::asm::wfi();
    }
}

/// Error of the client.
pub(crate) enum Failure {
    Line(Error<core::convert::Infallible>),
    Unexpected(&'static str),
}

impl From<Error<core::convert::Infallible>> for Failure {
    fn from(error: Error<core::convert::Infallible>) -> Self {
        Self::Line(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(error) => error.fmt(f),
            Self::Unexpected(what) => f.write_str(what),
        }
    }
}

/// Tools that this client can call, as bits.
const ADD: u32 = 1;
const ECHO: u32 = 2;
const STRUCTURED: u32 = 4;
const SLOW: u32 = 8;
const KNOWN: [(&str, u32); 4] =
    [("add", ADD), ("echo", ECHO), ("structured", STRUCTURED), ("slow", SLOW)];

#[derive(Serialize)]
struct Add {
    a: i32,
    b: i32,
}

#[derive(Deserialize)]
struct Sum {
    sum: f64,
}

#[derive(Serialize)]
struct Echo<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct City<'a> {
    city: &'a str,
}

/// Arguments of two servers whose tools have this name. Each ignores those that it does not know.
#[derive(Serialize)]
struct Slow {
    seconds: f32,
    steps: u32,
    ms: u32,
}

const TEXT: &str = "grüß \"Gott\"\n\u{1f600}";

/// Connects and makes all calls. Returns their number.
pub(crate) fn visit(server: &mut Server, report: &mut Report) -> Result<u32, Failure> {
    let opened = server.connect(|opened| match opened {
        Ok(opened) => {
            let info = opened.server_info();
            let name = info.and_then(|info| info.get("name")).map_or("?", RawJson::as_str);
            let _ =
                writeln!(report, "opened: {}, {}", opened.revision.as_str(), Printable::new(name));
            true
        }
        Err(error) => {
            let _ = writeln!(report, "not opened: {error}");
            false
        }
    })?;
    if opened != Some(true) {
        return Err(Failure::Unexpected("the server cannot be spoken with"));
    }
    let (known, tools) = list(server, report)?;
    let _ = writeln!(report, "tools: {tools}");
    let mut calls = 0;
    if known & ADD != 0 {
        let sum = call(server, "add", &Add { a: 2, b: 40 }, |result| {
            result.structured_content.and_then(|data| data.to::<Sum>().ok()).map(|data| data.sum)
        })?;
        let _ = writeln!(report, "add(2, 40) = {}", sum.unwrap_or(f64::NAN));
        if sum != Some(42.0) {
            return Err(Failure::Unexpected("add is wrong"));
        }
        calls += 1;
    }
    if known & ECHO != 0 {
        let same = call(server, "echo", &Echo { text: TEXT }, |result| says(result, TEXT))?;
        let _ = writeln!(report, "echo: {}", if same { "the same" } else { "something else" });
        if !same {
            return Err(Failure::Unexpected("echo is wrong"));
        }
        calls += 1;
    }
    if known & STRUCTURED != 0 {
        let has_data = call(server, "structured", &City { city: "Wien" }, |result| {
            let _ = writeln!(
                report,
                "structured: {}",
                Printable::new(result.structured_content.map_or("nothing", RawJson::as_str))
            );
            result.structured_content.is_some()
        })?;
        if !has_data {
            return Err(Failure::Unexpected("there is no structured content"));
        }
        calls += 1;
    }
    if known & SLOW != 0 {
        slow(server, report)?;
        calls += 1;
    }
    if calls == 0 {
        return Err(Failure::Unexpected("the server has no tool that is known here"));
    }
    let Visitor { progress, logs, noise } = server.handler();
    let _ = writeln!(
        report,
        "beside answers: {progress} progress, {logs} log messages, {noise} that was none"
    );
    Ok(calls)
}

fn list(server: &mut Server, report: &mut Report) -> Result<(u32, u32), Failure> {
    let (mut known, mut tools) = (0, 0);
    let failed = server.list("tools/list", |page| {
        let CallOutcome::Result(page) = page else {
            let _ = writeln!(report, "tools/list: {}", Printable::new(format_args!("{page:?}")));
            return Some(());
        };
        for tool in page.get("tools")?.elements() {
            let Ok(tool) = tool.to::<Tool<'_>>() else { return Some(()) };
            let name = tool.name.as_plain().unwrap_or_default();
            tools += 1;
            known |= KNOWN.iter().find(|(known, _)| *known == name).map_or(0, |(_, bit)| *bit);
        }
        None
    })?;
    if failed.is_some() {
        Err(Failure::Unexpected("the tools cannot be listed"))
    } else {
        Ok((known, tools))
    }
}

fn call<A: Serialize, R>(
    server: &mut Server,
    name: &'static str,
    arguments: &A,
    mut look: impl FnMut(&CallToolResult<'_>) -> R,
) -> Result<R, Failure> {
    server
        .call_tool(name, &Json(arguments), |outcome| match outcome {
            CallOutcome::Result(result) => match result.to::<CallToolResult<'_>>() {
                Ok(result) if result.is_error != Some(true) => Ok(look(&result)),
                _ => Err(Failure::Unexpected("a tool failed")),
            },
            _ => Err(Failure::Unexpected("a call was not answered with a result")),
        })
        .map_err(Failure::Line)?
}

/// Calls the slow tool with progress notifications.
fn slow(server: &mut Server, report: &mut Report) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Params {
        name: &'static str,
        arguments: Slow,
    }
    let params = Params { name: "slow", arguments: Slow { seconds: 0.35, steps: 3, ms: 100 } };
    let before = server.handler().progress;
    let is_done =
        server.call("tools/call", &Json(params), CallOptions::new().progress(true), |outcome| {
            matches!(outcome, CallOutcome::Result(_))
        })?;
    let progress = server.handler().progress - before;
    let _ = writeln!(
        report,
        "slow: {}, progress {progress} times",
        if is_done { "done" } else { "failed" }
    );
    if is_done && progress > 0 { Ok(()) } else { Err(Failure::Unexpected("slow is wrong")) }
}

fn says(result: &CallToolResult<'_>, expected: &str) -> bool {
    result.content.iter().flatten().any(|block| match block {
        ContentBlock::Text(text) => text.text.chars().eq(expected.chars()),
        _ => false,
    })
}
