//! The server of the conversation: three tools and a prompt, on standard input and output.
//!
//! It implements `Handler`, since a call of `boil_egg` gets its response later: the timer does one
//! step of it after the other, and other messages are handled between them. A server without such
//! tools needs less: see `echo_server.rs`.

use std::time::Duration;

use mcp_sansio::typed::{Input, Output, ToolHandler, Tools};
use mcp_sansio::types::{
    GetPromptResult, Implementation, InputRequest, Prompt, PromptMessage, Text, TextResult,
};
use mcp_sansio::{
    Catalog, ErrorCode, Instant, Progress, RequestHandle, RpcError, ServerConfig, ServerEvent,
    Target, ToolContext, ToolOutput, ToolResult, entries,
};
use mcp_sansio_adapters::blocking::{self, Context, Error, Handler};

pub(super) const NAME: &str = "quickstart-server";
static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new(NAME, "1.0"), CATALOG.features());
static CATALOG: Catalog = Catalog::new()
    .tools_of::<Call>()
    .prompts(entries![Prompt::new("what_to_wear").description("Asks what to wear today")]);

/// What the catalog lists. Each half is read by itself.
#[derive(Tools)]
#[expect(dead_code, reason = "only its list is used")]
enum Call<'a> {
    #[tool(flatten)]
    Quick(Quick<'a>),
    #[tool(flatten)]
    Slow(Slow),
}

#[derive(Tools)]
enum Quick<'a> {
    /// Returns the weather in a city.
    #[tool(read_only, returns = Weather)]
    Weather { city: Text<'a> },
    /// Asks for the user's name and says hello.
    Greet,
}

#[derive(Tools)]
enum Slow {
    /// Boils an egg for so many seconds.
    BoilEgg {
        #[arg(range = 0.0..=600.0)]
        seconds: f64,
    },
}

#[derive(Output)]
struct Weather<'a> {
    city: Text<'a>,
    celsius: i32,
}

#[derive(Input)]
struct Person<'a> {
    name: Text<'a>,
}

#[derive(Default)]
struct Server {
    eggs: Vec<Egg>,
}

/// A call that goes on.
struct Egg {
    request: RequestHandle,
    percent: u32,
    /// The time of the next step.
    due: Instant,
    step: Duration,
}

impl ToolHandler for Server {
    type Tools = Quick<'static>;
    type Output<'a> = Weather<'a>;

    fn call<'a>(&mut self, call: Quick<'a>, ctx: ToolContext<'a>) -> ToolResult<'a, Weather<'a>> {
        match call {
            Quick::Weather { city } => Ok(ToolOutput::Structured(Weather { city, celsius: 21 })),
            Quick::Greet => {
                // In 2026-07-28 this is the result, and the tool is called again with the response.
                let form = InputRequest::form::<Person>("What is your name?");
                let response = ctx.at_once(ctx.request_input("name", form))?;
                let Person { name } = response.to_form()?.ok_or("I greet nobody without a name")?;
                Ok(format!("Hello, {name}!").into())
            }
        }
    }
}

impl Handler for Server {
    fn on_event(&mut self, event: ServerEvent<'_>, ctx: &mut Context<'_>) -> Result<(), Error> {
        match event {
            // The catalog responds to lists, to unknown names and to invalid arguments.
            ServerEvent::Request(request) => match ctx.respond_from(&CATALOG, &request)? {
                Target::Responded => Ok(()),
                Target::Tool(_) => match Slow::from_request(&request) {
                    Some(Ok(Slow::BoilEgg { seconds })) => {
                        let (due, step) = (ctx.now(), Duration::from_secs_f64(seconds / 2.0));
                        self.eggs.push(Egg { request: request.handle, percent: 0, due, step });
                        Ok(())
                    }
                    _ => ctx.call_tool(&request, self),
                },
                Target::Prompt(_) => {
                    let messages = [PromptMessage::user("Look up the weather. What do I wear?")];
                    ctx.respond(request.handle, &GetPromptResult::new(&messages))
                }
                _ => ctx.respond_error(request.handle, &UNKNOWN_METHOD),
            },
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                self.eggs.retain(|egg| egg.request != request);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.eggs.iter().map(|egg| egg.due).min()
    }

    fn on_timer(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        let now = ctx.now();
        for egg in self.eggs.iter_mut().filter(|egg| egg.due <= now) {
            ctx.progress(egg.request, &Progress::of(egg.percent).total(DONE))?;
            if egg.percent == DONE {
                ctx.respond(egg.request, &TextResult::new("The egg is ready"))?;
            }
            (egg.percent, egg.due) = (egg.percent + DONE / 2, egg.due.saturating_add(egg.step));
        }
        self.eggs.retain(|egg| egg.percent <= DONE);
        Ok(())
    }
}

/// Serves standard input and output until the input ends.
pub(super) fn serve() -> Result<(), Error> {
    blocking::serve(&CONFIG, Server::default())
}

const DONE: u32 = 100;
const UNKNOWN_METHOD: RpcError = RpcError::new(ErrorCode::MethodNotFound, "Method not found");
