//! Requests of the protocol by name.

use futures_lite::{Stream, stream};
use mcp_sansio::typed::ToolCall;
use mcp_sansio::types::{CompleteParams, LoggingLevel, ProgressParams, ResourceParams, Skill};
use mcp_sansio::{CallOptions, Encode, OwnedJson};

use super::call::PendingCall;
use super::handle::Client;
use crate::client::{
    CallError, List, ListKind, Named, Pager, Prompts, ResourceTemplates, Resources, Skills, Tools,
    TypedResult, check_skill, verified,
};

/// Requests by name. For other [`CallOptions`] use [`request`](Client::request) and
/// [`list`](Client::list). Cancel safe as `request`.
impl Client {
    /// Lists the tools, of all pages.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn list_tools(&self) -> Result<List<Tools>, CallError> {
        self.list(CallOptions::new()).await
    }

    /// Lists the resources, of all pages.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn list_resources(&self) -> Result<List<Resources>, CallError> {
        self.list(CallOptions::new()).await
    }

    /// Lists the resource templates, of all pages.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn list_resource_templates(&self) -> Result<List<ResourceTemplates>, CallError> {
        self.list(CallOptions::new()).await
    }

    /// Lists the prompts, of all pages.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn list_prompts(&self) -> Result<List<Prompts>, CallError> {
        self.list(CallOptions::new()).await
    }

    /// Lists the skills, of all pages. A server may have more skills than it lists.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn list_skills(&self) -> Result<List<Skills>, CallError> {
        self.list(CallOptions::new()).await
    }

    /// Gets the entry of a skill by the URI of its `SKILL.md`. Returns a
    /// [`GetSkillResult`](mcp_sansio::types::GetSkillResult).
    ///
    /// # Errors
    /// As [`request`](Self::request), and [`CallError::Skill`] if it is the entry of another skill.
    pub async fn get_skill(&self, uri: &str) -> Result<OwnedJson, CallError> {
        let params = ResourceParams::new(uri);
        let result = self.request("skills/get", &params, CallOptions::new()).await?;
        Ok(check_skill(result, uri)?)
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
    pub async fn read_skill_file(
        &self,
        skill: &Skill<'_>,
        uri: &str,
    ) -> Result<Vec<u8>, CallError> {
        skill.check()?;
        skill.file(uri)?;
        let result = self.read_resource(uri).await?;
        Ok(verified(skill, uri, &result)?)
    }

    /// Lists what is directly in a directory, of all pages. The server must have declared
    /// `directoryRead`: a client of the modern era that was not to detect the era does not know
    /// whether it has, and must not ask.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn read_directory(&self, uri: &str) -> Result<List<Resources>, CallError> {
        let pager = Pager::of_directory(uri, self.0.inner.limits.max_list);
        self.all_pages("resources/directory/read", pager, CallOptions::new()).await
    }

    /// Requests all pages of a list: `client.list::<Tools>(CallOptions::new())`. Up to
    /// [`MAX_PAGES`](super::MAX_PAGES) pages, and
    /// [`ClientLimits::max_list`](super::ClientLimits::max_list) bytes; the
    /// [limit](CallOptions::limit) in time applies to all pages together.
    ///
    /// Cancel safe: dropping the future cancels the request for the current page; the pages so far
    /// are lost.
    ///
    /// # Errors
    /// [`CallError::List`]; otherwise as any call.
    pub async fn list<L: ListKind>(&self, options: CallOptions) -> Result<List<L>, CallError> {
        self.all_pages(L::METHOD, Pager::new(self.0.inner.limits.max_list), options).await
    }

    async fn all_pages<L: ListKind>(
        &self,
        method: &str,
        mut pager: Pager,
        options: CallOptions,
    ) -> Result<List<L>, CallError> {
        let (_, mut left) = self.connected_within(self.limit(options)).await?;
        let mut pages = Vec::new();
        while let Some(params) = pager.next_page() {
            let page = PendingCall::begin(&self.0, |session, now| {
                let options = options.limit(left);
                session.engine.call(now, method, &params, options, &mut session.app)
            });
            let over = page.await?.finished(&mut |_| ()).await;
            left = left.saturating_sub(self.0.inner.now().saturating_duration_since(over.started));
            pages.push(pager.check(over.result?)?);
        }
        Ok(List::new(pages))
    }

    /// Requests a list page by page: `client.pages::<Tools>(CallOptions::new())`. Each page is
    /// requested when the stream is polled for it, and is a [`List`] of its own. The limits are
    /// those of [`list`](Self::list), but the options apply to each page alone. The stream ends
    /// after the last page, and after an error; until it is dropped the connection stays open.
    ///
    /// ```no_run
    /// use futures_lite::StreamExt;
    /// use mcp_sansio::CallOptions;
    /// use mcp_sansio_adapters::asynchronous::client::{CallError, Client, Tools};
    ///
    /// async fn has_tool(client: &Client, name: &str) -> Result<bool, CallError> {
    ///     let mut pages = client.pages::<Tools>(CallOptions::new());
    ///     while let Some(page) = pages.next().await {
    ///         if page?.iter().flatten().any(|tool| tool.name == name) {
    ///             return Ok(true);
    ///         }
    ///     }
    ///     Ok(false)
    /// }
    /// ```
    ///
    /// Cancel safe: dropping the future of a page loses nothing. Dropping the stream cancels the
    /// request for the current page.
    ///
    /// # Errors
    /// Items are errors as of [`list`](Self::list). A page that exceeds a limit is not returned.
    pub fn pages<L: ListKind>(
        &self,
        options: CallOptions,
    ) -> impl Stream<Item = Result<List<L>, CallError>> + Send + Unpin + use<L> {
        let start = (self.clone(), Pager::new(self.0.inner.limits.max_list));
        Box::pin(stream::try_unfold(start, move |(client, mut pager)| async move {
            let Some(params) = pager.next_page() else { return Ok(None) };
            let page = pager.check(client.request(L::METHOD, &params, options).await?)?;
            Ok(Some((List::new(vec![page]), (client, pager))))
        }))
    }

    /// Calls a tool with typed arguments, and checks the structured content of its result.
    ///
    /// ```no_run
    /// use mcp_sansio::typed::{Input, Output, ToolCall};
    /// use mcp_sansio_adapters::asynchronous::client::{CallError, Client};
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
    /// async fn seventh(client: &Client, dividend: i64) -> Result<i64, CallError> {
    ///     let divided = client.call(&Divide { dividend, divisor: 7 }).await?;
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
    pub async fn call<T: ToolCall>(&self, arguments: &T) -> Result<TypedResult<T>, CallError> {
        Ok(TypedResult::new(self.call_tool(T::NAME, arguments).await?)?)
    }

    /// Calls a tool. Returns a [`CallToolResult`](mcp_sansio::types::CallToolResult), also if the
    /// tool failed (`isError`).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn call_tool<A: Encode + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Result<OwnedJson, CallError> {
        self.request("tools/call", &Named { name, arguments }, CallOptions::new()).await
    }

    /// Calls a tool with these options, and reports its progress, also while the server runs it as
    /// a task.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn call_tool_with<A: Encode + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
        options: CallOptions,
        on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError> {
        let params = Named { name, arguments };
        self.request_with_progress("tools/call", &params, options, on_progress).await
    }

    /// Reads a resource. Returns a [`ReadResourceResult`](mcp_sansio::types::ReadResourceResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn read_resource(&self, uri: &str) -> Result<OwnedJson, CallError> {
        self.request("resources/read", &ResourceParams::new(uri), CallOptions::new()).await
    }

    /// Gets a prompt. Returns a [`GetPromptResult`](mcp_sansio::types::GetPromptResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn get_prompt<A: Encode + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Result<OwnedJson, CallError> {
        self.request("prompts/get", &Named { name, arguments }, CallOptions::new()).await
    }

    /// Completes an argument. Returns a [`CompleteResult`](mcp_sansio::types::CompleteResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn complete(&self, params: &CompleteParams<'_>) -> Result<OwnedJson, CallError> {
        self.request("completion/complete", params, CallOptions::new()).await
    }

    /// Sets the minimum level of log messages. Sent to a legacy server at once, to a modern one
    /// with each request.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<(), CallError> {
        let set = self.start(CallOptions::new(), |session, now, _| {
            session.engine.set_log_level(now, level, &mut session.app)
        });
        set.await?.result(&mut |_| ()).await.map(|_| ())
    }
}
