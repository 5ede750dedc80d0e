//! Options of tasks.

use std::time::Duration;

use mcp_sansio::tasks::TasksConfig;

#[cfg(feature = "store")]
use crate::store::TaskStore;

/// Limits and times of the tasks of an [`App`](crate::asynchronous::App). New versions add fields,
/// so a value ends with `..TaskOptions::new()`.
///
/// ```
/// # use std::time::Duration;
/// # use mcp_sansio::types::{Implementation, TaskSupport, Tool, ToolExecution};
/// # use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
/// # use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, TaskOptions};
/// static CONFIG: ServerConfig = ServerConfig::new(
///     Implementation::new("backup", "0.1.0"),
///     ServerFeatures::TOOLS.with(ServerFeatures::TASKS).with(ServerFeatures::TASKS_CANCEL),
/// );
/// static CATALOG: Catalog = Catalog::new().tools(entries![
///     Tool::new("backup", RawJson::from_static(r#"{"type":"object"}"#))
///         .execution(ToolExecution::new().task_support(TaskSupport::Optional)),
/// ]);
///
/// async fn backup(ctx: Context) -> HandlerResult {
///     let request = ctx.request()?;
///     for disk in 1..=3 {
///         ctx.tool(&request).set_status(format_args!("disk {disk}"));
///         // ...
///     }
///     ctx.text("done")
/// }
///
/// // A call that takes longer than two seconds becomes a task.
/// let options = TaskOptions { after: Duration::from_secs(2), ..TaskOptions::new() };
/// let app = App::new(&CONFIG, backup).catalog(&CATALOG).tasks(options);
/// ```
#[derive(Clone, Debug)]
pub struct TaskOptions {
    /// How long tasks are kept, how often they should be polled, and how many of them one owner can
    /// have.
    pub config: TasksConfig,
    /// Maximum number of tasks of all clients, ended ones included until their time is over. At the
    /// limit a tool that needs no task runs as a call, and one that does is refused (-32603). A
    /// task takes about 420 bytes and its result, and until it has ended about 900 more, its
    /// arguments and the future of its handler. Default: 1,024; at most 65,534.
    pub max_tasks: u16,
    /// Maximum number of bytes of the results of all tasks. A principal, or a connection that tasks
    /// are bound to, may have one result of any length, and several in a quarter of the limit. A
    /// task whose result has no room fails (-32603). Default: 64 MiB.
    pub max_results: usize,
    /// Maximum number of `tasks/result` that wait for the end of their tasks (2025-11-25). More are
    /// refused (-32603), and so are those of one principal or connection beyond a quarter of them,
    /// or over HTTP of one address without principals beyond its
    /// [share](crate::asynchronous::Limits::address_share). Default: 256.
    pub max_waiting: usize,
    /// Whether a task without a principal belongs to the connection, or the HTTP session, on which
    /// it was created. Then no other client sees it, also not its own after it has connected again.
    /// Over HTTP with 2026-07-28 there are no connections, so that it has no effect. Default: no,
    /// whoever has the id has the task. Over HTTP a list of tasks has only those of its session in
    /// any case.
    pub bind_to_connection: bool,
    /// Time that a call of a tool takes before it becomes a task, if the client supports that
    /// (2026-07-28). Until then the tool can ask in rounds, and what ends earlier is an ordinary
    /// result. Default: zero, which makes each call of such a tool a task.
    pub after: Duration,
    /// [`after`](Self::after) of single tools, by name.
    pub tool_after: Vec<(String, Duration)>,
    /// The store in which tasks are kept. A call becomes a task only when that is saved, and
    /// otherwise fails (-32603) or goes on as a call; a result is saved before it is told, and a
    /// task whose result cannot be saved fails (-32603). See
    /// [`App::resume_tasks`](crate::asynchronous::App::resume_tasks). Default: none.
    #[cfg(feature = "store")]
    pub store: Option<TaskStore>,
}

impl TaskOptions {
    /// Creates the default options.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            config: TasksConfig::new(),
            max_tasks: 1024,
            max_results: 64 << 20,
            max_waiting: 256,
            bind_to_connection: false,
            after: Duration::ZERO,
            tool_after: Vec::new(),
            #[cfg(feature = "store")]
            store: None,
        }
    }

    pub(super) fn after_of(&self, tool: &str) -> Duration {
        let found = self.tool_after.iter().find(|(name, _)| name == tool);
        found.map_or(self.after, |(_, after)| *after)
    }
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self::new()
    }
}
