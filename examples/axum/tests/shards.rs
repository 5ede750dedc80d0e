//! A server on several threads behind axum, on tokio with many threads.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use axum::Router;
use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{ClientConfig, ClientFeatures, RawJson, ServerConfig, ServerFeatures};
use mcp_sansio_adapters::asynchronous::client::Connector;
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::http::{HttpOptions, HttpShards};
use mcp_sansio_adapters::asynchronous::{App, Context};
use tokio::net::TcpListener;

static SERVER: ServerConfig =
    ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS);
static CLIENT: ClientConfig =
    ClientConfig::new(Implementation::new("test", "1"), ClientFeatures::NONE);

#[tokio::test(flavor = "multi_thread")]
async fn axum_has_a_service_of_several_threads() {
    let app = Arc::new(App::new(&SERVER, |ctx: Context| async move {
        // The future is not `Send`.
        let thread = Rc::new(thread::current().id());
        tokio::task::yield_now().await;
        ctx.reply(&TextResult::new(&format!("{thread:?}")))
    }));
    let threads = NonZeroU32::new(3).unwrap();
    let shards = HttpShards::start(&app, threads, HttpOptions::new()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().route_service("/mcp", shards.clone());
    let served = tokio::spawn(axum::serve(listener, router).into_future());
    let (client, connection) = Connector::new(&CLIENT).connect(HttpTransport::new(&url).unwrap());
    let visit = async {
        let (no_arguments, mut answers) = (RawJson::from_static("{}"), BTreeSet::new());
        for _ in 0..9 {
            let result = client.call_tool("any", &no_arguments).await.unwrap();
            answers.insert(result.as_json().as_str().to_owned());
        }
        answers.len()
    };
    assert_eq!(connection.drive(visit).await, 3);
    app.broadcaster().shut_down();
    tokio::task::spawn_blocking(move || shards.join()).await.unwrap().unwrap();
    served.abort();
}
