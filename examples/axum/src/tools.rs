//! Two tools, one of them slow: a task of tokio.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::http::site::{SiteRequest, SiteTurn};
use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{
    Catalog, Delivery, Outcome, OwnedRequest, Progress, RawJson, Request, RequestHandle, SendError,
    Server, ServerConfig, ServerFeatures, Target, Tx, entries,
};

use crate::exchange::Shared;

pub static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("axum-server", "0.1.0"), ServerFeatures::TOOLS)
        .progress_interval(Duration::ZERO);
static CATALOG: Catalog = Catalog::new().tools(entries![
    Tool::new("echo", RawJson::from_static(r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#))
        .description("Echoes the text"),
    Tool::new(
        "count",
        RawJson::from_static(
            r#"{"type":"object","properties":{"to":{"type":"integer","minimum":1,"maximum":100}},"required":["to"]}"#,
        ),
    )
    .description("Counts up, ten times a second, and reports progress"),
]);

/// Response to a request.
pub enum Reply {
    Text(String),
    /// A response of the catalog that is longer than the output buffer.
    Listed(Box<OwnedRequest>),
}

impl Outcome<Server<'_>> for Reply {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        match self {
            Self::Text(text) => server.respond(request, &TextResult::new(text), tx),
            Self::Listed(request) => CATALOG.respond(server, &request.as_request(), tx).map(|_| ()),
        }
    }
}

/// Handles a request.
pub fn handle(shared: &Arc<Shared>, request: &Request<'_>, turn: &mut SiteTurn<'_, Reply>) {
    let (mut server, tx) = turn.parts(request.handle);
    let tool = match CATALOG.respond(&mut server, request, tx) {
        Ok(Target::Tool(tool)) => tool,
        Ok(_) => return,
        Err(_) => {
            let listed = Reply::Listed(Box::new(OwnedRequest::from(request)));
            return turn.answer(request.handle, listed);
        }
    };
    let arguments = request.arguments();
    if tool.key() == "count" {
        // The schema permits 1 to 100; 5.0 is an integer too.
        let to = arguments.get("to").and_then(RawJson::as_f64).map_or(1, |to| to as u32);
        tokio::spawn(count(Arc::clone(shared), turn.request_key(request.handle), to));
        return;
    }
    let text =
        arguments.get("text").and_then(RawJson::as_string).map(Text::from).unwrap_or_default();
    turn.answer(request.handle, Reply::Text(text.to_string()));
}

/// Counts until the request ends: it is cancelled, or its client is gone.
async fn count(shared: Arc<Shared>, request: SiteRequest, to: u32) {
    for at in 1..=to {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let (delivery, _) = shared.with(|site, now| {
            let Some(mut turn) = site.turn(now, request.server) else { return Delivery::Gone };
            let (mut server, tx) = turn.parts(request.request);
            let progress = Progress::of(at).total(to);
            // Without room for it, the client gets the next one.
            server.progress(now, request.request, &progress, tx).unwrap_or(Delivery::Throttled)
        });
        if delivery == Delivery::Gone {
            return;
        }
    }
    shared.with(|site, _| site.answer(request, Reply::Text(format!("counted to {to}"))));
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::extract::Request;
    use axum::http::Response;
    use mcp_sansio::http::site::SiteOptions;

    use super::*;

    async fn post(shared: &Arc<Shared>, fields: &[(&str, &str)], body: &str) -> Response<Body> {
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        Arc::clone(shared).serve(request).await
    }

    async fn text(response: Response<Body>) -> String {
        String::from_utf8(to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()).unwrap()
    }

    async fn session(shared: &Arc<Shared>) -> String {
        let asked = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{
            "protocolVersion":"2025-11-25","capabilities":{},
            "clientInfo":{"name":"test","version":"1"}}}"#;
        let response = post(shared, &[], asked).await;
        response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
    }

    fn call(tool_and_arguments: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{tool_and_arguments}}}"#)
    }

    #[tokio::test]
    async fn b2_arguments_that_the_schema_does_not_allow_are_refused() {
        let shared = Shared::new(&CONFIG, SiteOptions::new());
        let id = session(&shared).await;
        for (asked, argument) in [
            (r#"{"name":"count","arguments":{"to":"x"}}"#, "to"),
            (r#"{"name":"count","arguments":{"to":0}}"#, "to"),
            (r#"{"name":"count","arguments":{}}"#, "to"),
            (r#"{"name":"echo","arguments":{"text":5}}"#, "text"),
        ] {
            let answer = text(post(&shared, &[("mcp-session-id", &id)], &call(asked)).await).await;
            assert!(
                answer.contains(r#""isError":true"#) && answer.contains(argument),
                "{asked}: {answer}"
            );
        }
        let asked = call(r#"{"name":"count","arguments":{"to":2.0}}"#);
        let answer = text(post(&shared, &[("mcp-session-id", &id)], &asked).await).await;
        assert!(answer.contains("counted to 2"), "{answer}");
    }

    #[tokio::test]
    async fn a_lost_stream_is_resumed_and_a_cancelled_call_ends() {
        let shared = Shared::new(&CONFIG, SiteOptions::new());
        let id = session(&shared).await;
        let own = [("mcp-session-id", id.as_str())];
        let asked = r#"{"name":"count","arguments":{"to":4},"_meta":{"progressToken":1}}"#;
        // The connection is lost with the body of the response.
        let lost = post(&shared, &own, &call(asked)).await;
        assert_eq!(lost.headers()["content-type"], "text/event-stream");
        drop(lost);
        let request = Request::get("/mcp")
            .header("host", "localhost")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &id)
            .header("last-event-id", "2-0")
            .body(Body::empty());
        let stream = text(Arc::clone(&shared).serve(request.unwrap()).await).await;
        assert_eq!(stream.matches("notifications/progress").count(), 4, "{stream}");
        assert!(stream.contains("counted to 4"));

        let calling = tokio::spawn({
            let (shared, id) = (Arc::clone(&shared), id.clone());
            let asked = call(r#"{"name":"count","arguments":{"to":100}}"#);
            async move { post(&shared, &[("mcp-session-id", &id)], &asked).await.status() }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert_eq!(post(&shared, &own, cancel).await.status(), 202);
        assert_eq!(calling.await.unwrap(), 202);
        assert_eq!(shared.with(|site, _| site.exchanges()).0, 0);
    }
}
