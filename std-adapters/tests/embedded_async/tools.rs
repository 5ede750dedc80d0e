//! Tools as types, which every adapter serves.

use std::cell::Cell;
use std::time::Duration;

use mcp_sansio::typed::{AsyncToolHandler, Output, SyncTools, ToolHandler, Tools};
use mcp_sansio::types::{LoggingLevel, Text};
use mcp_sansio::{Catalog, Change, LogMessage, Progress, ToolContext, ToolOutput, ToolResult};
use mcp_sansio_adapters::embedded_async::{Clock as _, Connection, Handler};
use serde_json::{Value, json};

use crate::app::{CONFIG, call, initialize, legacy};
use crate::stage::{Player, Stage};

static CATALOG: Catalog<'_> = Catalog::new().tools_of::<Call<'_>>();

#[derive(Tools)]
enum Call<'a> {
    /// Brews tea, in steps of ten milliseconds.
    #[tool(returns = Tea<'static>)]
    Brew {
        sort: Text<'a>,
        #[arg(range = 1..=100)]
        steps: u32,
    },
    /// Tells the subscribers of a resource.
    Tell { uri: Text<'a> },
}

#[derive(Output)]
struct Tea<'a> {
    sort: Text<'a>,
    steps: u32,
}

struct Kettle {
    stage: Stage,
    running: Cell<u32>,
}

struct Running<'a>(&'a Cell<u32>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl AsyncToolHandler for Kettle {
    type Tools = Call<'static>;
    type Output<'a> = Tea<'a>;

    async fn call<'a>(&'a self, call: Call<'a>, ctx: ToolContext<'a>) -> ToolResult<'a, Tea<'a>> {
        self.running.set(self.running.get() + 1);
        let _running = Running(&self.running);
        match call {
            Call::Brew { sort, steps } => {
                for step in 1..=steps {
                    ctx.progress(&Progress::of(step).total(steps)).await?;
                    let pause = Duration::from_millis(10);
                    self.stage.sleep_until(ctx.now().saturating_add(pause)).await;
                }
                ctx.log(&LogMessage::new(LoggingLevel::Info, "brewed")).await?;
                Ok(ToolOutput::Structured(Tea { sort, steps }))
            }
            Call::Tell { uri } => {
                ctx.publish(Change::resource(&uri.to_string())).await?;
                Ok("told".into())
            }
        }
    }
}

/// A kettle on a stage, with buffers of these sizes.
fn kettle<const RX: usize, const TX: usize, const REQUEST: usize>(
    stage: &Stage,
) -> Connection<'static, Kettle, RX, TX, 2, 4, REQUEST> {
    let kettle = Kettle { stage: stage.clone(), running: Cell::new(0) };
    Connection::new(&CONFIG, kettle).catalog(&CATALOG)
}

fn play<'l, H, const RX: usize, const TX: usize, const REQUEST: usize>(
    connection: &'l Connection<'static, H, RX, TX, 2, 4, REQUEST>,
    stage: &'l Stage,
) -> Player<'l, crate::Served>
where
    H: Handler,
{
    Player::new(async move { connection.serve(stage.port(), stage.port(), stage).await })
}

fn brew(id: u32, sort: &str, steps: u32) -> Value {
    call(id, "brew", json!({"sort": sort, "steps": steps}))
}

fn ping(id: u32) -> Value {
    legacy(id, "ping", json!({}))
}

#[test]
fn arguments_are_refused_as_the_revision_wants_and_no_tool_runs() {
    let stage = Stage::new(64);
    let connection = kettle::<1024, 512, 1024>(&stage);
    let mut player = play(&connection, &stage);
    let why = "steps: must be an integer from 1 to 100, is 101";
    stage.send(&brew(1, "green", 101));
    stage.send(&initialize());
    stage.send(&legacy(
        2,
        "tools/call",
        json!({"name": "brew", "arguments": {"sort": "green", "steps": 101}}),
    ));
    stage.send(&call(3, "boil", json!({})));
    player.run();
    let [modern, _, legacy, unknown] = stage.log().try_into().unwrap();
    assert_eq!(modern, format!("< 1 failed: {why}"));
    assert_eq!(legacy, format!("< 2 error -32602 {why}"));
    assert_eq!(unknown, "< 3 error -32602 Unknown tool: boil");
}

#[test]
fn a_result_that_borrows_from_its_request_is_longer_than_the_buffer() {
    let sort = "green ".repeat(100);
    for taken in [1, 50, usize::MAX] {
        let stage = Stage::new(64);
        let connection = kettle::<2048, 64, 2048>(&stage);
        let mut player = play(&connection, &stage);
        stage.takes(0);
        stage.send(&brew(1, &sort, 1));
        player.run();
        stage.pass(10);
        // Its line is gone from the receive buffer.
        stage.send(&call(2, "tell", json!({"uri": "test://r"})));
        stage.send(&ping(3));
        player.run();
        let mut log = Vec::new();
        // Progress and log messages that are longer than the buffer are dropped.
        while log.len() < 3 {
            stage.takes(taken);
            assert_eq!(player.run(), None);
            log.extend(stage.log());
        }
        log.sort();
        let result = format!(r#"< 1 {{"sort":"{sort}","steps":1}}"#);
        assert!(log.contains(&result) && log.contains(&"< 2 told".to_owned()), "{log:?}");
    }
}

#[test]
fn parameters_that_are_longer_than_the_memory_for_them_are_refused() {
    let stage = Stage::new(64);
    let connection = kettle::<2048, 512, 320>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&brew(1, &"x".repeat(500), 1));
    stage.send(&brew(2, "x", 1));
    player.run();
    stage.pass(10);
    player.run();
    let log = stage.log();
    let why = "The parameters are longer than this server's memory for them";
    assert_eq!(log[0], format!("< 1 error -32600 {why}"));
    assert_eq!(log.last().unwrap(), r#"< 2 {"sort":"x","steps":1}"#);
}

struct Counter(u32);

impl ToolHandler for Counter {
    type Tools = Call<'static>;
    type Output<'a> = Tea<'a>;

    fn call<'a>(&mut self, call: Call<'a>, ctx: ToolContext<'a>) -> ToolResult<'a, Tea<'a>> {
        self.0 += 1;
        match call {
            Call::Brew { sort, steps } => Ok(ToolOutput::Structured(Tea { sort, steps })),
            Call::Tell { .. } if (self.0, ctx.now().as_millis()) == (2, 5) => {
                Ok("the second call, after 5 ms".into())
            }
            Call::Tell { .. } => Err("The state is lost")?,
        }
    }
}

#[test]
fn tools_that_return_at_once_are_served_too() {
    let stage = Stage::new(64);
    let connection: Connection<'_, _, 1024, 512, 2> =
        Connection::new(&CONFIG, SyncTools::new(Counter(0))).catalog(&CATALOG);
    let mut player = play(&connection, &stage);
    stage.pass(5);
    stage.send(&brew(1, "green", 1));
    stage.send(&call(2, "tell", json!({"uri": "test://r"})));
    stage.send(&brew(3, "black", 1));
    player.run();
    assert_eq!(
        stage.log(),
        [
            r#"< 1 {"sort":"green","steps":1}"#,
            "< 2 the second call, after 5 ms",
            r#"< 3 {"sort":"black","steps":1}"#
        ]
    );
}
