//! The handle that requests are made with.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_lite::{Stream, stream};
use mcp_sansio::typed::ToolCall;
use mcp_sansio::types::{
    CompleteParams, LoggingLevel, ProgressParams, ResourceParams, Skill, SubscriptionFilter,
};
use mcp_sansio::{CallOptions, Encode, Era, Instant, OwnedJson, RawJson, SendError};
use mcp_sansio_engine::{CallError, CallId, Change};

use super::connection::{Command, Connection, ConnectionInner, PendingCall, Session};
use super::transport::Transport;
use crate::client::{
    Connected, List, ListKind, Named, Pager, Prompts, ResourceTemplates, Resources, Skills, Tools,
    TypedResult, check_skill, verified,
};

/// Makes requests on a [`Connection`](super::Connection). Clones are cheap and share the
/// connection, from any thread; it closes when the last one is dropped.
///
/// Each call waits for the connection to be open, for its place in the queue, and for its response,
/// so calls can be made at once. All of that counts towards its [limit](CallOptions::limit); the
/// [timeout](CallOptions::timeout) starts when it is sent.
///
/// Dropping the future of a call cancels it, and the server is notified.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<ClientInner>);

/// Shared by all clones; closes the connection when it is dropped.
pub(crate) struct ClientInner {
    pub(crate) inner: Arc<ConnectionInner>,
}

impl Client {
    /// Makes a request. `params` is any value that serializes as a JSON object,
    /// [`RawJson::EMPTY`](mcp_sansio::RawJson::EMPTY) if there are none. Read the result with
    /// [`OwnedJson::to`], as the result type of the method.
    ///
    /// Input requests of a modern server are passed to the
    /// [handler](super::Connector::on_input_request), and the request is sent again with the
    /// responses.
    ///
    /// Cancel safe: dropping the future cancels the call.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn request<P>(
        &self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<OwnedJson, CallError>
    where
        P: Encode + ?Sized,
    {
        self.request_in_rounds(method, params, options, |_| ()).await
    }

    /// Makes a request, and asks the server to report progress. Reports are kept until this future
    /// is polled: the latest 64, up to 64 KiB.
    ///
    /// Cancel safe: dropping the future cancels the call.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn request_with_progress<P>(
        &self,
        method: &str,
        params: &P,
        options: CallOptions,
        on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError>
    where
        P: Encode + ?Sized,
    {
        self.request_in_rounds(method, params, options.progress(true), on_progress).await
    }

    async fn request_in_rounds<P>(
        &self,
        method: &str,
        params: &P,
        options: CallOptions,
        mut on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError>
    where
        P: Encode + ?Sized,
    {
        let call = self.start(options, |session, now, options| {
            session.engine.call(now, method, params, options, &mut session.app)
        });
        call.await?.result(&mut on_progress).await
    }

    /// Makes a call as soon as the server is connected. `begin` gets what is left of its time.
    pub(crate) async fn start(
        &self,
        mut options: CallOptions,
        mut begin: impl FnMut(&mut Session, Instant, CallOptions) -> Result<CallId, SendError>,
    ) -> Result<PendingCall, CallError> {
        let (_, left) = self.connected_within(self.limit(options)).await?;
        options.limit = options.limit.map(|_| left);
        PendingCall::begin(&self.0, |session, now| begin(session, now, options)).await
    }

    /// Sends a notification whose method is not one of MCP's; those have methods of their own.
    /// `params` is any value that serializes as a JSON object, `RawJson::EMPTY` if there are none.
    /// Waits while the server does not read.
    ///
    /// Cancel safe: a notification whose future is dropped is not sent; one that is partly sent
    /// ends as an invalid line.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn notify<P: Encode + ?Sized>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<(), CallError> {
        self.connected().await?;
        let waits = PendingCall::begin_unless(&self.0, |session, now| {
            session.engine.notify(now, method, params, &mut session.app)
        });
        match waits.await? {
            Some(call) => call.result(&mut |_| ()).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Notifies a legacy server that the roots have changed: see
    /// [`Client::roots_changed`](mcp_sansio::Client::roots_changed). Cancel safe as
    /// [`notify`](Self::notify).
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn roots_changed(&self) -> Result<(), CallError> {
        self.notify("notifications/roots/list_changed", &RawJson::EMPTY).await
    }

    /// Waits until the connection is open. It need not be called before requests are made. Cancel
    /// safe.
    ///
    /// # Errors
    /// [`CallError::ConnectFailed`], [`CallError::Closed`].
    pub async fn connected(&self) -> Result<Arc<Connected>, CallError> {
        self.connected_within(Duration::MAX).await.map(|(connected, _)| connected)
    }

    /// Returns the time limit of a call, including all waiting.
    pub(crate) fn limit(&self, options: CallOptions) -> Duration {
        options.limit.unwrap_or(self.0.inner.call_limit)
    }

    /// Waits until the connection is open, and returns what is left of the time.
    pub(crate) async fn connected_within(
        &self,
        limit: Duration,
    ) -> Result<(Arc<Connected>, Duration), CallError> {
        let inner = &self.0.inner;
        let connected = || poll_fn(|cx| inner.poll(cx, |it| Poll::Ready(it.poll_connected())));
        let waiting = loop {
            if let Poll::Ready(connected) = connected().await {
                return Ok((connected?, limit));
            }
            let waiting = PendingCall::begin_unless(&self.0, |session, now| {
                let is_open = session.poll_connected().is_ready();
                Ok((!is_open).then(|| session.engine.when_connected(now, limit)))
            });
            // It may have been opened since the look above.
            if let Some(waiting) = waiting.await? {
                break waiting;
            }
        };
        let over = waiting.finished(&mut |_| ()).await;
        let waited = inner.clock.now().saturating_duration_since(over.started);
        match (over.result, connected().await) {
            (Ok(_) | Err(CallError::Closed), Poll::Ready(connected)) => {
                Ok((connected?, limit.saturating_sub(waited)))
            }
            (Err(error), _) => Err(error),
            (Ok(_), Poll::Pending) => Err(CallError::Closed),
        }
    }

    /// Connects again, on another stream, after the end of the [`Connection`]; one that is open
    /// ends, and all calls with it. Only the application knows whether calls that have failed can
    /// be repeated.
    ///
    /// A [`Subscription`](super::Subscription) that was not dropped goes on, and reports
    /// [`Change::Missed`](super::Change::Missed) behind the changes that were not read yet. A
    /// legacy server is asked again for the [level of log messages](Self::set_log_level).
    pub fn reconnect<T: Transport>(&self, transport: T) -> Connection<T> {
        Connection::new(transport, Arc::clone(&self.0.inner))
    }

    /// Returns the era of the server, once it is known. It can be kept, and
    /// [set](super::Connector::era) for the next connection.
    pub fn era(&self) -> Option<Era> {
        self.0.inner.era()
    }

    /// Closes the connection for all clones: waiting calls end with [`CallError::Closed`], pending
    /// output is still written.
    pub fn close(&self) {
        self.0.inner.command(Command::Close);
    }
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        self.inner.command(Command::Close);
    }
}

mcp_sansio::opaque_debug!(Client |it| { era: it.era() });

// Requests of the protocol by name.

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
            left = left
                .saturating_sub(self.0.inner.clock.now().saturating_duration_since(over.started));
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

// Subscriptions to changes.

/// A stream of changes. It ends when the server ends the subscription, or with the connection.
/// Repeated changes that have not been read are reported once. Dropping it ends the subscription.
///
/// After the end of the connection ([`CallError::Closed`]) it goes on if the client
/// [reconnects](Client::reconnect): poll it again.
pub struct Subscription {
    call: PendingCall,
    filter: OwnedJson,
    ended: Option<Option<CallError>>,
}

impl Client {
    /// Subscribes to changes, and waits until the server has acknowledged it.
    ///
    /// A modern server gets `subscriptions/listen`. A legacy server reports changes of its lists
    /// unasked, and gets a `resources/subscribe` for each resource.
    ///
    /// Cancel safe: dropping the future cancels the call.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn listen(
        &self,
        filter: &SubscriptionFilter<'_>,
        mut options: CallOptions,
    ) -> Result<Subscription, CallError> {
        options.limit = Some(self.limit(options));
        let call = self.start(options, |session, now, options| {
            session.engine.listen(now, filter, options, &mut session.app)
        });
        let call = call.await?;
        let acknowledged = poll_fn(|cx| {
            self.0.inner.poll(cx, |session| {
                if let Some(filter) = session.engine.acknowledged(call.id) {
                    return Poll::Ready(Ok(filter.clone()));
                }
                if let Some(over) = session.engine.take(call.id) {
                    return Poll::Ready(Err(over.result.err().unwrap_or(CallError::Closed)));
                }
                session.app.events.wake_by(call.id, cx.waker());
                Poll::Pending
            })
        });
        let filter = acknowledged.await?;
        Ok(Subscription { call, filter, ended: None })
    }
}

impl Subscription {
    /// Returns the [`SubscriptionFilter`] that the server acknowledged: of a legacy server, all
    /// that was asked for.
    pub fn acknowledged(&self) -> RawJson<'_> {
        self.filter.as_json()
    }

    /// Returns the error that ended the stream. `None` while it is open, and if the server ended
    /// it.
    pub fn error(&self) -> Option<&CallError> {
        self.ended.as_ref()?.as_ref()
    }
}

impl Stream for Subscription {
    type Item = Change;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        let this = self.get_mut();
        if !matches!(this.ended, None | Some(Some(CallError::Closed))) {
            return Poll::Ready(None);
        }
        let change = ready!(this.call.poll_change(cx));
        this.ended = change.as_ref().err().cloned();
        Poll::Ready(change.ok())
    }
}

mcp_sansio::opaque_debug!(Subscription { filter, ended });
