//! Options of tasks.

use std::time::Duration;

use mcp_sansio::tasks::TasksConfig;

#[cfg(feature = "store")]
use crate::store::TaskStore;

/// Limits and times of the tasks of an [`App`](crate::asynchronous::App).
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
///     for disk in 1..=3 {
///         ctx.set_status(format_args!("disk {disk}"));
///         // ...
///     }
///     ctx.text("done")
/// }
///
/// // A call that takes longer than two seconds becomes a task.
/// let options = TaskOptions::new().after(Duration::from_secs(2));
/// let app = App::new(&CONFIG, backup).catalog(&CATALOG).tasks(options);
/// ```
#[derive(Clone, Debug)]
pub struct TaskOptions {
    pub(super) config: TasksConfig,
    pub(super) max_tasks: u16,
    pub(super) max_results: usize,
    pub(super) max_waiting: usize,
    pub(super) is_bound: bool,
    after: Duration,
    after_of: Vec<(String, Duration)>,
    #[cfg(feature = "store")]
    pub(super) store: Option<TaskStore>,
}

impl TaskOptions {
    /// Creates the default options.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            config: TasksConfig::new(),
            max_tasks: MAX_TASKS,
            max_results: MAX_TASK_RESULTS,
            max_waiting: MAX_WAITING,
            is_bound: false,
            after: Duration::ZERO,
            after_of: Vec::new(),
            #[cfg(feature = "store")]
            store: None,
        }
    }

    /// Sets how long tasks are kept, how often they should be polled, and how many of them one
    /// owner can have.
    #[must_use]
    pub fn config(self, config: TasksConfig) -> Self {
        Self { config, ..self }
    }

    /// Limits the tasks of all clients, ended ones included until their time is over. At the limit
    /// a tool that needs no task runs as a call, and one that does is refused (-32603). A task
    /// takes about 420 bytes and its result, and until it has ended about 900 more, its arguments
    /// and the future of its handler. Default: [`MAX_TASKS`]; at most 65,534.
    #[must_use]
    pub fn max_tasks(self, max_tasks: u16) -> Self {
        Self { max_tasks: max_tasks.min(u16::MAX - 1), ..self }
    }

    /// Limits the bytes of the results of all tasks. A principal, or a connection that tasks are
    /// bound to, may have one result of any length, and several in a quarter of the limit. A task
    /// whose result has no room fails (-32603). Default: [`MAX_TASK_RESULTS`].
    #[must_use]
    pub fn max_results(self, max_results: usize) -> Self {
        Self { max_results, ..self }
    }

    /// Limits the `tasks/result` that wait for the end of their tasks (2025-11-25). More are
    /// refused (-32603), and so are those of one principal or connection beyond a quarter of them,
    /// or over HTTP of one address without principals beyond three quarters. Default:
    /// [`MAX_WAITING`].
    #[must_use]
    pub fn max_waiting(self, max_waiting: usize) -> Self {
        Self { max_waiting, ..self }
    }

    /// Sets whether a task without a principal belongs to the connection, or the HTTP session, on
    /// which it was created. Then no other client sees it, also not its own after it has connected
    /// again. Over HTTP with 2026-07-28 there are no connections, so that it has no effect.
    /// Default: no, whoever has the id has the task. Over HTTP a list of tasks has only those of
    /// its session in any case.
    #[must_use]
    pub fn bind_to_connection(self, is_bound: bool) -> Self {
        Self { is_bound, ..self }
    }

    /// Sets the time that a call of a tool takes before it becomes a task, if the client supports
    /// that (2026-07-28). Until then the tool can ask in rounds, and what ends earlier is an
    /// ordinary result. Default: zero, which makes each call of such a tool a task.
    #[must_use]
    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    /// Sets [`after`](Self::after) of one tool.
    #[must_use]
    pub fn tool_after(mut self, tool: impl Into<String>, after: Duration) -> Self {
        self.after_of.push((tool.into(), after));
        self
    }

    /// Keeps tasks in a store. A call becomes a task only when that is saved, and otherwise fails
    /// (-32603) or goes on as a call; a result is saved before it is told, and a task whose result
    /// cannot be saved fails (-32603). See
    /// [`App::resume_tasks`](crate::asynchronous::App::resume_tasks).
    #[cfg(feature = "store")]
    #[must_use]
    pub fn store(self, store: TaskStore) -> Self {
        Self { store: Some(store), ..self }
    }

    pub(super) fn after_of(&self, tool: &str) -> Duration {
        let found = self.after_of.iter().rfind(|(name, _)| name == tool);
        found.map_or(self.after, |(_, after)| *after)
    }
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Default of [`TaskOptions::max_tasks`].
pub const MAX_TASKS: u16 = 1024;
/// Default of [`TaskOptions::max_waiting`].
pub const MAX_WAITING: usize = 256;
/// Default of [`TaskOptions::max_results`], in bytes: 64 MiB.
pub const MAX_TASK_RESULTS: usize = 64 << 20;
