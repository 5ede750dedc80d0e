//! Events of a client as text. Details, in brackets here, may be left out.
//!
//! | event | when |
//! | --- | --- |
//! | `connected D [can TOOLS LOGGING] [RESULT]` | the client is connected |
//! | `connect failed TimedOut`, `... NoCommonRevision [VERSIONS]`, `... InvalidResult`, `... refused CODE [MESSAGE] [DATA]` | connecting failed |
//! | `result ?1 RESULT`, `error ?1 CODE [MESSAGE] [DATA]` | the response to the first call |
//! | `input required ?1 [round N] [RESULT]` | the response requires input |
//! | `invalid ?1 UnknownResultType` | the response was invalid |
//! | `timed out ?1`, `ended ?1`, `closed ?1` | it ended without a response: by its timeout, by the server, with the connection |
//! | `progress ?1 [PARAMS]`, `listening ?1 [FILTER]` | |
//! | `changed tools`, `changed tools by ?1`, `changed resource URI by ?1` | a change, with the subscription if there is one |
//! | `log [PARAMS]` | |
//! | `#1 roots/list [progress] [PARAMS]` | the first request of the server |
//! | `cancelled #1 [REASON]`, `timed out #1` | it has ended |
//! | `pinged`, `unresponsive`, `unexpected discovery [RESULT]` | |
//! | `notification METHOD [PARAMS]` | |
//! | `peer error CODE [MESSAGE] [DATA]` | an error without an id |
//! | `violation NotJson` | |

use mcp_sansio::{Call, CallOutcome, Changed, ClientEvent, ConnectError, Connected, RawJson};

use super::super::claims::Event;
use super::super::events::{can, peer_error};
use super::super::setup::code;
use super::play::{Asked, Player};

impl Player<'_> {
    pub(super) fn describe(&mut self, event: &ClientEvent<'_>) -> Event {
        match event {
            ClientEvent::Connected(Connected { revision, capabilities, result, .. }) => {
                Event::new(format!("connected {}", code(*revision)))
                    .detail(can(capabilities))
                    .detail(result.as_str())
            }
            ClientEvent::ConnectFailed(ConnectError::Refused(error)) => {
                peer_error("connect failed refused", error)
            }
            ClientEvent::ConnectFailed(ConnectError::NoCommonRevision(theirs)) => {
                Event::new("connect failed NoCommonRevision").optional(theirs.map(RawJson::as_str))
            }
            ClientEvent::ConnectFailed(ConnectError::Invalid(violation)) => {
                Event::new(format!("connect failed {violation:?}"))
            }
            ClientEvent::ConnectFailed(error) => Event::new(format!("connect failed {error:?}")),
            ClientEvent::CallFinished { call, outcome } => self.ended(*call, outcome),
            ClientEvent::Progress { call, params } => {
                Event::new(format!("progress {}", self.bench.call_name(*call)))
                    .detail(params.as_str())
            }
            ClientEvent::Listening { call, filter } => {
                Event::new(format!("listening {}", self.bench.call_name(*call)))
                    .detail(filter.as_str())
            }
            ClientEvent::Changed { listen, what } => {
                let what = match what {
                    Changed::Tools => "tools".into(),
                    Changed::Prompts => "prompts".into(),
                    Changed::Resources => "resources".into(),
                    Changed::Resource { uri } => format!("resource {uri}"),
                    other => format!("{other:?}"),
                };
                let by = |listen| format!(" by {}", self.bench.call_name(listen));
                let by = listen.map_or(String::new(), by);
                Event::new(format!("changed {what}{by}"))
            }
            ClientEvent::Log { params } => Event::new("log").detail(params.as_str()),
            ClientEvent::Request(request) => {
                self.bench.requests.push(request.handle);
                Event::new(format!("{} {}", self.bench.name(request.handle), request.method))
                    .optional(request.wants_progress.then_some("progress"))
                    .detail(request.params.as_json().as_str())
            }
            ClientEvent::RequestCancelled { request, reason } => {
                Event::new(format!("cancelled {}", self.bench.name(*request)))
                    .optional(reason.map(|reason| reason.as_json().as_str()))
            }
            ClientEvent::RequestTimedOut { request } => {
                Event::new(format!("timed out {}", self.bench.name(*request)))
            }
            ClientEvent::Pinged => Event::new("pinged"),
            ClientEvent::Unresponsive => Event::new("unresponsive"),
            ClientEvent::UnexpectedDiscovery(result) => {
                Event::new("unexpected discovery").detail(result.as_str())
            }
            ClientEvent::Notification { method, params } => {
                Event::new(format!("notification {method}")).detail(params.as_json().as_str())
            }
            ClientEvent::PeerError(error) => peer_error("peer error", error),
            ClientEvent::Violation(violation) => Event::new(format!("violation {violation:?}")),
            other => Event::new(format!("{other:?}")),
        }
    }

    fn ended(&mut self, call: Call, outcome: &CallOutcome<'_>) -> Event {
        let name = self.bench.call_name(call);
        match outcome {
            CallOutcome::Result(result) => Event::new(format!("result {name} {}", result.as_str())),
            CallOutcome::Error(error) => peer_error(&format!("error {name}"), error),
            CallOutcome::InputRequired(input) => {
                let state = input.state().map(|state| state.as_json().to_string());
                self.asked.insert(name.clone(), Asked { round: input.round(), state });
                Event::new(format!("input required {name}"))
                    .detail(format!("round {}", input.round()))
                    .detail(input.as_json().as_str())
            }
            CallOutcome::Invalid(violation) => Event::new(format!("invalid {name} {violation:?}")),
            CallOutcome::EndedByServer => Event::new(format!("ended {name}")),
            CallOutcome::TimedOut => Event::new(format!("timed out {name}")),
            CallOutcome::Closed => Event::new(format!("closed {name}")),
            other => Event::new(format!("{other:?}")),
        }
    }
}
