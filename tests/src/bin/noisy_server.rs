//! A server on the standard streams of its process, which writes to standard output and reads
//! standard input as a program should not: `noisy_server ADAPTER`. `noisy_server child` is a child
//! of it, which does so, too.

use std::io::{Read as _, stdin};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;
use std::{env, io, thread};

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{Catalog, Instant, RawJson, ServerConfig, ServerEvent, ServerFeatures, entries};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use mcp_sansio_adapters::blocking::{self, Error, Handler};

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("noisy-server", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog<'_> = Catalog::new().tools(entries![
    Tool::new("wait", OBJECT),
    Tool::new("noise", OBJECT),
    Tool::new("large", OBJECT),
    Tool::new("second", OBJECT)
]);
const OBJECT: RawJson<'_> = RawJson::from_static(r#"{"type":"object"}"#);

fn main() {
    if env::args().nth(1).is_some_and(|mode| mode == "child") {
        println!("line of a child");
        // It ends with its input.
        io::copy(&mut stdin(), &mut io::stdout()).unwrap();
        return;
    }
    print!("begun, ");
    let adapter = env::args().nth(1).unwrap_or_default();
    let ended = catch_unwind(AssertUnwindSafe(|| match adapter.as_str() {
        "blocking" => blocking(),
        "panics" => blocking::serve(&CONFIG, Panics),
        "smol" => {
            let app = App::new(&CONFIG, on_smol).catalog(&CATALOG);
            smol::block_on(app.serve_stdio()).map_err(Error::from)
        }
        _ => tokio().map_err(Error::from),
    }));
    match ended {
        Ok(Ok(())) => println!("given back"),
        Ok(Err(error)) => println!("given back: {error}"),
        Err(_) => println!("given back after a panic"),
    }
}

fn blocking() -> Result<(), Error> {
    blocking::App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| {
        let text = run(&ctx.request()?.name().map(|name| name.to_string()).unwrap_or_default());
        ctx.respond(&TextResult::new(&text))
    })
}

async fn on_smol(ctx: Context) -> HandlerResult {
    let name = ctx.request()?.name().map(|name| name.to_string());
    ctx.reply(&TextResult::new(&run(&name.unwrap_or_default())))
}

fn tokio() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let wait = |ctx| async {
        // In the runtime.
        tokio::time::sleep(Duration::from_millis(10)).await;
        on_smol(ctx).await
    };
    let app = App::new(&CONFIG, wait).catalog(&CATALOG);
    let ended = runtime.block_on(app.serve_stdio());
    // A thread may still read standard input.
    runtime.shutdown_background();
    ended
}

fn run(tool: &str) -> String {
    match tool {
        "noise" => {
            println!("stray line");
            thread::spawn(|| println!("line of a thread")).join().unwrap();
            let child = Command::new(env::current_exe().unwrap()).arg("child").status();
            let mut input = String::new();
            stdin().read_to_string(&mut input).unwrap();
            print!("unfinished");
            format!("success {}, input {input:?}", child.unwrap().success())
        }
        "large" => "x".repeat(1 << 20),
        "second" => blocking().unwrap_err().to_string(),
        _ => "waited".into(),
    }
}

/// A handler with a panic that nothing catches.
struct Panics;

impl Handler for Panics {
    fn on_event(&mut self, _: ServerEvent<'_>, _: &mut blocking::Context<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn next_timer(&self) -> Option<Instant> {
        panic!("no timer")
    }
}
