//! Reference server on the official Rust SDK, in both eras: over stdio, or with `--http PORT` over
//! Streamable HTTP.

#![expect(
    deprecated,
    reason = "sampling, roots, logging and legacy subscriptions are meant to be tried"
)]

mod offer;

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use offer::{COUNTER, Offer, complete, str_of, text, typed, unknown};
use rmcp::model::*;
use rmcp::service::{RequestContext, ServiceError, SubscriptionContext, SubscriptionSink};
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

type Context = RequestContext<RoleServer>;

const RETRY: Duration = Duration::from_millis(100);

/// Handler of one session.
struct Reference {
    offer: Arc<Mutex<Offer>>,
    modern: Arc<Modern>,
    sessions: Arc<LocalSessionManager>,
}

/// State shared by all requests of 2026-07-28, which has no sessions over HTTP. Over stdio the
/// state is the connection's.
#[derive(Default)]
struct Modern {
    offer: Arc<Mutex<Offer>>,
    /// Open `subscriptions/listen` streams; sending to a closed one fails.
    sinks: Mutex<Vec<SubscriptionSink>>,
    /// Streams that the SDK acknowledges, but that have not reached `listen` yet.
    opening: AtomicUsize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let modern = Arc::new(Modern::default());
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--http", port] => serve_http(modern, port.parse()?).await,
        _ => {
            let offer = Arc::clone(&modern.offer);
            Reference { offer, modern, sessions: Arc::default() }
                .serve(stdio())
                .await?
                .waiting()
                .await?;
            Ok(())
        }
    }
}

async fn serve_http(modern: Arc<Modern>, port: u16) -> Result<(), Box<dyn Error>> {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.sse_retry = Some(RETRY);
    let sessions = Arc::new(sessions);
    let for_handlers = Arc::clone(&sessions);
    let one = move || {
        let (modern, sessions) = (Arc::clone(&modern), Arc::clone(&for_handlers));
        Ok(Reference { offer: Arc::default(), modern, sessions })
    };
    let config = StreamableHttpServerConfig::default().with_sse_retry(Some(RETRY));
    let service = StreamableHttpService::new(one, sessions, config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

fn failed(error: impl Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Returns the client's result unchanged.
fn refused(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        other => failed(other),
    }
}

/// Returns the session id of the HTTP request, or an empty string.
fn session_id(context: &Context) -> &str {
    let head = context.extensions.get::<Parts>();
    head.and_then(|head| head.headers.get("mcp-session-id")?.to_str().ok()).unwrap_or_default()
}

fn is_modern(context: &Context) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn shown(tool: &str, answer: &Value) -> String {
    let texts = |list: &Value, member: &str| {
        let items = list.as_array().cloned().unwrap_or_default();
        let found: Vec<_> =
            items.iter().filter_map(|item| item[member].as_str().map(str::to_owned)).collect();
        found.join("\n")
    };
    match tool {
        "ask_model" => answer["content"]["text"]
            .as_str()
            .map_or_else(|| texts(&answer["content"], "text"), str::to_owned),
        "ask_user" if answer["action"] == "accept" => {
            format!("accept {}", answer["content"]["name"].as_str().unwrap_or_default())
        }
        "roots" => texts(&answer["roots"], "uri"),
        _ => answer["action"].as_str().unwrap_or_default().to_owned(),
    }
}

impl Reference {
    fn offer(&self, context: &Context) -> MutexGuard<'_, Offer> {
        let offer = if is_modern(context) { &self.modern.offer } else { &self.offer };
        offer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sinks(&self) -> MutexGuard<'_, Vec<SubscriptionSink>> {
        self.modern.sinks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a tool that needs input from the client: an input-required result since 2026-07-28, a
    /// request before.
    async fn ask(
        &self,
        params: &CallToolRequestParams,
        arguments: &Value,
        context: &Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = params.name.as_ref();
        let wanted = self.question(tool, arguments, context)?;
        if !is_modern(context) {
            let peer = &context.peer;
            let answer = match tool {
                "ask_model" => json!(
                    peer.create_message(typed(wanted["params"].clone())?).await.map_err(refused)?
                ),
                "roots" => json!(peer.list_roots().await.map_err(refused)?),
                _ => json!(
                    peer.create_elicitation(typed(wanted["params"].clone())?)
                        .await
                        .map_err(refused)?
                ),
            };
            if tool == "ask_url" && answer["action"] == "accept" {
                let done = json!({ "elicitationId": wanted["params"]["elicitationId"] });
                // The SDK has no type for this result.
                let done =
                    CustomNotification::new("notifications/elicitation/complete", Some(done));
                peer.send_notification(ServerNotification::CustomNotification(done))
                    .await
                    .map_err(failed)?;
            }
            return complete::<CallToolResult>(text(&shown(tool, &answer))).map(Into::into);
        }
        let state = format!("{tool}-1");
        let Some(answers) = &params.input_responses else {
            let mut requests = InputRequests::new();
            requests.insert("answer".into(), typed(wanted)?);
            return Ok(InputRequiredResult::new(Some(requests), Some(state)).into());
        };
        if params.request_state.as_ref() != Some(&state) {
            return Err(ErrorData::invalid_params(
                format!("requestState is {:?}", params.request_state),
                None,
            ));
        }
        let answer = answers.get("answer").ok_or_else(|| unknown("no answer"))?;
        complete::<CallToolResult>(text(&shown(tool, answer))).map(Into::into)
    }

    fn question(
        &self,
        tool: &str,
        arguments: &Value,
        context: &Context,
    ) -> Result<Value, ErrorData> {
        let data = &self.offer(context).data;
        Ok(match tool {
            "ask_model" => {
                let question = json!({ "role": "user", "content": { "type": "text", "text": str_of(arguments, "prompt")? } });
                let params =
                    json!({ "messages": [question], "maxTokens": data["askModel"]["maxTokens"] });
                json!({ "method": "sampling/createMessage", "params": params })
            }
            "roots" => json!({ "method": "roots/list" }),
            _ => {
                let mut params =
                    data[if tool == "ask_user" { "askUser" } else { "askUrl" }].clone();
                params["mode"] = json!(if tool == "ask_user" { "form" } else { "url" });
                if is_modern(context)
                    && let Some(params) = params.as_object_mut()
                {
                    params.remove("elicitationId");
                }
                json!({ "method": "elicitation/create", "params": params })
            }
        })
    }

    async fn slow(&self, arguments: &Value, context: &Context) -> Result<Value, ErrorData> {
        let steps = arguments["steps"].as_u64().unwrap_or_default();
        let pause = Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default());
        for step in 1..=steps {
            tokio::select! {
                () = context.ct.cancelled() => {
                    self.offer(context).cancelled += 1;
                    break;
                }
                () = tokio::time::sleep(pause) => {}
            }
            self.progress(context, step, steps, Some(format!("step {step}"))).await?;
        }
        Ok(text("done"))
    }

    async fn progress(
        &self,
        context: &Context,
        step: u64,
        steps: u64,
        message: Option<String>,
    ) -> Result<(), ErrorData> {
        let Some(token) = context.meta.get_progress_token() else { return Ok(()) };
        let mut progress =
            ProgressNotificationParam::new(token, step as f64).with_total(steps as f64);
        progress.message = message;
        context.peer.notify_progress(progress).await.map_err(failed)
    }

    /// Closes all response streams of the session, which the client may resume: the SDK does not
    /// report the stream of a call.
    async fn hang_up(&self, context: &Context) -> Result<Value, ErrorData> {
        self.progress(context, 1, 2, None).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let session = self.sessions.sessions.read().await.get(session_id(context)).cloned();
        if let Some(session) = session {
            for stream in 0..1000 {
                let _ = session.close_sse_stream(stream, None).await;
            }
        }
        // The SDK drops a response that is sent while the stream is not connected.
        tokio::time::sleep(4 * RETRY).await;
        self.progress(context, 2, 2, None).await?;
        Ok(text("done"))
    }

    /// Returns the log level, which the SDK does not apply: the session's, or since 2026-07-28 the
    /// request's.
    async fn log(&self, arguments: &Value, context: &Context) -> Result<Value, ErrorData> {
        let level = str_of(arguments, "level")?;
        let least = match context.meta.log_level() {
            Some(asked) => json!(asked).as_str().map(str::to_owned),
            None if is_modern(context) => None,
            None => Some(self.offer(context).level.clone()),
        };
        if !least.is_some_and(|least| self.offer(context).passes(level, &least)) {
            return Ok(text("withheld"));
        }
        let message = json!({ "level": level, "logger": "offer", "data": arguments["text"] });
        context.peer.notify_logging_message(typed(message)?).await.map_err(failed)?;
        Ok(text("sent"))
    }

    async fn change(&self, arguments: &Value, context: &Context) -> Result<Value, ErrorData> {
        let what = str_of(arguments, "what")?;
        self.offer(context).change(what);
        if is_modern(context) {
            // The SDK acknowledges a subscription before it calls `listen`: changes in between must
            // not be lost.
            for _ in 0..100 {
                if self.modern.opening.load(Ordering::SeqCst) == 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            let sinks = self.sinks().clone();
            for sink in sinks {
                // Sending fails for a change that the subscription does not include, and after its
                // end.
                let _ = match what {
                    "tools" => sink.notify_tool_list_changed().await,
                    "resources" => sink.notify_resource_list_changed().await,
                    "prompts" => sink.notify_prompt_list_changed().await,
                    _ => sink.notify_resource_updated(COUNTER).await,
                };
            }
            return Ok(text("changed"));
        }
        let subscribed = self.offer(context).subscribed.contains(COUNTER);
        let peer = &context.peer;
        match what {
            "tools" => peer.notify_tool_list_changed().await,
            "resources" => peer.notify_resource_list_changed().await,
            "prompts" => peer.notify_prompt_list_changed().await,
            _ if subscribed => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(COUNTER)).await
            }
            _ => Ok(()),
        }
        .map_err(failed)?;
        Ok(text("changed"))
    }

    async fn ping_client(&self, context: &Context) -> Result<Value, ErrorData> {
        let ping = ServerRequest::PingRequest(PingRequest::default());
        context.peer.send_request(ping).await.map_err(refused)?;
        Ok(text("pong"))
    }
}

impl ServerHandler for Reference {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let data = Offer::default().data;
        let mut info = ServerConfig::new(capabilities);
        info.server_info = typed(data["serverInfo"].clone()).expect("offer.json has a serverInfo");
        info.instructions = data["instructions"].as_str().map(str::to_owned);
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        complete(json!({ "tools": self.offer(&context).list("tools") }))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = json!(params.arguments.clone().unwrap_or_default());
        let result = match params.name.as_ref() {
            "ask_model" | "ask_user" | "ask_url" | "roots" => {
                return self.ask(&params, &arguments, &context).await;
            }
            "slow" => self.slow(&arguments, &context).await?,
            "log" => self.log(&arguments, &context).await?,
            "change" => self.change(&arguments, &context).await?,
            "ping" => self.ping_client(&context).await?,
            "hang_up" => self.hang_up(&context).await?,
            "session" => text(session_id(&context)),
            name => self.offer(&context).call(name, &arguments)?,
        };
        complete::<CallToolResult>(result).map(Into::into)
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        complete(
            self.offer(&context)
                .resource_page(params.and_then(|params| params.cursor).as_deref())?,
        )
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        complete(json!({ "resourceTemplates": self.offer(&context).list("templates") }))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = self.offer(&context).read(&params.uri)?;
        complete::<ReadResourceResult>(json!({ "contents": [contents] })).map(Into::into)
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.offer(&context).subscribed.insert(params.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.offer(&context).subscribed.remove(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.modern.opening.fetch_add(1, Ordering::SeqCst);
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.sinks().push(context.sink().clone());
        self.modern.opening.fetch_sub(1, Ordering::SeqCst);
        context.cancelled().await;
        self.sinks().retain(|sink| sink.id() != context.sink().id());
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        complete(json!({ "prompts": self.offer(&context).list("prompts") }))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = json!(params.arguments.unwrap_or_default());
        complete::<GetPromptResult>(self.offer(&context).prompt(&params.name, &arguments)?)
            .map(Into::into)
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        complete(self.offer(&context).complete(&params.argument.name, &params.argument.value))
    }

    async fn set_level(
        &self,
        params: SetLevelRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.offer(&context).level = json!(params.level).as_str().unwrap_or_default().to_owned();
        Ok(())
    }
}
