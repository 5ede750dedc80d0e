//! What a handler is given.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;

use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Arguments, ClientFeatures, Delivery, ErrorCode, LogMessage, Method, OwnedJson, OwnedRequest,
    Payload, Progress, Request, RequestHandle, Revision, SendError, Target,
};
use serde::Serialize;

use super::answers::InputResponse;
use super::app::{IN_FLIGHT, SUBSCRIPTIONS};
use super::broadcast::Broadcaster;
use super::connection_handle::{ConnectionHandle, Notification, WaitForRoom};
use super::inner::ParamsReservation;
use super::input::InputResponseFuture;
use super::mrtr::MrtrState;
use super::reply::{Failure, Reply};

/// A request, and what its handler speaks through. Owned: it may go to other threads.
pub struct Context<const N: usize = IN_FLIGHT, const S: usize = SUBSCRIPTIONS> {
    pub(super) active: Arc<ActiveRequest>,
    pub(super) connection: Arc<dyn ConnectionHandle>,
    pub(super) broadcaster: Broadcaster,
}

/// A request that a handler works on.
pub(super) struct ActiveRequest {
    pub(super) handle: RequestHandle,
    pub(super) request: OwnedRequest,
    pub(super) target: Target<'static>,
    pub(super) mrtr: MrtrState,
    pub(super) _held: Option<BodyReservation>,
    /// Of what all requests may take.
    pub(super) _params: ParamsReservation,
}

impl ActiveRequest {
    pub(super) fn name(&self) -> &'static str {
        match self.target {
            Target::Tool(tool) => tool.name.as_plain().unwrap_or_default(),
            Target::Prompt(prompt) => prompt.name.as_plain().unwrap_or_default(),
            _ => "",
        }
    }
}

/// A request's share of a budget of bytes, which is given back when it is dropped.
pub(super) type BodyReservation = Arc<dyn Any + Send + Sync>;

impl<const N: usize, const S: usize> Context<N, S> {
    /// The request: its method, parameters, and who asks.
    #[must_use]
    pub fn request(&self) -> Request<'_> {
        self.active.request.as_request()
    }

    /// What it is about, by the catalog. [`Target::Other`] without one.
    #[must_use]
    pub fn target(&self) -> Target<'static> {
        self.active.target
    }

    /// The name of the tool or prompt, as the catalog has it; empty for anything else.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.active.name()
    }

    /// The arguments of the call.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'_> {
        self.request().arguments()
    }

    /// What the client can be asked.
    #[must_use]
    pub fn client(&self) -> ClientFeatures {
        self.request().capabilities
    }

    /// Writes the answer down; return it. Anything will do that serializes as a result of the
    /// request's method: a JSON object that has `content` for `tools/call`, `contents` for
    /// `resources/read`, `messages` for `prompts/get`, and `completion` for `completion/complete`.
    ///
    /// # Errors
    /// When the value's `Serialize` fails. When it is no such object: the client is told so with
    /// -32603, since no client could read it.
    pub fn reply<T: Serialize + ?Sized>(&self, result: &T) -> Result<Reply, Failure> {
        let result = OwnedJson::new(result, self.revision())?;
        let required = match self.request().method {
            Method::ToolsCall => Some("content"),
            Method::ResourcesRead => Some("contents"),
            Method::PromptsGet => Some("messages"),
            Method::CompletionComplete => Some("completion"),
            _ => None,
        };
        let has = |member| result.as_raw().get(member).is_some();
        if result.as_raw().is_object() && (required.is_none_or(has) || has("resultType")) {
            return Ok(Reply(result));
        }
        let member =
            required.map_or(String::new(), |member| format!(" with the member {member:?}"));
        let message = format!(
            "The handler's result is not a JSON object{member}, which this method requires"
        );
        Err(Failure::error(ErrorCode::InternalError, message))
    }

    /// Tells the client how far its request has come, if it asked. Waits while the client does not
    /// read.
    ///
    /// # Errors
    /// When nobody waits any more, or the message is longer than all room there is: `?` is right
    /// for both.
    pub async fn progress(&self, progress: &Progress<'_>) -> Result<(), Failure> {
        let handle = self.active.handle;
        let now = self.connection.now();
        let mut waiting = WaitForRoom::new(&*self.connection);
        sent(
            poll_fn(|cx| {
                self.connection.poll_notify(
                    handle,
                    &Notification::Progress(now, progress),
                    &mut waiting.place,
                    cx,
                )
            })
            .await,
        )
    }

    /// Logs to the client, if it asked for that level. Waits while the client does not read.
    ///
    /// # Errors
    /// As [`progress`](Self::progress), and where the capability `logging` was not declared.
    pub async fn log<T: Serialize + ?Sized>(
        &self,
        message: &LogMessage<'_, T>,
    ) -> Result<(), Failure> {
        let handle = self.active.handle;
        let mut waiting = WaitForRoom::new(&*self.connection);
        let told = poll_fn(|cx| {
            let data = mcp_sansio::Json(message.data);
            let message = LogMessage {
                level: message.level,
                logger: message.logger,
                data: &data as &dyn Payload,
            };
            self.connection.poll_notify(
                handle,
                &Notification::Log(&message),
                &mut waiting.place,
                cx,
            )
        });
        sent(told.await)
    }

    /// Asks the client, in whichever way its revision has; see the
    /// [module](super::super#asking-in-both-eras). `key` is the question's name, unique in its
    /// handler.
    ///
    /// # Errors
    /// [`Failure::missing_capability`] when the client did not declare that it can be asked,
    /// [`Failure::invalid_input_response`] when it refused or did not answer in time. And in 2026-07-28, when
    /// there is no answer yet. `?` is right for all.
    pub async fn request_input(
        &self,
        key: &str,
        question: InputRequest<'_>,
    ) -> Result<InputResponse, Failure> {
        let [answer] = self.request_inputs([(key, question)]).await?;
        Ok(answer)
    }

    /// Asks several questions at once: in 2026-07-28, in one round.
    ///
    /// # Errors
    /// As [`request_input`](Self::request_input).
    pub async fn request_inputs<const K: usize>(
        &self,
        questions: [(&str, InputRequest<'_>); K],
    ) -> Result<[InputResponse; K], Failure> {
        let request = self.request();
        let needed = questions
            .iter()
            .fold(ClientFeatures::NONE, |needed, (_, question)| needed.and(question.needs()));
        if !request.capabilities.contains(needed) {
            return Err(Failure::missing_capability(needed));
        }
        let mut answers = Vec::with_capacity(K);
        if request.revision.is_modern() {
            let mut is_complete = true;
            for (key, question) in &questions {
                match self.active.mrtr.input_response(key, &self.active.request) {
                    Some(json) => answers.push(InputResponse { key: (*key).to_owned(), json }),
                    None => {
                        self.active
                            .mrtr
                            .add_missing(key, OwnedJson::new(question, request.revision)?);
                        is_complete = false;
                    }
                }
            }
            if !is_complete {
                return Err(Failure::ASKED);
            }
        } else {
            let mut asking = Vec::with_capacity(K);
            for (key, question) in &questions {
                let question = OwnedJson::new(question, request.revision)?;
                asking.push((
                    *key,
                    InputResponseFuture::new(
                        Arc::clone(&self.connection),
                        request.handle,
                        question,
                    ),
                ));
            }
            for (key, asking) in asking {
                answers.push(InputResponse { key: key.to_owned(), json: asking.await? });
            }
        }
        answers.try_into().map_err(|_| SendError::Value.into())
    }

    /// Keeps a text for the next round of this request (2026-07-28; before, there is only one). The
    /// client carries it, and can read and change it unless the [`App`](super::App) has a
    /// [`StateProtector`](super::StateProtector). From then on an answer counts only when it comes with such a text.
    pub fn set_request_state(&self, state: impl Into<String>) {
        self.active.mrtr.set_request_state(state.into());
    }

    /// What was [kept](Self::set_request_state) in an earlier round.
    #[must_use]
    pub fn request_state(&self) -> Option<String> {
        self.active.mrtr.request_state()
    }

    /// Lets the connection go on which the client waits: it comes back for the answer after
    /// [`HttpOptions::retry`](crate::asynchronous::http::HttpOptions::retry). For work that takes long
    /// while connections are dear. `false` where that cannot be done: only in a session of
    /// 2025-11-25 over HTTP.
    #[cfg(feature = "http")]
    pub fn release_connection(&self) -> bool {
        self.revision() == Revision::V2025_11_25
            && self.connection.release_connection(self.active.handle)
    }

    /// Who the client is, as the check of an application over HTTP has found out. `None` where
    /// nothing checks it.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.connection.principal()
    }

    /// Whether nobody waits for an answer any more. The handler's future is dropped then; this is
    /// for work that it has sent elsewhere.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        !self.connection.is_open(self.active.handle)
    }

    /// What reaches all connections, this one included.
    #[must_use]
    pub fn broadcaster(&self) -> &Broadcaster {
        &self.broadcaster
    }

    fn revision(&self) -> Revision {
        self.request().revision
    }
}

impl<const N: usize, const S: usize> fmt::Debug for Context<N, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("request", &self.request().params.raw())
            .finish_non_exhaustive()
    }
}

/// Who is told nothing any more is to stop.
fn sent(answered: Result<Delivery, SendError>) -> Result<(), Failure> {
    if answered? == Delivery::Gone { Err(Failure::GONE) } else { Ok(()) }
}
