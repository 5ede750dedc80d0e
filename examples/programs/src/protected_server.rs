//! A server that keeps a diary for each user, and knows users by their tokens:
//! `protected-server ADDRESS ISSUER [RESOURCE]`

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::net::{SocketAddr, TcpListener};

use mcp_sansio::typed::{AsyncToolHandler, Tools};
use mcp_sansio::types::Implementation;
use mcp_sansio::{Catalog, NoOutput, ServerConfig, ToolContext, ToolResult};
use mcp_sansio_adapters::asynchronous::http::tokens::{Dpop, Jwt};
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions, ProtectedResource};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use smol::Async;

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("diary", "0.1.0"), CATALOG.features());
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Returns your diary.
    #[tool(scopes("diary:read"))]
    Read,
    /// Adds a line to your diary.
    #[tool(scopes("diary:write"))]
    Write { text: String },
}

/// The lines of each user.
type Diaries = RefCell<BTreeMap<String, Vec<String>>>;

struct Diary<'d> {
    owner: &'d str,
    all: &'d Diaries,
}

impl AsyncToolHandler for Diary<'_> {
    type Tools = Call;
    type Output<'a>
        = NoOutput
    where
        Self: 'a;

    async fn call<'a>(&'a self, call: Call, _: ToolContext<'a>) -> ToolResult<'a> {
        let mut all = self.all.borrow_mut();
        let lines = all.entry(self.owner.to_owned()).or_default();
        if let Call::Write { text } = call {
            lines.push(text);
        }
        Ok(lines.join("\n").into())
    }
}

async fn handle(ctx: Context, all: &Diaries) -> HandlerResult {
    let owner = ctx.principal().ok_or("nobody is logged in")?.subject.clone();
    ctx.call_async_tool(&Diary { owner: &owner, all }).await
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, issuer, resource @ ..] = &arguments[..] else {
        return Err("usage: protected-server ADDRESS ISSUER [RESOURCE]".into());
    };
    let address: SocketAddr = address.parse().map_err(|error| format!("{address}: {error}"))?;
    let listener =
        Async::<TcpListener>::bind(address).map_err(|error| format!("{address}: {error}"))?;
    let resource = match resource {
        [] => format!("http://{}/mcp", listener.get_ref().local_addr()?),
        [resource, ..] => resource.clone(),
    };
    let metadata = ProtectedResource::new(&resource, issuer).scopes(["diary:read", "diary:write"]);
    let jwt = Jwt {
        scope: Some("diary:read".into()),
        dpop: Some(Dpop::new()),
        ..Jwt::new(issuer, &resource)
    };
    smol::block_on(async {
        jwt.fetch_keys().await?;
        eprintln!("protected-server: listening on {resource}");
        // A client that knows of a tool can ask for its scope.
        let options = HttpOptions { lists_unpermitted: true, ..HttpOptions::new() };
        let options = options.protected_resource(metadata).authorize(jwt);
        let diaries = Diaries::default();
        let app = App::new(&CONFIG, |ctx| handle(ctx, &diaries)).catalog(&CATALOG);
        Ok(http::serve(&app, listener, options).await?)
    })
}
