//! Tools that run as tasks (the extension of 2026-07-28) on the official Rust SDK: over stdio, or
//! with `--http PORT` over Streamable HTTP.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type Context = RequestContext<RoleServer>;
type Job = Result<CallToolResult, TaskExit>;

/// Handler of one session. The tasks belong to all of them.
#[derive(Clone, Default)]
struct Tasks(TaskManager);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tasks = Tasks::default();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--http", port] => {
            let config = StreamableHttpServerConfig::default();
            let sessions = Arc::new(LocalSessionManager::default());
            let service = StreamableHttpService::new(move || Ok(tasks.clone()), sessions, config);
            let port: u16 = port.parse()?;
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
            println!("http://{}/mcp", listener.local_addr()?);
            axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
        }
        _ => {
            tasks.serve(stdio()).await?.waiting().await?;
        }
    }
    Ok(())
}

fn data() -> Value {
    let text = include_str!("../../servers/tasks.json");
    serde_json::from_str(text).expect("tasks.json is JSON")
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// Returns an elicitation with one of the forms of `tasks.json`.
fn question(message: &str, form: &str) -> Result<InputRequest, ErrorData> {
    let params = json!({ "mode": "form", "message": message, "requestedSchema": data()[form] });
    typed(json!({ "method": "elicitation/create", "params": params }))
}

fn name_of(answer: &Value) -> String {
    answer["content"]["name"].as_str().or(answer["action"].as_str()).unwrap_or_default().to_owned()
}

async fn slow_compute(arguments: &Value, task: Option<&TaskContext>) -> Job {
    let seconds = arguments["seconds"].as_u64().unwrap_or_default();
    let label = arguments["label"].as_str().unwrap_or_default();
    for passed in 0..seconds {
        let Some(task) = task else {
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        task.set_status_message(format!("{label}: {passed} of {seconds} s"));
        tokio::select! {
            () = task.cancelled() => return Err(TaskExit::Cancelled),
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
    Ok(text(format!("{label}: done after {seconds} s")))
}

async fn run(name: &str, arguments: Value, task: TaskContext) -> Job {
    match name {
        "slow_compute" => slow_compute(&arguments, Some(&task)).await,
        "failing_job" => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(CallToolResult::error(vec![ContentBlock::text("the job failed")]))
        }
        "confirm_delete" => {
            let file = arguments["filename"].as_str().unwrap_or_default();
            let request = question(&format!("Delete {file}?"), "confirm")?;
            let answer = task.request_input("confirm", request).await?;
            let deletes = answer["action"] == "accept" && answer["content"]["confirm"] == true;
            Ok(text(format!("{} {file}", if deletes { "deleted" } else { "kept" })))
        }
        "multi_input" => {
            let (first, last) = tokio::join!(
                task.request_input("first", question("first name?", "name")?),
                task.request_input("last", question("last name?", "name")?),
            );
            Ok(text(format!("{} {}", name_of(&first?), name_of(&last?))))
        }
        "test_tool_with_task" => {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(text(format!("hello {}", arguments["user_name"].as_str().unwrap_or_default())))
        }
        _ => Err(ErrorData::internal_error("the job broke", None).into()),
    }
}

impl ServerHandler for Tasks {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = typed(data()["serverInfo"].clone()).expect("tasks.json names it");
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = data()["tools"].clone();
        for tool in tools.as_array_mut().into_iter().flatten() {
            if let Some(tool) = tool.as_object_mut() {
                tool.remove("execution");
            }
        }
        typed(
            json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" }),
        )
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = params.name.to_string();
        let mut arguments = json!(params.arguments.unwrap_or_default());
        let declared = context.client_capabilities().is_some_and(|caps| caps.supports_tasks());
        match name.as_str() {
            "greet" => {
                let name = arguments["name"].as_str().unwrap_or_default();
                return Ok(text(format!("Hello, {name}!")).into());
            }
            "slow_compute" if !declared => {
                return match slow_compute(&arguments, None).await {
                    Ok(result) => Ok(result.into()),
                    Err(_) => Err(ErrorData::internal_error("cancelled", None)),
                };
            }
            "test_tool_with_task" if declared => {
                let Some(answers) = &params.input_responses else {
                    let mut requests = InputRequests::new();
                    requests.insert("user_name".into(), question("user_name?", "name")?);
                    return Ok(InputRequiredResult::new(Some(requests), None).into());
                };
                let answer = answers.get("user_name").map(|answer| name_of(&json!(answer)));
                arguments["user_name"] = json!(answer);
            }
            "slow_compute"
            | "failing_job"
            | "protocol_error_job"
            | "confirm_delete"
            | "multi_input"
            | "test_tool_with_task" => {}
            _ => return Err(ErrorData::invalid_params(format!("unknown: {name}"), None)),
        }
        // The SDK would refuse the task only after it was created.
        if !declared {
            let wanted = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(wanted));
        }
        let options = TaskOptions::new().with_poll_interval_ms(100);
        let task = self
            .0
            .spawn(options, |task| Box::pin(async move { run(&name, arguments, task).await }));
        Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        _: Context,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.0.get_task(&params.task_id)?))
    }

    async fn update_task(&self, params: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        self.0.update_task(&params.task_id, params.input_responses)
    }

    async fn cancel_task(&self, params: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        self.0.cancel_task(&params.task_id)
    }
}
