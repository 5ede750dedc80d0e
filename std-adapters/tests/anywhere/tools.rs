//! The tools of a program, in which no adapter is named.

use std::cell::Cell;

use mcp_sansio::typed::{AsyncToolHandler, Input, Output, ToolHandler, Tools};
use mcp_sansio::types::{InputRequest, LoggingLevel, Text};
use mcp_sansio::{
    Catalog, ErrorCode, LogMessage, OrToolError as _, Progress, RpcError, ToolContext, ToolError,
    ToolOutput, ToolResult,
};
use smol::future::yield_now;

pub(crate) static CATALOG: Catalog<'_> = Catalog::new().tools_of::<Call<'_>>();

#[derive(Tools)]
pub(crate) enum Call<'a> {
    /// Takes a text apart.
    #[tool(returns = Parts<'static>)]
    Split {
        #[arg(length = 1..=200)]
        text: Text<'a>,
    },
    /// Copies blocks, and tells about each.
    Copy { blocks: u32 },
    /// Fails in one of several ways.
    Fail { how: How },
    /// Returns the number of calls so far.
    Count,
    /// Asks the user for a name, and then for a town.
    Greet,
}

#[derive(Input)]
struct Guest<'a> {
    name: Text<'a>,
}

#[derive(Input)]
struct Home<'a> {
    town: Text<'a>,
}

/// The state of the second round.
#[derive(Input, Output)]
struct Asked<'a> {
    name: Text<'a>,
}

#[derive(Output)]
pub(crate) struct Parts<'a> {
    whole: Text<'a>,
    characters: u32,
}

#[derive(Input, Clone, Copy)]
pub(crate) enum How {
    Failed,
    Arguments,
    Internal,
    Protocol,
}

fn fail(how: How) -> ToolError<'static> {
    match how {
        How::Failed => "The disk is full".into(),
        How::Arguments => ToolError::invalid_arguments("how: is not possible today"),
        How::Internal => std::fs::read("/no/such/file").or_internal().unwrap_err(),
        How::Protocol => RpcError::new(ErrorCode::Application(7), "Busy").into(),
    }
}

fn split(text: Text<'_>) -> ToolResult<'_, Parts<'_>> {
    let characters = u32::try_from(text.chars().count()).or_internal()?;
    Ok(ToolOutput::Structured(Parts { whole: text, characters }))
}

/// Asks twice. The state of the request remembers the first response.
async fn greet(ctx: ToolContext<'_>) -> Result<ToolOutput<'_, Parts<'_>>, ToolError<'static>> {
    let guest;
    let name = match ctx.request_state_as::<Asked<'_>>()? {
        Some(Asked { name }) => name,
        None => {
            let form = InputRequest::form::<Guest<'_>>("Who are you?");
            guest = ctx.request_input("guest", form).await?;
            let Some(Guest { name }) = guest.to_form()? else { return Ok("Hello".into()) };
            name
        }
    };
    ctx.set_request_state_as(&Asked { name })?;
    let form = InputRequest::form::<Home<'_>>("Where do you live?");
    let home = ctx.request_input("home", form).await?;
    Ok(match home.to_form()? {
        Some(Home { town }) => format!("Hello, {name} of {town}").into(),
        None => format!("Hello, {name}").into(),
    })
}

/// Returns its results at once.
#[derive(Default)]
pub(crate) struct Fast {
    pub(crate) calls: u32,
}

impl ToolHandler for Fast {
    type Tools = Call<'static>;
    type Output<'a> = Parts<'a>;

    fn call<'a>(&mut self, call: Call<'a>, ctx: ToolContext<'a>) -> ToolResult<'a, Parts<'a>> {
        self.calls += 1;
        match call {
            Call::Split { text } => split(text),
            Call::Copy { blocks } => Ok(format!("{blocks} blocks are copied").into()),
            Call::Fail { how } => Err(fail(how)),
            Call::Count => Ok(self.calls.to_string().into()),
            Call::Greet => ctx.at_once(greet(ctx)),
        }
    }
}

/// Takes time, and tells the client what it does.
#[derive(Default)]
pub(crate) struct Slow {
    pub(crate) calls: Cell<u32>,
}

impl AsyncToolHandler for Slow {
    type Tools = Call<'static>;
    type Output<'a> = Parts<'a>;

    async fn call<'a>(&'a self, call: Call<'a>, ctx: ToolContext<'a>) -> ToolResult<'a, Parts<'a>> {
        self.calls.set(self.calls.get() + 1);
        yield_now().await;
        match call {
            Call::Split { text } => split(text),
            Call::Copy { blocks } => {
                for block in 1..=blocks {
                    ctx.progress(&Progress::of(block).total(blocks)).await?;
                    ctx.log(&LogMessage::new(LoggingLevel::Info, "copied")).await?;
                    yield_now().await;
                }
                Ok(format!("{blocks} blocks are copied").into())
            }
            Call::Fail { how } => Err(fail(how)),
            Call::Count => Ok(self.calls.get().to_string().into()),
            Call::Greet => greet(ctx).await,
        }
    }
}
