//! A client and a server in memory: for tests.

use std::future::{Future, pending};

use futures_lite::future;

use super::client::{Client, Connector};
use super::server::Incoming;
use super::{App, Context, IntoReply, JoinedIo};
use crate::observer::Transport;

impl<H> App<H> {
    /// Serves one client in memory until `work` is done: for tests of an application, without a
    /// socket. The bytes are those of a real connection, 64 KiB in each direction at most. Time is
    /// that of the computer, unless a test pauses tokio's; `blocking::Memory` has virtual time.
    ///
    #[cfg_attr(feature = "smol", doc = "```")]
    #[cfg_attr(not(feature = "smol"), doc = "```ignore")]
    /// # use mcp_sansio::types::{Implementation, TextResult, Tool};
    /// # use mcp_sansio::{Catalog, ClientConfig, ClientFeatures, Era, RawJson, entries};
    /// # use mcp_sansio::{ServerConfig, ServerFeatures};
    /// # use mcp_sansio_adapters::asynchronous::{App, Context, client::{CallError, Connector}};
    /// # static SERVER: ServerConfig =
    /// #     ServerConfig::new(Implementation::new("clock", "0.1.0"), ServerFeatures::TOOLS);
    /// # static CATALOG: Catalog = Catalog::new()
    /// #     .tools(entries![Tool::new("time", RawJson::from_static(r#"{"type":"object"}"#))]);
    /// # static CLIENT: ClientConfig =
    /// #     ClientConfig::new(Implementation::new("test", "0.1.0"), ClientFeatures::NONE);
    /// // Responds to each call with the text "noon".
    /// let app = App::new(&SERVER, async |ctx: Context| ctx.reply(&TextResult::new("noon")))
    ///     .catalog(&CATALOG);
    /// for era in Era::ALL {
    ///     let connector = Connector::new(&CLIENT).era(era);
    ///     let called = app.memory(connector, async |client| {
    ///         client.call_tool("time", &RawJson::EMPTY).await
    ///     });
    ///     let result = async_io::block_on(called)?;
    ///     assert!(result.as_json().as_str().contains("noon"));
    /// }
    /// # Ok::<(), CallError>(())
    /// ```
    ///
    /// Not cancel safe: dropping the future drops `work` and the connection.
    pub async fn memory<F, R>(&self, connector: Connector, work: impl AsyncFnOnce(Client) -> R) -> R
    where
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let ((requests, to_server), (responses, to_client)) =
            (piper::pipe(CAPACITY), piper::pipe(CAPACITY));
        let (client, connection) = connector.connect(JoinedIo::new(responses, to_server));
        let server =
            Incoming::new(self, JoinedIo::new(requests, to_client), Transport::Memory, None)
                .serve();
        let serve = async {
            // The client learns from its connection how this ended.
            let _ = server.await;
            pending().await
        };
        future::or(connection.drive(work(client)), serve).await
    }
}

/// Number of bytes that wait in each direction.
const CAPACITY: usize = 64 << 10;
