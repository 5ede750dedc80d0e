//! The client's end of the line, with an application that responds to every input request.

use mcp_sansio::types::{
    CreateMessageResult, ElicitResult, InputRequest, InputResponse, InputResponses,
    ListRootsResult, Role, Root, SamplingMessageContent, SubscriptionFilter, Text,
};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Changed, Client, ClientConfig, ClientEvent, ConnectError,
    InputRequired, InputResponseParams, Instant, OwnedJson, RawJson, RequestHandle, RpcError,
    SendError,
};
use serde_json::Value;

use super::{Application, End, Port};
use crate::memory::new_client;

type Machine<'c> = Client<'c>;

pub type ClientEnd<'c> = End<Machine<'c>, ClientApp>;

#[derive(Default)]
pub struct ClientApp {
    /// The events, as text.
    pub log: Vec<String>,
    pub waiting: Vec<Waiting>,
    /// Whether it leaves the server's requests open.
    pub deaf: bool,
    pub asked: Vec<RequestHandle>,
}

pub struct Waiting {
    /// The application's name for it.
    pub label: String,
    pub call: Call,
    method: String,
    params: OwnedJson,
    options: CallOptions,
}

impl<'c> ClientEnd<'c> {
    pub fn with_config(config: &'c ClientConfig<'c>, room: usize) -> Self {
        Self::new(new_client::<4>(config), room, ClientApp::default())
    }

    pub fn request(
        &mut self,
        now: Instant,
        label: &str,
        method: &str,
        params: &str,
        options: CallOptions,
    ) -> Result<Call, SendError> {
        let params = OwnedJson::from(RawJson::parse(params).expect("JSON"));
        let call =
            self.send(|client, tx| client.request(now, method, &params.as_json(), options, tx))?;
        let (label, method) = (label.into(), method.into());
        self.app.waiting.push(Waiting { label, call, method, params, options });
        Ok(call)
    }

    pub fn listen(
        &mut self,
        now: Instant,
        label: &str,
        filter: &SubscriptionFilter<'_>,
    ) -> Result<Call, SendError> {
        let options = CallOptions::new();
        let call = self.send(|client, tx| client.listen(now, filter, options, tx))?;
        let (label, method, params) = (label.into(), String::new(), RawJson::EMPTY.into());
        self.app.waiting.push(Waiting { label, call, method, params, options });
        Ok(call)
    }

    /// Cancels a call. Returns whether it was open.
    pub fn cancel(&mut self, label: &str, reason: Option<&str>) -> bool {
        let mut labelled = self.app.waiting.extract_if(.., |waiting| waiting.label == label);
        let Waiting { call, .. } = labelled.next().expect("a call with that label is open");
        drop(labelled);
        let was_open = self.machine.is_call_open(call);
        self.send(|client, tx| client.cancel_call(call, reason, tx)).expect("only Full");
        was_open
    }

    pub fn close(&mut self) {
        let (app, mut port) = self.parts(Instant::from_millis(0));
        while let Some(event) = port.machine.close() {
            app.event(&mut port, &event);
        }
    }
}

impl<'c> Application<Machine<'c>> for ClientApp {
    fn event(&mut self, port: &mut Port<'_, Machine<'c>>, event: &ClientEvent<'_>) {
        let words = match event {
            ClientEvent::Connected(opened) => format!(
                "opened {} {:?}",
                opened.revision,
                opened.server_info().map(RawJson::as_str)
            ),
            ClientEvent::ConnectFailed(error) => format!("open failed: {}", reason(error)),
            ClientEvent::CallFinished { call, outcome } => {
                assert!(!port.machine.is_call_open(*call));
                let ended = self.waiting.extract_if(.., |waiting| waiting.call == *call).next();
                let waiting = ended.expect("each request ends once");
                let label = waiting.label.clone();
                let words = match outcome {
                    CallOutcome::Result(result) => {
                        let (result, modern) = without_the_revisions(*result);
                        let revision = port.machine.revision().expect("the client is connected");
                        assert!(result.is_object() && modern == revision.is_modern());
                        result.to_string()
                    }
                    CallOutcome::Error(error) => format!("error {}", error.code()),
                    CallOutcome::InputRequired(input) => {
                        self.retry(port, waiting, input);
                        let requests = input.requests();
                        let asked = requests.iter().map(|(_, request)| request.expect("a request"));
                        asked.fold(format!("round {}", input.round()), |words, asked| {
                            format!("{words} {}", name(&asked))
                        })
                    }
                    CallOutcome::Invalid(violation) => format!("invalid: {violation:?}"),
                    other => format!("{other:?}"),
                };
                format!("{label}: {words}")
            }
            ClientEvent::Progress { call, params } => {
                let params: Value = serde_json::from_str(params.as_str()).expect("JSON");
                let message = params["message"].as_str().unwrap_or("no message");
                format!(
                    "{}: progress {}/{} {message}",
                    self.label(*call),
                    params["progress"],
                    params["total"]
                )
            }
            ClientEvent::Listening { call, filter } => {
                format!("{}: listening {}", self.label(*call), filter.as_str())
            }
            ClientEvent::Changed { listen, what } => {
                let what = match what {
                    Changed::Resource { uri } => format!("{uri:?}"),
                    other => format!("{other:?}"),
                };
                format!("{}: changed {what}", listen.map_or("session", |call| self.label(call)))
            }
            ClientEvent::Log { params } => format!("log {}", params.as_str()),
            ClientEvent::Request(request) => {
                let question = request.input_request().expect("an input request");
                self.log.push(format!("asked {}", name(&question)));
                if self.deaf {
                    return self.asked.push(request.handle);
                }
                let answer = answer(&question);
                let answered = port.send(|client, tx| match &answer {
                    Some(answer) => client.respond(request.handle, answer, tx),
                    None => client.respond_error(request.handle, &RpcError::internal("never"), tx),
                });
                return answered.expect("a response");
            }
            ClientEvent::RequestCancelled { request, .. }
            | ClientEvent::RequestTimedOut { request } => {
                self.asked.retain(|asked| asked != request);
                format!("{event:?}").split(' ').next().unwrap_or_default().to_owned()
            }
            ClientEvent::Notification { method, .. } => format!("notification {method:?}"),
            other => format!("{other:?}"),
        };
        self.log.push(words);
    }
}

impl ClientApp {
    fn label(&self, call: Call) -> &str {
        &self.waiting.iter().find(|waiting| waiting.call == call).expect("the call is open").label
    }

    /// Retries a call with the input responses.
    fn retry(
        &mut self,
        port: &mut Port<'_, Machine<'_>>,
        waiting: Waiting,
        input: &InputRequired<'_>,
    ) {
        let questions = input.requests();
        let answers: Vec<(String, InputResponse<'_>)> = questions
            .iter()
            .map(|(key, request)| {
                let request = request.expect("an input request");
                (key.to_string(), answer(&request).expect("a response"))
            })
            .collect();
        let answers: Vec<(&str, InputResponse<'_>)> =
            answers.iter().map(|(key, answer)| (key.as_str(), *answer)).collect();
        let responses = InputResponses::new(&answers);
        let inputs = if input.raw_requests().is_some() {
            input.retry_params(&responses)
        } else {
            InputResponseParams::new(input.round()).state(input.state().map(Text::from_json))
        };
        let (method, params, options) =
            (waiting.method.as_str(), waiting.params.as_json(), waiting.options);
        let now = port.now;
        let call = port.send(|client, tx| client.retry(now, method, &params, &inputs, options, tx));
        self.waiting.push(Waiting { call: call.expect("room"), ..waiting });
    }
}

/// The application's response, in both eras.
fn answer<'a>(question: &InputRequest<'_>) -> Option<InputResponse<'a>> {
    const ROOTS: [Root<'static>; 1] = [Root::new("file:///home")];
    const TEXT: SamplingMessageContent<'static> = SamplingMessageContent::text("42");
    Some(match question {
        InputRequest::Elicit(_) => {
            InputResponse::Elicit(ElicitResult::accept(RawJson::from_static(r#"{"who":"me"}"#)))
        }
        InputRequest::CreateMessage(_) => {
            InputResponse::CreateMessage(CreateMessageResult::new(Role::Assistant, TEXT, "m"))
        }
        InputRequest::ListRoots => InputResponse::ListRoots(ListRootsResult::new(&ROOTS)),
        _ => return None,
    })
}

fn name(question: &InputRequest<'_>) -> &'static str {
    match question {
        InputRequest::Elicit(_) => "elicitation",
        InputRequest::CreateMessage(_) => "sampling",
        InputRequest::ListRoots => "roots",
        _ => "something",
    }
}

fn reason(error: &ConnectError<'_>) -> String {
    match error {
        ConnectError::Refused(error) => format!("refused {}", error.code()),
        ConnectError::NoCommonRevision(theirs) => {
            format!("no common revision {}", theirs.map_or("?", RawJson::as_str))
        }
        ConnectError::Invalid(violation) => format!("invalid {violation:?}"),
        _ => format!("{error:?}"),
    }
}

/// Removes the members of every modern result; the flag says whether they were there.
fn without_the_revisions(result: RawJson<'_>) -> (Value, bool) {
    let mut result: Value = serde_json::from_str(result.as_str()).expect("JSON");
    let members = result.as_object_mut().expect("an object");
    let modern = members.remove("resultType").is_some_and(|kind| kind == "complete")
        && members
            .remove("_meta")
            .is_some_and(|meta| meta["io.modelcontextprotocol/serverInfo"].is_object());
    members.remove("ttlMs");
    members.remove("cacheScope");
    (result, modern)
}
