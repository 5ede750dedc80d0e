//! `database-server`: serves a database on standard input and output.

mod database;
#[cfg(test)]
mod tests;

use mcp_sansio::typed::{AsyncToolHandler, Output, Prompts, Tools};
use mcp_sansio::types::{Implementation, LoggingLevel, ResourceTemplate};
use mcp_sansio::{
    Catalog, LogMessage, NoOutput, OrToolError as _, Progress, ServerConfig, ServerFeatures,
    Target, ToolContext, ToolOutput, ToolResult, entries,
};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use mcp_sansio_adapters::observer::StderrObserver;

use database::{Database, Found};

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("database-server", env!("CARGO_PKG_VERSION")),
    CATALOG.features().with(ServerFeatures::COMPLETIONS).with(ServerFeatures::LOGGING),
);
static CATALOG: Catalog<'_> =
    Catalog::new().tools_of::<Call>().prompts_of::<Ask>().templates(entries![
        ResourceTemplate::new("table://{table}", "rows")
            .description("All rows of a table")
            .mime_type("application/json"),
    ]);

#[derive(Tools)]
pub enum Call {
    /// Runs a query.
    #[tool(read_only, returns = Found)]
    Query {
        /// `SELECT columns FROM tables [WHERE column = value]`
        #[arg(length = 1..=2000)]
        sql: String,
        /// Maximum number of rows
        #[arg(range = 1..=1000, default = 100)]
        limit: usize,
    },
    /// Lists the tables.
    #[tool(read_only, returns = Names)]
    Tables,
    /// Lists the columns of a table.
    #[tool(read_only, returns = Names)]
    Describe { table: String },
}

#[derive(Output)]
struct Names {
    names: Vec<&'static str>,
}

#[derive(Prompts)]
enum Ask {
    /// Asks for a summary of a table.
    Summarize { table: String },
}

impl AsyncToolHandler for Database {
    type Tools = Call;
    type Output<'a> = NoOutput;

    async fn call<'a>(&'a self, call: Call, ctx: ToolContext<'a>) -> ToolResult<'a> {
        let names = match call {
            Call::Query { sql, limit } => {
                ctx.log(&LogMessage::new(LoggingLevel::Info, &sql)).await?;
                let (database, (sender, steps)) = (self.clone(), smol::channel::bounded(1));
                // A call that is cancelled is dropped, which closes the channel.
                let goes_on = move |done| sender.send_blocking(done).is_ok();
                let query = smol::unblock(move || database.select(&sql, limit, goes_on));
                while let Ok(done) = steps.recv().await {
                    ctx.progress(&Progress::of(done)).await?;
                }
                return Ok(ToolOutput::boxed(query.await?));
            }
            Call::Tables => self.tables(),
            Call::Describe { table } => self.columns(&table).ok_or("There is no such table")?,
        };
        Ok(ToolOutput::boxed(Names { names }))
    }
}

async fn handle(ctx: Context, database: &Database) -> HandlerResult {
    match ctx.target() {
        Target::Tool(_) => ctx.call_async_tool(database).await,
        Target::Prompt(_) => {
            let Ask::Summarize { table } = ctx.prompt()?;
            ctx.text(&format!("Query the table {table} and summarize it"))
        }
        Target::Template(_) => {
            let rows = database.rows(&ctx.variable("table")).ok_or(ctx.resource_not_found())?;
            ctx.text(&serde_json::to_string(rows).or_internal()?)
        }
        _ => ctx.complete(|_| database.tables()),
    }
}

fn main() -> std::io::Result<()> {
    let database = Database::sample();
    let app = App::new(&CONFIG, |ctx| handle(ctx, &database)).catalog(&CATALOG);
    smol::block_on(app.observer(StderrObserver::new()).serve_stdio()) // clients keep it as the log
}
