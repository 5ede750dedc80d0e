//! The offer on the official Rust SDK, over stdio, in both eras.

#![expect(deprecated, reason = "sampling, roots, logging and legacy subscriptions are meant to be tried")]

mod offer;

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use offer::{COUNTER, Offer, complete, str_of, text, typed, unknown};
use rmcp::model::*;
use rmcp::service::{RequestContext, ServiceError, SubscriptionContext, SubscriptionSink};
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

type Context = RequestContext<RoleServer>;

struct Reference {
    offer: Mutex<Offer>,
    /// Open `subscriptions/listen` streams; closed ones refuse what is sent to them.
    sinks: Mutex<Vec<SubscriptionSink>>,
    /// Streams that are acknowledged, or soon will be, but have not reached `listen` yet.
    opening: AtomicUsize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Reference { offer: Mutex::new(Offer::new()), sinks: Mutex::default(), opening: AtomicUsize::new(0) };
    server.serve(stdio()).await?.waiting().await?;
    Ok(())
}

fn failed(error: impl Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// What the client answered, passed on as it is.
fn refused(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        other => failed(other),
    }
}

fn is_modern(context: &Context) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn shown(tool: &str, answer: &Value) -> String {
    let texts = |list: &Value, member: &str| {
        let items = list.as_array().cloned().unwrap_or_default();
        let found: Vec<_> = items.iter().filter_map(|item| item[member].as_str().map(str::to_owned)).collect();
        found.join("\n")
    };
    match tool {
        "ask_model" => answer["content"]["text"].as_str().map_or_else(|| texts(&answer["content"], "text"), str::to_owned),
        "ask_user" if answer["action"] == "accept" => {
            format!("accept {}", answer["content"]["name"].as_str().unwrap_or_default())
        }
        "roots" => texts(&answer["roots"], "uri"),
        _ => answer["action"].as_str().unwrap_or_default().to_owned(),
    }
}

impl Reference {
    fn offer(&self) -> MutexGuard<'_, Offer> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sinks(&self) -> MutexGuard<'_, Vec<SubscriptionSink>> {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tools that ask the client: an input-required result since 2026-07-28, a request before.
    async fn ask(
        &self,
        params: &CallToolRequestParams,
        arguments: &Value,
        context: &Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = params.name.as_ref();
        let wanted = self.question(tool, arguments, is_modern(context))?;
        if !is_modern(context) {
            let peer = &context.peer;
            let answer = match tool {
                "ask_model" => json!(peer.create_message(typed(wanted["params"].clone())?).await.map_err(refused)?),
                "roots" => json!(peer.list_roots().await.map_err(refused)?),
                _ => json!(peer.create_elicitation(typed(wanted["params"].clone())?).await.map_err(refused)?),
            };
            if tool == "ask_url" && answer["action"] == "accept" {
                let done = json!({ "elicitationId": wanted["params"]["elicitationId"] });
                // The SDK has no type for it.
                let done = CustomNotification::new("notifications/elicitation/complete", Some(done));
                peer.send_notification(ServerNotification::CustomNotification(done)).await.map_err(failed)?;
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
            return Err(ErrorData::invalid_params(format!("requestState is {:?}", params.request_state), None));
        }
        let answer = answers.get("answer").ok_or_else(|| unknown("no answer"))?;
        complete::<CallToolResult>(text(&shown(tool, answer))).map(Into::into)
    }

    fn question(&self, tool: &str, arguments: &Value, modern: bool) -> Result<Value, ErrorData> {
        let data = &self.offer().data;
        Ok(match tool {
            "ask_model" => {
                let question = json!({ "role": "user", "content": { "type": "text", "text": str_of(arguments, "prompt")? } });
                let params = json!({ "messages": [question], "maxTokens": data["askModel"]["maxTokens"] });
                json!({ "method": "sampling/createMessage", "params": params })
            }
            "roots" => json!({ "method": "roots/list" }),
            _ => {
                let mut params = data[if tool == "ask_user" { "askUser" } else { "askUrl" }].clone();
                params["mode"] = json!(if tool == "ask_user" { "form" } else { "url" });
                if modern && let Some(params) = params.as_object_mut() {
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
                    self.offer().cancelled += 1;
                    break;
                }
                () = tokio::time::sleep(pause) => {}
            }
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, step as f64)
                    .with_total(steps as f64)
                    .with_message(format!("step {step}"));
                context.peer.notify_progress(progress).await.map_err(failed)?;
            }
        }
        Ok(text("done"))
    }

    /// The SDK leaves the choice to the program: the session's level, or since 2026-07-28 the request's.
    async fn log(&self, arguments: &Value, context: &Context) -> Result<Value, ErrorData> {
        let level = str_of(arguments, "level")?;
        let least = match context.meta.log_level() {
            Some(asked) => json!(asked).as_str().map(str::to_owned),
            None if is_modern(context) => None,
            None => Some(self.offer().level.clone()),
        };
        if !least.is_some_and(|least| self.offer().passes(level, &least)) {
            return Ok(text("withheld"));
        }
        let message = json!({ "level": level, "logger": "offer", "data": arguments["text"] });
        context.peer.notify_logging_message(typed(message)?).await.map_err(failed)?;
        Ok(text("sent"))
    }

    async fn change(&self, arguments: &Value, context: &Context) -> Result<Value, ErrorData> {
        let what = str_of(arguments, "what")?;
        self.offer().change(what);
        if is_modern(context) {
            // The SDK acknowledges a subscription before it hands it over: what comes in between must not be lost.
            for _ in 0..100 {
                if self.opening.load(Ordering::SeqCst) == 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            let sinks = self.sinks().clone();
            for sink in sinks {
                // What a subscription did not ask for is refused, and so is what comes after its end.
                let _ = match what {
                    "tools" => sink.notify_tool_list_changed().await,
                    "resources" => sink.notify_resource_list_changed().await,
                    "prompts" => sink.notify_prompt_list_changed().await,
                    _ => sink.notify_resource_updated(COUNTER).await,
                };
            }
            return Ok(text("changed"));
        }
        let subscribed = self.offer().subscribed.contains(COUNTER);
        let peer = &context.peer;
        match what {
            "tools" => peer.notify_tool_list_changed().await,
            "resources" => peer.notify_resource_list_changed().await,
            "prompts" => peer.notify_prompt_list_changed().await,
            _ if subscribed => peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(COUNTER)).await,
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
        let data = &self.offer().data;
        let mut info = ServerConfig::new(capabilities);
        info.server_info = typed(data["serverInfo"].clone()).expect("offer.json has a serverInfo");
        info.instructions = data["instructions"].as_str().map(str::to_owned);
        info
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: Context) -> Result<ListToolsResult, ErrorData> {
        complete(json!({ "tools": self.offer().list("tools") }))
    }

    async fn call_tool(&self, params: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let arguments = json!(params.arguments.clone().unwrap_or_default());
        let result = match params.name.as_ref() {
            "ask_model" | "ask_user" | "ask_url" | "roots" => return self.ask(&params, &arguments, &context).await,
            "slow" => self.slow(&arguments, &context).await?,
            "log" => self.log(&arguments, &context).await?,
            "change" => self.change(&arguments, &context).await?,
            "ping" => self.ping_client(&context).await?,
            name => self.offer().call(name, &arguments)?,
        };
        complete::<CallToolResult>(result).map(Into::into)
    }

    async fn list_resources(&self, params: Option<PaginatedRequestParams>, _: Context) -> Result<ListResourcesResult, ErrorData> {
        complete(self.offer().resource_page(params.and_then(|params| params.cursor).as_deref())?)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        complete(json!({ "resourceTemplates": self.offer().list("templates") }))
    }

    async fn read_resource(&self, params: ReadResourceRequestParams, _: Context) -> Result<ReadResourceResponse, ErrorData> {
        let contents = self.offer().read(&params.uri)?;
        complete::<ReadResourceResult>(json!({ "contents": [contents] })).map(Into::into)
    }

    async fn subscribe(&self, params: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.offer().subscribed.insert(params.uri);
        Ok(())
    }

    async fn unsubscribe(&self, params: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.offer().subscribed.remove(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.opening.fetch_add(1, Ordering::SeqCst);
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.sinks().push(context.sink().clone());
        self.opening.fetch_sub(1, Ordering::SeqCst);
        context.cancelled().await;
        self.sinks().retain(|sink| sink.id() != context.sink().id());
        Ok(())
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: Context) -> Result<ListPromptsResult, ErrorData> {
        complete(json!({ "prompts": self.offer().list("prompts") }))
    }

    async fn get_prompt(&self, params: GetPromptRequestParams, _: Context) -> Result<GetPromptResponse, ErrorData> {
        let arguments = json!(params.arguments.unwrap_or_default());
        complete::<GetPromptResult>(self.offer().prompt(&params.name, &arguments)?).map(Into::into)
    }

    async fn complete(&self, params: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        complete(self.offer().complete(&params.argument.name, &params.argument.value))
    }

    async fn set_level(&self, params: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        self.offer().level = json!(params.level).as_str().unwrap_or_default().to_owned();
        Ok(())
    }
}
