//! The server as a service of tower, without sockets.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{Request, Response, Version};
use http_body_util::{BodyExt as _, Full};
use mcp_sansio_adapters::asynchronous::Limits;
use mcp_sansio_adapters::asynchronous::http::{HttpOptions, HttpServer, ResponseBody};
use mcp_sansio_programs::everything_server;
use serde_json::{Value, json};
use tower_service::Service;

const LIMIT: Duration = Duration::from_millis(500);

/// Runs a server beside `client`, shuts it down, and waits for its end.
async fn beside(options: HttpOptions, client: impl AsyncFnOnce(HttpServer, &dyn Fn())) {
    let app = everything_server::app().limits(Limits { shutdown_timeout: LIMIT, ..Limits::new() });
    let server = HttpServer::new(&app, options).unwrap();
    let shut_down = || app.broadcaster().shut_down();
    let client = async {
        client(server.clone(), &shut_down).await;
        shut_down();
    };
    tokio::join!(server.run(&app), client);
}

async fn send<B>(server: &HttpServer, request: Request<B>) -> Response<ResponseBody>
where
    HttpServer: Service<Request<B>, Response = Response<ResponseBody>, Error = Infallible>,
{
    server.clone().call(request).await.unwrap()
}

async fn text(body: ResponseBody) -> String {
    String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

fn post(body: &Value, fields: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(Full::from(body.to_string())).unwrap()
}

/// A call of 2026-07-28.
fn call(tool: &str, arguments: &Value) -> Request<Full<Bytes>> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    post(
        &body,
        &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)],
    )
}

async fn session(server: &HttpServer) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let response = send(server, post(&body, &[])).await;
    response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn b2_arguments_that_the_schema_does_not_allow_are_refused() {
    beside(HttpOptions::new(), async |server, _| {
        for (arguments, wrong) in [
            (json!({"seconds": "x"}), "seconds"),
            (json!({"seconds": -1}), "seconds"),
            (json!({}), "seconds"),
            (json!({"seconds": 0, "name": 5}), "name"),
        ] {
            let body = text(send(&server, call("slow", &arguments)).await.into_body()).await;
            assert!(body.contains(r#""isError":true"#) && body.contains(wrong), "{body}");
        }
        let body = text(send(&server, call("slow", &json!({"seconds": 0}))).await.into_body());
        assert!(body.await.contains("That took 0 seconds"));
    })
    .await;
}

#[tokio::test]
async fn calls_finish_until_the_limit_of_a_shutdown_and_streams_end() {
    beside(HttpOptions::new(), async |server, shut_down| {
        let id = session(&server).await;
        let stream = Request::get("/mcp")
            .header("host", "localhost")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &id)
            .body(Full::<Bytes>::default());
        let stream = send(&server, stream.unwrap()).await;
        let [short, long] = [json!({"seconds": 0.2}), json!({"seconds": 3600})]
            .map(|arguments| server.clone().call(call("slow", &arguments)));
        let begun = Instant::now();
        let ended = async {
            // Both have begun.
            tokio::time::sleep(Duration::from_millis(100)).await;
            shut_down();
            let refused = send(&server, call("test_simple_text", &json!({}))).await;
            assert_eq!(refused.status(), 503);
            assert_eq!(refused.headers()["retry-after"], "5");
            let events = text(stream.into_body()).await;
            assert!(events.ends_with("retry: 1000\n\n"), "{events}");
            begun.elapsed()
        };
        let short = async { text(short.await.unwrap().into_body()).await };
        let long = async {
            let body = long.await.unwrap().into_body().collect().await;
            (body.map(|body| body.to_bytes()), begun.elapsed())
        };
        let (ended, short, (long, cut)) = tokio::join!(ended, short, long);
        assert!(short.contains("That took 0.2 seconds"), "{short}");
        assert!(ended < LIMIT, "{ended:?}");
        assert!(cut >= LIMIT && cut < LIMIT * 4, "{cut:?}: {long:?}");
        assert!(!format!("{long:?}").contains("That took"), "{long:?}");
    })
    .await;
}

#[tokio::test]
async fn a_request_of_http_2_has_its_host_in_the_target() {
    beside(HttpOptions::new(), async |server, _| {
        for (host, status) in [("localhost:8080", 200), ("evil.example.com", 403)] {
            let mut request = call("test_simple_text", &json!({}));
            *request.version_mut() = Version::HTTP_2;
            *request.uri_mut() = format!("https://{host}/mcp").parse().unwrap();
            request.headers_mut().remove("host");
            assert_eq!(send(&server, request).await.status(), status, "{host}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_body_is_read_in_pieces_and_its_error_ends_the_exchange() {
    beside(HttpOptions::new(), async |server, _| {
        let (head, body) = call("test_simple_text", &json!({})).into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let of = |end: Option<&'static str>| {
            let pieces = bytes.chunks(7).map(|piece| Ok(Bytes::copy_from_slice(piece)));
            let cut = pieces.len() - usize::from(end.is_some());
            let pieces: Vec<_> = pieces.take(cut).chain(end.map(Err)).collect();
            Body::from_stream(futures_lite::stream::iter(pieces))
        };
        let whole = send(&server, Request::from_parts(head.clone(), of(None))).await;
        assert!(text(whole.into_body()).await.contains("This is a simple text"));
        let lost = send(&server, Request::from_parts(head, of(Some("lost")))).await;
        assert_eq!(lost.status(), 400);
        assert_eq!(text(lost.into_body()).await, "");
    })
    .await;
}
