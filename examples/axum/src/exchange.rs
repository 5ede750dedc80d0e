//! One POST and its response: two tools, one of them slow.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::body::Body;
use futures_util::stream;
use mcp_sansio::http::server::OutgoingResponse;
use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{
    Catalog, Delivery, ExchangeId, Messages, Progress, RawJson, Request, RequestHandle, Revision,
    SendError, ServerConfig, ServerEvent, ServerFeatures, ServerState, Target, TxBuffer, entries,
};

static CONFIG: ServerConfig =
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

/// The server of one POST, and its output.
pub struct Exchange {
    state: ServerState<1, 0>,
    tx: TxBuffer<Vec<u8>>,
    begun: Instant,
    count: Option<Count>,
}

/// The state of a running tool.
struct Count {
    request: RequestHandle,
    at: u32,
    to: u32,
}

impl Exchange {
    /// Id of the only exchange of the server.
    pub const ID: ExchangeId = ExchangeId::new(1);

    /// Creates a server for a modern client, or for a legacy one without a session.
    pub fn new(legacy: Option<Revision>) -> Self {
        let mut state = ServerState::new();
        if let Some(revision) = legacy {
            state.server(&CONFIG).start_legacy(revision);
        }
        // The output of these tools fits.
        Self {
            state,
            tx: TxBuffer::for_http_response(Vec::new(), 4 << 20),
            begun: Instant::now(),
            count: None,
        }
    }

    /// Reads the request. The first frame of the output decides the response; an event stream
    /// continues from there.
    pub async fn begin(
        mut self,
        messages: &mut Messages<'_>,
    ) -> Result<(OutgoingResponse, Body), SendError> {
        let mut has_fault = false;
        let now = self.now();
        while let Some(event) =
            self.state.server(&CONFIG).next_event(now, messages, &mut self.tx)?
        {
            has_fault |= matches!(event, ServerEvent::Violation(_));
            if let ServerEvent::Request(request) = event {
                self.answer(&request)?;
            }
        }
        while self.tx.http_response().is_none() && self.step().await? {}
        let reply = self.tx.http_response().unwrap_or(if has_fault {
            OutgoingResponse::empty(400)
        } else {
            OutgoingResponse::ACCEPTED
        });
        let said = self.said();
        let body = if self.count.is_none() {
            Body::from(said)
        } else {
            Body::from_stream(self.stream(said))
        };
        Ok((reply, body))
    }

    fn answer(&mut self, request: &Request<'_>) -> Result<(), SendError> {
        let Target::Tool(tool) =
            CATALOG.respond(&mut self.state.server(&CONFIG), request, &mut self.tx)?
        else {
            return Ok(());
        };
        let arguments = request.arguments();
        if tool.key == "count" {
            // The schema permits 1 to 100; 5.0 is an integer too.
            let to = arguments.get("to").and_then(RawJson::as_f64).map_or(1, |to| to as u32);
            self.count = Some(Count { request: request.handle, at: 0, to });
            return Ok(());
        }
        let text =
            arguments.get("text").and_then(RawJson::as_string).map(Text::from).unwrap_or_default();
        self.state.server(&CONFIG).respond(request.handle, &TextResult::from(text), &mut self.tx)
    }

    /// Runs a step of the slow tool; returns `false` when it has ended.
    async fn step(&mut self) -> Result<bool, SendError> {
        let now = self.now();
        let Some(count) = &mut self.count else { return Ok(false) };
        tokio::time::sleep(Duration::from_millis(100)).await;
        count.at += 1;
        let progress = Progress::of(count.at).total(count.to);
        let delivery =
            self.state.server(&CONFIG).progress(now, count.request, &progress, &mut self.tx)?;
        let is_done = count.at == count.to;
        if is_done {
            let text = format!("counted to {}", count.to);
            self.state.server(&CONFIG).respond(
                count.request,
                &TextResult::new(&text),
                &mut self.tx,
            )?;
        }
        if is_done || delivery == Delivery::Gone {
            self.count = None;
        }
        Ok(true)
    }

    fn stream(
        self,
        said: Vec<u8>,
    ) -> impl futures_util::Stream<Item = Result<Vec<u8>, Infallible>> {
        stream::unfold((self, Some(said)), async |(mut this, first)| {
            if let Some(said) = first {
                return Some((Ok(said), (this, None)));
            }
            match this.step().await {
                Ok(true) => Some((Ok(this.said()), (this, None))),
                Ok(false) | Err(_) => None,
            }
        })
    }

    fn said(&mut self) -> Vec<u8> {
        let said = self.tx.pending().to_vec();
        self.tx.advance(said.len());
        said
    }

    fn now(&self) -> mcp_sansio::Instant {
        mcp_sansio::Instant::from_millis(self.begun.elapsed().as_millis() as u64)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use mcp_sansio::Frame;

    use super::*;

    async fn call(tool_and_arguments: &str) -> String {
        let asked = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{tool_and_arguments}}}"#
        );
        let mut messages = Messages::new(Frame::Complete(asked.as_bytes()));
        let (_, body) =
            Exchange::new(Some(Revision::V2025_11_25)).begin(&mut messages).await.unwrap();
        String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn b2_arguments_that_the_schema_does_not_allow_are_refused() {
        for (asked, argument) in [
            (r#"{"name":"count","arguments":{"to":"x"}}"#, "to"),
            (r#"{"name":"count","arguments":{"to":0}}"#, "to"),
            (r#"{"name":"count","arguments":{}}"#, "to"),
            (r#"{"name":"echo","arguments":{"text":5}}"#, "text"),
        ] {
            let answer = call(asked).await;
            assert!(
                answer.contains(r#""isError":true"#) && answer.contains(argument),
                "{asked}: {answer}"
            );
        }
        assert!(call(r#"{"name":"count","arguments":{"to":2.0}}"#).await.contains("counted to 2"));
    }
}
