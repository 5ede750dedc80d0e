//! The recipes of the guide, `docs/recipes.md`, which shows pieces of these files. Each runs here
//! as a client of each era sees it.

mod client;
mod http;
mod middleware;
mod server;

use std::fmt::Debug;
use std::io;
use std::net::{TcpListener, TcpStream};

use mcp_sansio::types::{
    CallToolResult, CreateMessageResult, ElicitResult, Implementation, InputRequest,
    ListRootsResult, Role, Root, SamplingMessageContent,
};
use mcp_sansio::{ClientConfig, ClientFeatures, Era, OwnedJson, RawJson};
use mcp_sansio_adapters::asynchronous::client::{Client, Connector};
use mcp_sansio_adapters::asynchronous::{App, Context, IntoReply};
use smol::Async;

static CONFIG: ClientConfig = ClientConfig::new(
    Implementation::new("test", "0.1.0"),
    ClientFeatures::ELICITATION_FORM.with(ClientFeatures::SAMPLING).with(ClientFeatures::ROOTS),
);

/// A client whose user and model answer everything.
fn connector(era: Era) -> Connector {
    Connector::new(&CONFIG).era(era).on_input_request(async |request| {
        match request.as_input_request() {
            InputRequest::Elicit(_) => {
                request.respond(&ElicitResult::accept(RawJson::from_static(r#"{"city":"Oslo"}"#)))
            }
            InputRequest::CreateMessage(_) => request.respond(&CreateMessageResult::new(
                Role::Assistant,
                SamplingMessageContent::text("It rains"),
                "a-model",
            )),
            InputRequest::ListRoots => {
                request.respond(&ListRootsResult::new(&[Root::new("file:///home/ada")]))
            }
            _ => request.refuse(),
        }
    })
}

/// Does `work` as a client of each era, and returns what both get.
fn each_era<H, F, R>(app: &App<H>, work: impl AsyncFn(Client) -> R) -> R
where
    H: Fn(Context) -> F,
    F: Future<Output: IntoReply>,
    R: PartialEq + Debug,
{
    let [legacy, modern] =
        Era::ALL.map(|era| smol::block_on(app.memory(connector(era), async |c| work(c).await)));
    assert_eq!(legacy, modern);
    modern
}

/// Returns the content of a result as a client reads it, for example `text: hello`.
fn content(result: &OwnedJson) -> String {
    let result: CallToolResult = result.to().unwrap();
    let blocks = result.content.iter().map(|block| {
        let block = block.unwrap();
        block.as_text().map_or_else(|| format!("{block:?}"), |text| text.to_string())
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// Returns two ends of a connection.
async fn pair() -> io::Result<(Async<TcpStream>, Async<TcpStream>)> {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
    let address = listener.get_ref().local_addr()?;
    let (ours, theirs) =
        smol::future::try_zip(Async::<TcpStream>::connect(address), listener.accept()).await?;
    Ok((ours, theirs.0))
}
