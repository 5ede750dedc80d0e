//! Typed calls, against tools that are types.

use futures_lite::future;
use mcp_sansio::typed::{AsyncToolHandler, Input, Output, ToolCall, Tools};
use mcp_sansio::{Catalog, ToolContext, ToolOutput, ToolResult};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, Connector, ToolCallError};
use mcp_sansio_adapters::asynchronous::{App, Context};

use crate::script::run;
use crate::{CLIENT, LEGACY, MODERN};

static CATALOG: Catalog<'_> = Catalog::new().calls::<Called>();

/// The tools of the server.
#[derive(Tools)]
enum Called {
    /// Divides.
    #[tool(returns = Quotient)]
    Divide {
        #[arg(range = -1000..=1000)]
        dividend: i64,
        divisor: i64,
    },
}

#[derive(Input, Output, Debug, PartialEq)]
struct Quotient {
    quotient: i64,
}

struct Arithmetic;

impl AsyncToolHandler for Arithmetic {
    type Tools = Called;
    type Output<'a> = Quotient;

    async fn call<'a>(&'a self, called: Called, _: ToolContext<'a>) -> ToolResult<'a, Quotient> {
        let Called::Divide { dividend, divisor } = called;
        future::yield_now().await;
        let quotient = dividend.checked_div(divisor).ok_or("a number has no 0th part")?;
        Ok(ToolOutput::Structured(Quotient { quotient }))
    }
}

/// The same tool, for the client.
#[derive(Output, ToolCall)]
#[tool(returns = Quotient)]
struct Divide {
    dividend: i64,
    divisor: i64,
}

async fn divide(client: &Client) {
    let divided = client.call(&Divide { dividend: 7, divisor: 2 }).await.unwrap();
    assert_eq!(divided.output().unwrap(), Quotient { quotient: 3 });

    let error = client.call(&Divide { dividend: 7, divisor: 0 }).await.unwrap_err();
    let failed = ToolCallError::Failed { why: "a number has no 0th part".to_owned() };
    assert!(matches!(&error, CallError::ToolCall(error) if *error == failed), "{error}");

    let error = client.call(&Divide { dividend: 7000, divisor: 1 }).await.unwrap_err();
    assert!(
        error.to_string().contains("dividend: must be an integer from -1000 to 1000, is 7000"),
        "{error}"
    );
}

#[test]
fn arguments_and_output_are_types_in_both_eras() {
    for config in [&MODERN, &LEGACY] {
        let app = App::new(config, async |ctx: Context| ctx.call_async_tool(&Arithmetic).await)
            .catalog(&CATALOG);
        run(app.memory(Connector::new(&CLIENT), async |client| divide(&client).await));
    }
}
