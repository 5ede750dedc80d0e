//! A protected server, for tests with authorization servers and clients that are not ours.
//!
//!     resource-server ISSUER [ID SECRET]
//!
//! Prints its URL first. It accepts the JWTs of `ISSUER`, or with `ID` and `SECRET` what `ISSUER`
//! says about a token. `whoami` takes the scope `mcp:tools`, `write` `mcp:write` too; both say
//! whose token the call came with.

use std::env;
use std::io;
use std::net::TcpListener;

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::asynchronous::http::tokens::{Dpop, Introspection, Jwt};
use mcp_sansio_adapters::asynchronous::http::{HttpOptions, ProtectedResource, serve};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use smol::Async;

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("resource-server", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog<'_> = Catalog::new().tools(entries![
    Tool::new("whoami", SCHEMA).scopes("mcp:tools"),
    Tool::new("write", SCHEMA).scopes("mcp:tools mcp:write"),
]);
const SCHEMA: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);

async fn say(ctx: Context) -> HandlerResult {
    let said = ctx.principal().map(|who| format!("{}: {}", who.subject, who.scopes));
    ctx.reply(&TextResult::new(&said.unwrap_or_default()))
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
    let url = format!("http://{}/mcp", listener.get_ref().local_addr()?);
    let [issuer, credentials @ ..] = &arguments[..] else {
        return Err(io::Error::other("usage: resource-server ISSUER [ID SECRET]"));
    };
    let resource = ProtectedResource::new(&url, issuer)
        .scopes(["mcp:tools", "mcp:write"])
        .dpop(["ES256", "EdDSA"]);
    // Clients learn of a tool here, and then ask for its scope.
    let options = HttpOptions { lists_unpermitted: true, ..HttpOptions::new() };
    let options = options.protected_resource(resource);
    // Proofs need a nonce of ours, so that clients have to ask for one.
    let scope = Some("mcp:tools".into());
    let dpop = Some(Dpop { nonces: Some([7; 32]), ..Dpop::new() });
    let options = match credentials {
        [id, secret] => {
            let check = Introspection::new(issuer, &url, id, secret);
            options.authorize(Introspection { scope, dpop, ..check })
        }
        _ => options.authorize(Jwt { scope, dpop, ..Jwt::new(issuer, &url) }),
    };
    println!("{url}");
    smol::block_on(serve(&App::new(&CONFIG, say).catalog(&CATALOG), listener, options))
}
