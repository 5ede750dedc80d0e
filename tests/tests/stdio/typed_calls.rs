//! Typed calls of a client, against tools that are types, in all revisions.

use mcp_sansio::typed::{Input, Output, ToolCall, Tools};
use mcp_sansio::types::Text;
use mcp_sansio::{Catalog, ClientConfig, Era, Revision, Revisions, ToolOutput, ToolResult};
use mcp_sansio_adapters::blocking::App;
use mcp_sansio_adapters::blocking::client::{CallError, Client, Error, ToolCallError};

use super::{CLIENT, SERVER};

static CATALOG: Catalog = Catalog::new().tools_of::<Called>();
static OLDEST: ClientConfig = CLIENT.revisions(Revisions::only(Revision::V2024_11_05));

/// The tools of the server.
#[derive(Tools)]
enum Called<'a> {
    /// Divides.
    #[tool(returns = Quotient<'static>)]
    Divide {
        #[arg(range = -1000..=1000)]
        dividend: i64,
        divisor: i64,
        unit: Option<Text<'a>>,
    },
    /// Says something.
    Say,
    /// Returns something else.
    Lie,
}

#[derive(Input, Output, Debug, PartialEq)]
struct Quotient<'a> {
    quotient: i64,
    unit: Option<Text<'a>>,
}

/// The same tool, for the client.
#[derive(Output, ToolCall)]
#[tool(returns = Quotient<'static>)]
struct Divide<'a> {
    dividend: i64,
    divisor: i64,
    unit: Option<&'a str>,
}

#[derive(Output, ToolCall)]
#[tool(returns = Quotient<'static>)]
struct Say {}

#[derive(Output, ToolCall)]
#[tool(name = "lie", returns = Quotient<'static>)]
struct AskForALie {}

fn serve(called: Called<'_>) -> ToolResult<'_, Quotient<'_>> {
    match called {
        Called::Divide { dividend, divisor, unit } => {
            let quotient = dividend.checked_div(divisor).ok_or("a number has no 0th part")?;
            Ok(ToolOutput::Structured(Quotient { quotient, unit }))
        }
        Called::Say => Ok("just text".into()),
        Called::Lie => Ok(ToolOutput::text(r#"{"quotient": "many"}"#)),
    }
}

fn client(config: &'static ClientConfig<'static>, era: Era) -> Client<'static> {
    let server = App::new(&SERVER).catalog(&CATALOG).memory(|ctx| {
        let Some(called) = ctx.call()? else { return Ok(()) };
        let (request, result) = (*ctx.request()?, serve(called));
        ctx.connection()
            .send(|server, tx| mcp_sansio::Outcome::send(&result, server, request.handle, tx))
    });
    server.connect(config, era).unwrap()
}

#[test]
fn arguments_and_output_are_types_in_every_revision() {
    for (config, era) in [(&CLIENT, Era::Legacy), (&CLIENT, Era::Modern), (&OLDEST, Era::Legacy)] {
        let mut client = client(config, era);
        let divided =
            client.call(&Divide { dividend: 7, divisor: 2, unit: Some("\"m\"") }).unwrap();
        let expected = Quotient { quotient: 3, unit: Some(Text::new("\"m\"")) };
        assert_eq!(divided.output().unwrap(), expected, "{:?}", client.era());
        assert!(divided.result().as_json().as_str().contains("content"));
    }
}

#[test]
fn failures_are_told_apart() {
    for era in Era::ALL {
        let mut client = client(&CLIENT, era);
        let error = client.call(&Divide { dividend: 7, divisor: 0, unit: None }).unwrap_err();
        assert!(
            matches!(&error, Error::Call { error: CallError::ToolCall(ToolCallError::Failed { why }), .. } if why == "a number has no 0th part")
        );
        assert_eq!(error.to_string(), "the tool failed: a number has no 0th part");

        let error = client.call(&Divide { dividend: 7000, divisor: 1, unit: None }).unwrap_err();
        let words = "dividend: must be an integer from -1000 to 1000, is 7000";
        assert!(error.to_string().contains(words), "{error}");

        let error = client.call(&Say {}).unwrap_err();
        let words = "`say`: the result of the tool has no structured content";
        assert_eq!(error.to_string(), words);

        // Text that is an object counts, and is checked.
        let error = client.call(&AskForALie {}).unwrap_err();
        let words = "`lie`: the structured content is invalid: quotient: must be an integer";
        assert!(error.to_string().starts_with(words), "{error}");
        assert!(error.to_string().ends_with("is \"many\""), "{error}");
    }
}
