//! The context of a handler.

use std::future::poll_fn;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;

use mcp_sansio::http::RequestHead;
use mcp_sansio::tasks::{TaskId, TaskKey};
use mcp_sansio::typed::{AsyncToolHandler, CallOf, Prompts, ToolHandler, Tools};
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Encode, Link, OrToolError as _, OwnedJson, OwnedRequest, Request, RequestHandle, Revision,
    RpcError, Target, ToolContext, ToolError,
};
use mcp_sansio_engine::PeerAddress;
use mcp_sansio_engine::internal::{
    Response, completion_of, method_not_found, nothing_found, result_of, text_of,
};
use mcp_sansio_engine::site::{OwnedHead, Principal, Scopes, ServerKey};

use super::admission::{Found, Slot};
use super::broadcast::Broadcaster;
use super::reply::{HandlerResult, IntoReply as _, PendingResponse, Reply};
use super::source::RequestSource;
use super::task_hub::TaskWork;
use crate::lock::lock;
use crate::observer::{Ended, ObservedRequest};
use crate::panics::{Panic, caught};
use crate::rounds::Round;
use crate::runtime::tasks::Tasks;
use crate::shared_catalog::Snapshot;

/// A request, and the connection that its handler communicates through. It is owned, so it can be
/// moved to other threads.
pub struct Context {
    pub(crate) active: Arc<ActiveRequest>,
    pub(crate) source: Arc<dyn RequestSource>,
}

/// A request that has been admitted, until its handler has ended.
pub(crate) struct ActiveRequest {
    pub(crate) handle: RequestHandle,
    pub(crate) request: OwnedRequest,
    /// `None` without a catalog.
    pub(crate) found: Option<Found>,
    /// Whether the arguments are known to be valid.
    pub(crate) is_valid: AtomicBool,
    pub(crate) round: Round,
    pub(crate) origin: Origin,
    pub(crate) observed: Option<Box<ObservedRequest<'static>>>,
    /// Of a call that may become a task.
    pub(crate) task: Option<Box<TaskWork>>,
    /// The catalog of a request for a list that is not the same for all.
    pub(crate) listed: Option<Snapshot<'static>>,
    /// The task whose result this request waits for (2025-11-25).
    pub(crate) awaited: OnceLock<(TaskKey, TaskId)>,
    /// Whether it is about tasks of other servers.
    pub(crate) is_elsewhere: bool,
    /// Counts towards [`Limits::max_params`](super::Limits::max_params).
    pub(crate) slot: Slot,
}

/// The HTTP request that a request came with. `None` on a stream.
pub(crate) type Origin = Option<HttpOrigin>;

pub(crate) struct HttpOrigin {
    pub(crate) server: ServerKey,
    pub(crate) principal: Option<Arc<Principal>>,
    pub(crate) head: Option<OwnedHead>,
    /// The number of its session at all nodes of a fleet.
    pub(crate) session: Option<u64>,
    /// The rules for scopes, of a request for a list that shows only what the principal may use.
    pub(crate) filter: Option<Scopes>,
}

/// Whether the principal of a request for a list may see a part of it. A catalog without scopes has
/// the same lists for all.
pub(crate) fn is_part(snapshot: &Snapshot<'_>, origin: &Origin) -> bool {
    let has_filter = origin.as_ref().is_some_and(|origin| origin.filter.is_some());
    has_filter && snapshot.catalog().has_scopes()
}

/// Returns who has made a request.
pub(crate) fn principal_of(origin: &Origin) -> Option<&Principal> {
    origin.as_ref()?.principal.as_deref()
}

/// Returns a text that names the principal of a request.
pub(crate) fn owner_text(origin: &Origin) -> Option<String> {
    let Principal { issuer, subject, .. } = principal_of(origin)?;
    Some(format!("{}:{issuer}{subject}", issuer.len()))
}

/// Returns issuer and subject of a principal that a text names.
pub(crate) fn parts_of_owner(text: &str) -> Option<(&str, &str)> {
    let (length, both) = text.split_once(':')?;
    both.split_at_checked(length.parse().ok()?)
}

/// Returns what an observer is told of the client of an HTTP request: address and subject.
pub(crate) fn client_of(origin: &Origin) -> (Option<PeerAddress>, Option<&str>) {
    let Some(HttpOrigin { principal, head, .. }) = origin else { return (None, None) };
    let subject = principal.as_deref().map(|principal| principal.subject.as_str());
    (head.as_ref().and_then(OwnedHead::peer_address), subject)
}

impl ActiveRequest {
    /// Returns the response to a request for a list of which its principal may see a part.
    pub(crate) fn part_of_list(self: &Arc<Self>) -> Option<PendingResponse> {
        let snapshot = self.listed.as_ref()?;
        let HttpOrigin { principal, filter, .. } = self.origin.as_ref()?;
        let scopes = filter.as_ref()?;
        let principal = principal.as_deref()?;
        Some(match caught(|| scopes.granted(&snapshot.catalog(), principal)) {
            Ok(granted) => PendingResponse::Part(Arc::clone(self), granted),
            Err(panic) => {
                self.panicked(&panic);
                PendingResponse::PANICKED
            }
        })
    }

    fn target(&self) -> Target<'_> {
        self.found.as_ref().map_or(Target::Other, Found::target)
    }

    pub(crate) fn name(&self) -> &str {
        match self.target() {
            Target::Tool(tool) => tool.key().as_plain().unwrap_or_default(),
            Target::Prompt(prompt) => prompt.key().as_plain().unwrap_or_default(),
            _ => "",
        }
    }

    /// Runs the handler until it ends or waits.
    pub(crate) fn run<R>(&self, handler: impl FnOnce() -> R) -> Result<R, Panic> {
        match &self.observed {
            Some(observed) => observed.run(handler),
            None => caught(handler),
        }
    }

    /// Tells the observer, if there is one.
    pub(crate) fn tell(&self, tell: impl FnOnce(&ObservedRequest<'static>)) {
        if let Some(observed) = &self.observed {
            tell(observed);
        }
    }

    pub(crate) fn ended(&self, how: Ended) {
        self.tell(|observed| observed.ended(how));
    }

    pub(crate) fn panicked(&self, panic: &Panic) {
        self.tell(|observed| observed.panicked(panic));
    }

    pub(crate) fn revision(&self) -> Revision {
        self.request.as_request().revision
    }

    /// Returns the request, whose arguments are valid.
    fn valid_request(&self) -> Result<Request<'_>, ToolError<'static>> {
        let request = self.request.as_request();
        if let Some(found) = &self.found
            && !self.is_valid.load(Relaxed)
        {
            found.snapshot.catalog().check_unread(&found.target(), &request)?;
            self.is_valid.store(true, Relaxed);
        }
        Ok(request)
    }

    /// Reads the call of a tool, which checks its arguments.
    pub(crate) fn call<'a, T: Tools<'a>>(&'a self) -> Result<T, ToolError<'static>> {
        let error = if self.found.is_some() { method_not_found } else { nothing_found };
        let call = T::from_request(&self.request.as_request()).ok_or_else(error)?;
        let call = call.map_err(|faults| ToolError::from(faults).into_owned())?;
        self.is_valid.store(true, Relaxed);
        Ok(call)
    }

    /// Returns the task, once the call is one.
    pub(crate) fn task(&self) -> Option<(&TaskWork, TaskKey)> {
        let task = self.task.as_deref()?;
        Some((task, task.key()?))
    }

    /// Checks the result of a tool in debug builds.
    pub(crate) fn checked(&self, reply: Reply) -> HandlerResult {
        match self.target() {
            Target::Tool(tool) if cfg!(debug_assertions) => {
                let revision = self.request.as_request().revision;
                tool.check_result(&reply.0, revision).map(|()| reply)
            }
            _ => Ok(reply),
        }
    }
}

impl Context {
    /// Returns the request: its method, its parameters and the client's capabilities. Its arguments
    /// are valid.
    ///
    /// # Errors
    /// The arguments of a call are invalid, if the catalog has left their check to the reading of
    /// an enum ([`Catalog::tools_of`](mcp_sansio::Catalog::tools_of)). Use `?`.
    pub fn request(&self) -> Result<Request<'_>, ToolError<'static>> {
        self.active.valid_request()
    }

    /// Returns the request before its arguments are checked. No handler may get it.
    pub(crate) fn unread_request(&self) -> Request<'_> {
        self.active.request.as_request()
    }

    /// Returns the catalog's entry that the request names, as it was when the request arrived.
    /// [`Target::Other`] without a catalog.
    pub fn target(&self) -> Target<'_> {
        self.active.target()
    }

    /// Returns the name of the tool or prompt, as in the catalog; empty for other requests.
    pub fn name(&self) -> &str {
        self.active.name()
    }

    /// Serializes the result of the request; return it from the handler. `result` must serialize as
    /// a result of the request's method: a JSON object that has `content` for `tools/call`,
    /// `contents` for `resources/read`, `messages` for `prompts/get`, and `completion` for
    /// `completion/complete`.
    ///
    /// # Errors
    /// If `Serialize` fails, or the value is not such an object. The client then gets -32603,
    /// because it could not read the result. In debug builds it gets -32603 in place of a tool's
    /// result that breaks its output schema, too:
    /// [`Entry::check_result`](mcp_sansio::Entry::check_result). As [`request`](Self::request).
    pub fn reply<T: Encode + ?Sized>(&self, result: &T) -> HandlerResult {
        result_of(&self.request()?, result).map(Reply)
    }

    /// Reads the prompt that a `prompts/get` is for.
    ///
    /// # Errors
    /// If the arguments are invalid, which a catalog with
    /// [`prompts_of`](mcp_sansio::Catalog::prompts_of) has found before. -32601 if the request is
    /// for none of these prompts: see [`target`](Self::target).
    pub fn prompt<'c, P: Prompts<'c>>(&'c self) -> Result<P, ToolError<'static>> {
        match P::from_request(&self.unread_request()) {
            Some(prompt) => prompt.or_arguments(),
            None => Err(method_not_found()),
        }
    }

    /// Returns the value of a variable of the template that the URI of a `resources/read` matches.
    /// Empty if the template has no such variable.
    pub fn variable(&self, name: &str) -> String {
        let (target, uri) = (self.target(), self.unread_request().uri());
        let value = uri.and_then(|uri| target.variable(name, uri));
        value.map(Iterator::collect).unwrap_or_default()
    }

    /// Returns the error for a URI that matches a template, but is of no resource.
    pub fn resource_not_found(&self) -> ToolError<'static> {
        let request = self.unread_request();
        let error = match request.uri() {
            Some(uri) => RpcError::resource_not_found(uri),
            None => RpcError::invalid_params("uri must be a string"),
        };
        ToolError::from(error).into_owned()
    }

    /// Serializes a text as the result of the request: the text of a tool, the contents of the
    /// resource, with the media type that the catalog has for it, or a prompt that is one message
    /// of the user.
    ///
    /// # Errors
    /// As [`reply`](Self::reply); if the request is of another method.
    pub fn text(&self, text: &str) -> HandlerResult {
        text_of(&self.request()?, &self.target(), text).map(Reply)
    }

    /// Serializes the result of a `completion/complete`: those values that begin with what was
    /// typed. The function gets the name of the argument, or of the variable, and returns all its
    /// values. The first 100 that match are sent.
    ///
    /// ```
    /// # use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};
    /// async fn complete(ctx: Context) -> HandlerResult {
    ///     ctx.complete(|name| match name {
    ///         "city" => vec!["Bergen", "Oslo", "Paris"],
    ///         _ => vec![],
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`reply`](Self::reply); -32602 if the parameters are invalid, and -32601 for
    /// other methods.
    pub fn complete<I>(&self, values: impl FnOnce(&str) -> I) -> HandlerResult
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        completion_of(&self.request()?, values).map(Reply)
    }

    /// Returns what a handler says before its response, and what it asks, about a
    /// [request](Self::request): progress, log messages, input requests, the state of rounds, the
    /// status of a task.
    ///
    /// Input is requested from the client in the way of the request's revision: see the
    /// [module](crate::asynchronous#input-requests-in-both-eras). Messages wait while the client
    /// does not read. All futures are cancel safe: a message is written whole or not at all, and
    /// one longer than the output buffer is dropped; an input request to a legacy client is
    /// cancelled.
    ///
    /// ```
    /// use mcp_sansio::typed::Input;
    /// use mcp_sansio::types::{InputRequest, Text, TextResult};
    /// use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};
    ///
    /// #[derive(Input)]
    /// struct Guest<'a> {
    ///     /// Your name
    ///     #[arg(length = 1..=40)]
    ///     name: Text<'a>,
    /// }
    ///
    /// async fn greet(ctx: Context) -> HandlerResult {
    ///     let request = ctx.request()?;
    ///     let question = InputRequest::form::<Guest>("Who are you?");
    ///     let response = ctx.tool(&request).request_input("guest", question).await?;
    ///     match response.to_form::<Guest>()? {
    ///         Some(guest) => ctx.reply(&TextResult::new(&format!("Hello, {}", guest.name))),
    ///         None => ctx.reply(&TextResult::new("Hello")),
    ///     }
    /// }
    /// ```
    pub const fn tool<'c>(&'c self, request: &'c Request<'c>) -> ToolContext<'c, Self> {
        ToolContext::new(request, self).inputs(self)
    }

    /// Returns the principal that
    /// [`HttpOptions::authorize`](crate::asynchronous::http::HttpOptions::authorize) returned.
    /// `None` without such a check.
    pub fn principal(&self) -> Option<&Principal> {
        self.active.origin.as_ref()?.principal.as_deref()
    }

    /// Returns the head of the HTTP request: method, target and header fields. `None` on a stream.
    /// Its fields are what the client or a proxy claims.
    pub fn http_head(&self) -> Option<RequestHead<'_>> {
        Some(self.active.origin.as_ref()?.head.as_ref()?.as_head())
    }

    /// Returns whether the response is no longer awaited. The handler's future is dropped in that
    /// case; this is for work that it has moved elsewhere.
    pub fn is_gone(&self) -> bool {
        if let Some((task, _)) = self.active.task() {
            return !task.is_live();
        }
        !self.source.is_open(&self.active)
    }

    /// Returns the broadcaster, which reaches all connections, this one included.
    pub fn broadcaster(&self) -> &Broadcaster {
        &self.source.settings().broadcaster
    }

    // Calls of tools that are types.

    /// Reads the call of a tool.
    ///
    /// # Errors
    /// The arguments are invalid. -32601 if the request is no call of these tools: see
    /// [`target`](Self::target). Use `?` for both.
    pub fn call<'c, T: Tools<'c>>(&'c self) -> Result<T, ToolError<'static>> {
        self.active.call()
    }

    /// Calls a tool that returns its result at once. The lock is held meanwhile, but never across
    /// an await. A tool that requests input is called again once there is a response, whatever the
    /// revision.
    ///
    #[cfg_attr(feature = "smol", doc = "```no_run")]
    #[cfg_attr(not(feature = "smol"), doc = "```ignore")]
    /// use std::sync::Mutex;
    ///
    /// use mcp_sansio::typed::{ToolHandler, Tools};
    /// use mcp_sansio::types::Implementation;
    /// use mcp_sansio::{Catalog, NoOutput, ServerConfig, ServerFeatures, ToolContext, ToolResult};
    /// use mcp_sansio_adapters::asynchronous::{self, App};
    ///
    /// static CONFIG: ServerConfig =
    ///     ServerConfig::new(Implementation::new("counter", "0.1.0"), ServerFeatures::TOOLS);
    /// static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
    ///
    /// #[derive(Tools)]
    /// enum Call {
    ///     /// Counts on.
    ///     Count { by: u32 },
    /// }
    ///
    /// struct Counter(u32);
    ///
    /// impl ToolHandler for Counter {
    ///     type Tools = Call;
    ///     type Output<'a> = NoOutput;
    ///
    ///     fn call<'a>(&mut self, Call::Count { by }: Call, _: ToolContext<'a>) -> ToolResult<'a> {
    ///         self.0 = self.0.checked_add(by).ok_or("There are no larger numbers")?;
    ///         Ok(self.0.to_string().into())
    ///     }
    /// }
    ///
    /// fn main() -> std::io::Result<()> {
    ///     let counter = Mutex::new(Counter(0));
    ///     let app = App::new(&CONFIG, |ctx| ctx.call_tool(&counter)).catalog(&CATALOG);
    ///     let listener =
    ///         async_io::Async::<std::net::TcpListener>::bind(([127, 0, 0, 1], 8080))?;
    ///     async_io::block_on(asynchronous::serve(&app, &listener))
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of the tool. -32601 if the request is no call of these tools: see
    /// [`target`](Self::target).
    pub async fn call_tool<H: ToolHandler>(self, handler: &Mutex<H>) -> HandlerResult {
        let request = self.unread_request();
        let mut own_round: Option<Round> = None;
        // Input requests to an older client, and those of a task, go to the client one by one.
        let makes_rounds = || Link::task(&self).is_some() || !request.revision.is_modern();
        loop {
            let round = own_round.as_ref().unwrap_or(&self.active.round);
            let result = {
                let call = self.call::<CallOf<'_, H::Tools>>()?;
                let context = ToolContext::<dyn Link>::new(&request, &self).inputs(round);
                // State that a panic has left half changed is up to the handler.
                let mut handler = lock(handler);
                handler.call(call, context).into_reply(&request)
            };
            match result {
                Err(error) if error.is_input_required() && makes_rounds() => {
                    let missing = round.take_missing();
                    if missing.is_empty() {
                        return Err(error);
                    }
                    let responses = self.responses(&request, missing).await;
                    own_round = Some(round.next_round(responses));
                }
                result => return result,
            }
        }
    }

    /// Calls a tool that takes time. Several calls may run at once.
    ///
    /// The future is not `Send`, because a [`ToolContext`] is the same type in every adapter. Spawn
    /// the connection on a local executor, or one application on each thread.
    ///
    /// # Errors
    /// As [`call_tool`](Self::call_tool).
    pub async fn call_async_tool<H: AsyncToolHandler>(self, handler: &H) -> HandlerResult {
        let request = self.unread_request();
        let call = self.call::<CallOf<'_, H::Tools>>()?;
        let context = ToolContext::<dyn Link>::new(&request, &self).inputs(&self);
        handler.call(call, context).await.into_reply(&request)
    }

    /// Sends input requests to an older client, and waits for its responses.
    async fn responses(
        &self,
        request: &Request<'_>,
        input_requests: Vec<(String, OwnedJson)>,
    ) -> Vec<(String, Response)> {
        let (mut asked, mut responses) = (Tasks::new(), Vec::new());
        for (key, input_request) in input_requests {
            let response = self.response(request, key.clone(), input_request);
            asked.insert(key, response);
        }
        poll_fn(|cx| {
            while let Poll::Ready(ended) = asked.poll_next(cx) {
                let response = |ended: Result<_, _>| ended.unwrap_or(Err(ToolError::GONE));
                responses.extend(ended.map(|(key, ended)| (key, response(ended))));
            }
            if asked.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        responses
    }

    async fn response(
        &self,
        request: &Request<'_>,
        key: String,
        input_request: OwnedJson,
    ) -> Response {
        let input_request = input_request.to::<InputRequest<'_>>().or_internal()?;
        let response = self.tool(request).request_input(&key, input_request).await?;
        Ok(response.as_json().into())
    }
}

mcp_sansio::opaque_debug!(Context |it| { request: it.unread_request().params.as_json() });
