//! Requests of the protocol by name.

use std::iter;
use std::time::Duration;

use mcp_sansio::typed::ToolCall;
use mcp_sansio::types::{
    CompleteParams, LoggingLevel, ProgressParams, ResourceParams, Skill, TaskParams, TaskStatus,
};
use mcp_sansio::{CallOptions, Encode, OwnedJson, SendError, methods};
use mcp_sansio_engine::Detached;

use super::{CallId, Client, Error};
use crate::client::{
    CallError, List, ListKind, Named, Pager, Prompts, ResourceTemplates, Resources, Skills,
    TaskRef, Tools, TypedResult, check_skill, verified,
};

/// Requests by name. For other [`CallOptions`] use [`request`](Client::request).
impl Client<'_> {
    /// Lists the tools, of all pages.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn list_tools(&mut self) -> Result<List<Tools>, Error> {
        self.list(CallOptions::new())
    }

    /// Lists the resources, of all pages.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn list_resources(&mut self) -> Result<List<Resources>, Error> {
        self.list(CallOptions::new())
    }

    /// Lists the resource templates, of all pages.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn list_resource_templates(&mut self) -> Result<List<ResourceTemplates>, Error> {
        self.list(CallOptions::new())
    }

    /// Lists the prompts, of all pages.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn list_prompts(&mut self) -> Result<List<Prompts>, Error> {
        self.list(CallOptions::new())
    }

    /// Lists the skills, of all pages. A server may have more skills than it lists.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn list_skills(&mut self) -> Result<List<Skills>, Error> {
        self.list(CallOptions::new())
    }

    /// Gets the entry of a skill by the URI of its `SKILL.md`. Returns a
    /// [`GetSkillResult`](mcp_sansio::types::GetSkillResult).
    ///
    /// # Errors
    /// As [`request`](Self::request), and [`CallError::Skill`] if it is the entry of another skill.
    pub fn get_skill(&mut self, uri: &str) -> Result<OwnedJson, Error> {
        let params = ResourceParams::new(uri);
        let result = self.request("skills/get", &params, CallOptions::new())?;
        check_skill(result, uri).map_err(|error| Error::of("skills/get", error))
    }

    /// Reads a file of a skill, and verifies it: that the entry is [valid](Skill::check) and has
    /// the file, before anything is requested; then its size and digest, and of `SKILL.md` that its
    /// frontmatter is that of the entry.
    ///
    /// `skill` is the entry that the user has approved. Files are not read before they are needed,
    /// and nothing is kept. After [`SkillError`](mcp_sansio::SkillError), [`get_skill`] returns the
    /// current entry, which has to be approved anew. The content stays untrusted: the server wrote
    /// the digest, too.
    ///
    /// [`get_skill`]: Self::get_skill
    ///
    /// # Errors
    /// As [`request`](Self::request), and [`CallError::Skill`] if the file must not be used.
    pub fn read_skill_file(&mut self, skill: &Skill<'_>, uri: &str) -> Result<Vec<u8>, Error> {
        let invalid = |error| Error::of("resources/read", error);
        skill.check().map_err(invalid)?;
        skill.file(uri).map_err(invalid)?;
        let result = self.read_resource(uri)?;
        verified(skill, uri, &result).map_err(invalid)
    }

    /// Lists what is directly in a directory, of all pages. The server must have declared
    /// `directoryRead`: a client of the modern era that was not to detect the era does not know
    /// whether it has, and must not ask.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn read_directory(&mut self, uri: &str) -> Result<List<Resources>, Error> {
        let pager = Pager::of_directory(uri, self.limits.max_list);
        self.all_pages("resources/directory/read", pager, CallOptions::new())
    }

    /// Requests a list page by page: `client.pages::<Tools>(CallOptions::new())`. Each page is
    /// requested when the iterator is asked for it, and is a [`List`] of its own. Up to
    /// [`MAX_PAGES`](super::MAX_PAGES) pages and
    /// [`max_list`](super::ClientLimits::max_list) bytes; the options apply to each page
    /// alone. The iterator ends after the last page, and after an error.
    ///
    /// # Errors
    /// Items are errors as of [`request`](Self::request), and [`CallError::List`] in place of a
    /// page that exceeds a limit.
    pub fn pages<L: ListKind>(
        &mut self,
        options: CallOptions,
    ) -> impl Iterator<Item = Result<List<L>, Error>> {
        let mut pager = Pager::new(self.limits.max_list);
        iter::from_fn(move || {
            let params = pager.next_page()?;
            let page = self.request(L::METHOD, &params, options);
            let page = page.and_then(|it| pager.check(it).map_err(|e| Error::of(L::METHOD, e)));
            Some(page.map(|page| List::new(vec![page])))
        })
    }

    /// Calls a tool with typed arguments, and checks the structured content of its result.
    ///
    /// ```no_run
    /// use mcp_sansio::typed::{Input, Output, ToolCall};
    /// use mcp_sansio_adapters::blocking::client::{Client, Error};
    ///
    /// #[derive(Output, ToolCall)]
    /// #[tool(returns = Quotient)]
    /// struct Divide {
    ///     dividend: i64,
    ///     divisor: i64,
    /// }
    ///
    /// #[derive(Input)]
    /// struct Quotient {
    ///     quotient: i64,
    /// }
    ///
    /// fn seventh(client: &mut Client<'_>, dividend: i64) -> Result<i64, Error> {
    ///     let divided = client.call(&Divide { dividend, divisor: 7 })?;
    ///     Ok(divided.output()?.quotient)
    /// }
    /// ```
    ///
    /// A server before 2025-06-18 has no structured content: then the JSON of the first text block
    /// is read, if it is an object.
    ///
    /// # Errors
    /// As [`request`](Self::request), and [`CallError::ToolCall`] if the tool failed, or the
    /// structured content is missing or not of its type.
    pub fn call<T: ToolCall>(&mut self, arguments: &T) -> Result<TypedResult<T>, Error> {
        Ok(TypedResult::new(self.call_tool(T::NAME, arguments)?)?)
    }

    /// Calls a tool. Returns a [`CallToolResult`](mcp_sansio::types::CallToolResult), also if the
    /// tool failed (`isError`).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn call_tool<A: Encode + ?Sized>(
        &mut self,
        name: &str,
        arguments: &A,
    ) -> Result<OwnedJson, Error> {
        self.request("tools/call", &Named { name, arguments }, CallOptions::new())
    }

    /// Calls a tool with these options, and reports its progress, also while the server runs it as
    /// a task. The [handler](super::Handler) gets it, too.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn call_tool_with<A: Encode + ?Sized>(
        &mut self,
        name: &str,
        arguments: &A,
        options: CallOptions,
        on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, Error> {
        let params = Named { name, arguments };
        self.request_with_progress("tools/call", &params, options, on_progress)
    }

    /// Reads a resource. Returns a [`ReadResourceResult`](mcp_sansio::types::ReadResourceResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn read_resource(&mut self, uri: &str) -> Result<OwnedJson, Error> {
        self.request("resources/read", &ResourceParams::new(uri), CallOptions::new())
    }

    /// Gets a prompt. Returns a [`GetPromptResult`](mcp_sansio::types::GetPromptResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn get_prompt<A: Encode + ?Sized>(
        &mut self,
        name: &str,
        arguments: &A,
    ) -> Result<OwnedJson, Error> {
        self.request("prompts/get", &Named { name, arguments }, CallOptions::new())
    }

    /// Completes an argument. Returns a [`CompleteResult`](mcp_sansio::types::CompleteResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn complete(&mut self, params: &CompleteParams<'_>) -> Result<OwnedJson, Error> {
        self.request("completion/complete", params, CallOptions::new())
    }

    /// Sets the minimum level of log messages. Sent to a legacy server at once, to a modern one
    /// with each request.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn set_log_level(&mut self, level: LoggingLevel) -> Result<(), Error> {
        self.make_room(methods::LOGGING_SET_LEVEL)?;
        let set = self.engine.set_log_level(self.app.now(), level, &mut self.app);
        let call = set.map_err(|error| Error::of(methods::LOGGING_SET_LEVEL, error))?;
        self.wait(call).map(|_| ())
    }

    /// Requests all pages of a list: `client.list::<Tools>(CallOptions::new())`. Up to
    /// [`MAX_PAGES`](super::MAX_PAGES) pages, and
    /// [`max_list`](super::ClientLimits::max_list) bytes; the [limit](CallOptions::limit) in time
    /// applies to all pages together.
    ///
    /// # Errors
    /// As [`request`](Self::request), and [`CallError::List`].
    pub fn list<L: ListKind>(&mut self, options: CallOptions) -> Result<List<L>, Error> {
        self.all_pages(L::METHOD, Pager::new(self.limits.max_list), options)
    }

    fn all_pages<L: ListKind>(
        &mut self,
        method: &str,
        mut pager: Pager,
        options: CallOptions,
    ) -> Result<List<L>, Error> {
        let mut left = options.limit.unwrap_or(self.engine.core().config().call_limit);
        let mut pages = Vec::new();
        while let Some(params) = pager.next_page() {
            if left.is_zero() {
                return Err(Error::of(method, CallError::TimedOut));
            }
            let call = self.begin(method, &params, options.limit(left))?;
            let over = self.finished(call, |_| ())?;
            left = left.saturating_sub(self.app.now().saturating_duration_since(over.started));
            let page = self.result(over)?;
            pages.push(pager.check(page).map_err(|error| Error::of(method, error))?);
        }
        Ok(List::new(pages))
    }
}

// Calls that the server runs as tasks.

/// Tasks. [`wait`](Client::wait) and all calls of tools wait for the end of the tasks that the
/// server makes of them; these functions are for applications that want to know.
impl Client<'_> {
    /// Sends a call of a tool without waiting, which runs as a task where the server allows it:
    /// always with 2025-11-25 if the tool does, and as the server likes with 2026-07-28. `ttl` is
    /// the time for which the server is asked to keep the task (2025-11-25).
    /// The [handler](super::Handler) gets its progress and its status messages as
    /// [`Progress`](mcp_sansio::ClientEvent::Progress).
    /// [`wait`](Self::wait) returns its result, [`detach`](Self::detach) leaves it to the server,
    /// [`cancel`](Self::cancel) cancels it.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    pub fn call_tool_as_task<A: Encode + ?Sized>(
        &mut self,
        name: &str,
        arguments: &A,
        ttl: Option<Duration>,
    ) -> Result<CallId, Error> {
        let options = CallOptions::new().progress(true);
        let is_task = self.engine.asks_for_task(name);
        let options = if is_task { options.task(ttl) } else { options };
        self.start(methods::TOOLS_CALL, &Named { name, arguments }, options)
    }

    /// Returns the latest known status of the task that the server runs the call as; `None` before
    /// it has said so, and if it does not.
    pub fn task_status(&self, call: CallId) -> Option<TaskStatus> {
        self.engine.task_status(call)
    }

    /// Returns the latest message that describes the status.
    pub fn task_message(&self, call: CallId) -> Option<&str> {
        self.engine.task_message(call)
    }

    /// Leaves the task of a call to the server. Returns what is needed to [resume](Self::resume) it
    /// later, also in another process. Waits until the server has said whether the call is a task;
    /// `None` if it is not: then [`wait`](Self::wait) returns its result.
    ///
    /// After the [end of the connection](Error::Closed) the task of a call can still be detached,
    /// and resumed on the next one.
    ///
    /// # Errors
    /// Errors of the connection, and [`Error::UnknownCall`].
    pub fn detach(&mut self, call: CallId) -> Result<Option<TaskRef>, Error> {
        self.catch_up();
        while self.engine.is_known(call) {
            match self.engine.detach(self.app.now(), call, &mut self.app) {
                Detached::Task(task) => return Ok(Some(task)),
                Detached::Undecided => self.step(None).map(|_| ())?,
                _ => return Ok(None),
            }
        }
        Err(Error::UnknownCall)
    }

    /// Follows a task that an earlier connection, also of another process, has
    /// [detached](Self::detach), as a call in flight.
    ///
    /// # Errors
    /// [`CallError::OtherServer`] if the server has another name, or the connection another
    /// revision.
    pub fn resume(&mut self, task: &TaskRef) -> Result<CallId, Error> {
        self.make_room(methods::TASKS_GET)?;
        let resumed = self.engine.resume(self.app.now(), task, &mut self.app);
        let other = || Error::of(methods::TASKS_GET, CallError::OtherServer);
        let id = resumed.ok_or_else(other)?;
        let _ = self.flush();
        Ok(id)
    }

    /// Cancels a task, and waits until the server has acknowledged it. Returns `false` if it has
    /// ended before.
    pub(super) fn cancel_task(&mut self, id: &str) -> Result<bool, Error> {
        match self.request(methods::TASKS_CANCEL, &TaskParams::new(id), CallOptions::new()) {
            // A server that cannot cancel tasks ends them by itself.
            Ok(_)
            | Err(Error::Call { error: CallError::NotSent(SendError::NotAllowed(_)), .. }) => {
                Ok(true)
            }
            Err(Error::Call { error: CallError::Server(_), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
