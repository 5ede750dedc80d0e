//! Tools as types, which every adapter serves.

use std::rc::Rc;
use std::time::Duration;

use mcp_sansio::typed::{AsyncToolHandler, Output, Tools};
use mcp_sansio::types::{LoggingLevel, Text};
use mcp_sansio::{Catalog, Change, LogMessage, Progress, ToolContext, ToolOutput, ToolResult};
use mcp_sansio_adapters::embedded_async::{Clock as _, Connection};
use serde_json::{Value, json};

use crate::app::{CONFIG, Scene, call, legacy};
use crate::stage::Stage;

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

struct Kettle(Stage);

impl AsyncToolHandler for Kettle {
    type Tools = Call<'static>;
    type Output<'a> = Tea<'a>;

    async fn call<'a>(&'a self, call: Call<'a>, ctx: ToolContext<'a>) -> ToolResult<'a, Tea<'a>> {
        match call {
            Call::Brew { sort, steps } => {
                for step in 1..=steps {
                    ctx.progress(&Progress::of(step).total(steps)).await?;
                    let pause = Duration::from_millis(10);
                    self.0.time.sleep_until(ctx.now().saturating_add(pause)).await;
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
fn kettle<const RX: usize, const TX: usize, const REQUEST: usize>()
-> Scene<Connection<'static, Kettle, RX, TX, 2, 4, REQUEST>> {
    let stage = Stage::new(64);
    let connection = Connection::new(&CONFIG, Kettle(stage.clone())).catalog(&CATALOG);
    Scene::new(&stage, Rc::new(connection))
}

fn brew(id: u32, sort: &str, steps: u32) -> Value {
    call(id, "brew", json!({"sort": sort, "steps": steps}))
}

#[test]
fn a_result_that_borrows_from_its_request_is_longer_than_the_buffer() {
    let sort = "green ".repeat(100);
    for taken in [1, 50, usize::MAX] {
        let mut scene = kettle::<2048, 64, 2048>();
        scene.takes(0);
        scene.send(&brew(1, &sort, 1));
        scene.pass(10);
        // Its line is gone from the receive buffer.
        scene.send(&call(2, "tell", json!({"uri": "test://r"})));
        scene.send(&legacy(3, "ping", json!({})));
        scene.run();
        let mut log = Vec::new();
        // Progress and log messages that are longer than the buffer are dropped.
        while log.len() < 3 {
            scene.takes(taken);
            assert_eq!(scene.run(), None);
            log.extend(scene.log());
        }
        log.sort();
        let result = format!(r#"< 1 {{"sort":"{sort}","steps":1}}"#);
        assert!(log.contains(&result) && log.contains(&"< 2 told".to_owned()), "{log:?}");
    }
}

#[test]
fn parameters_that_are_longer_than_the_memory_for_them_are_refused() {
    let mut scene = kettle::<2048, 512, 320>();
    scene.send(&brew(1, &"x".repeat(500), 1));
    scene.send(&brew(2, "x", 1));
    scene.pass(10);
    let log = scene.log();
    let why = "The parameters are longer than this server's memory for them";
    assert_eq!(log[0], format!("< 1 error -32600 {why}"));
    assert_eq!(log.last().unwrap(), r#"< 2 {"sort":"x","steps":1}"#);
}
