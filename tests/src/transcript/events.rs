//! Events as text. Details, in brackets here, may be left out.
//!
//! | event | when |
//! | --- | --- |
//! | `#1 D tools/call [progress] [can ROOTS SAMPLING] [PARAMS]` | the first request, under revision D |
//! | `listening #2` | a `subscriptions/listen`; numbered like a request |
//! | `cancelled #1 [REASON]`, `timed out #1` | a request has ended |
//! | `result ?1 RESULT`, `error ?1 CODE [MESSAGE] [DATA]` | the response to the first call |
//! | `timed out ?1`, `cancelled ?1` | it has ended otherwise |
//! | `initialize D [PARAMS]`, `initialized`, `shutdown`, `unresponsive` | |
//! | `log level warning`, `subscribed URI`, `unsubscribed URI` | |
//! | `notification METHOD [PARAMS]` | |
//! | `peer error CODE [MESSAGE] [DATA]` | an error without an id |
//! | `violation NotJson` | |

use mcp_sansio::{
    Call, CallOutcome, ClientFeatures, Method, PeerError, RequestHandle, Revision, ServerEvent,
};

use super::claims::Event;
use super::play::Player;
use super::setup::code;

impl Player<'_> {
    pub(super) fn describe(&mut self, event: &ServerEvent<'_>) -> Event {
        match event {
            ServerEvent::Request(request) => {
                self.requests.push((request.handle, request.revision));
                let method = method_name(request.method);
                let mut event = Event::new(format!(
                    "#{} {} {method}",
                    self.requests.len(),
                    code(request.revision)
                ));
                if request.wants_progress {
                    event = event.detail("progress");
                }
                event
                    .detail(capabilities(request.capabilities))
                    .detail(request.params.as_json().as_str())
            }
            ServerEvent::Listening { request } => {
                self.requests.push((*request, Revision::LATEST));
                Event::new(format!("listening #{}", self.requests.len()))
            }
            ServerEvent::RequestCancelled { request, reason } => {
                let event = Event::new(format!("cancelled {}", self.name(*request)));
                match reason {
                    Some(reason) => event.detail(reason.as_json().as_str()),
                    None => event,
                }
            }
            ServerEvent::RequestTimedOut { request } => {
                Event::new(format!("timed out {}", self.name(*request)))
            }
            ServerEvent::Initialize { revision, params } => {
                Event::new(format!("initialize {}", code(*revision))).detail(params.as_str())
            }
            ServerEvent::Initialized => Event::new("initialized"),
            ServerEvent::Pinged => Event::new("pinged"),
            ServerEvent::LogLevel(level) => Event::new(format!("log level {}", level.as_str())),
            ServerEvent::Subscribed { uri } => Event::new(format!("subscribed {uri}")),
            ServerEvent::Unsubscribed { uri } => Event::new(format!("unsubscribed {uri}")),
            ServerEvent::CallFinished { call, outcome: CallOutcome::Result(result) } => {
                Event::new(format!("result {} {}", self.call_name(*call), result.as_str()))
            }
            ServerEvent::CallFinished { call, outcome: CallOutcome::Error(error) } => {
                peer_error(&format!("error {}", self.call_name(*call)), error)
            }
            ServerEvent::CallFinished { call, outcome: CallOutcome::TimedOut } => {
                Event::new(format!("timed out {}", self.call_name(*call)))
            }
            ServerEvent::CallFinished { call, outcome: CallOutcome::Cancelled } => {
                Event::new(format!("cancelled {}", self.call_name(*call)))
            }
            ServerEvent::Unresponsive => Event::new("unresponsive"),
            ServerEvent::Notification { method, params } => {
                Event::new(format!("notification {method}")).detail(params.as_json().as_str())
            }
            ServerEvent::PeerError(error) => peer_error("peer error", error),
            ServerEvent::Shutdown => Event::new("shutdown"),
            ServerEvent::Violation(violation) => Event::new(format!("violation {violation:?}")),
            other => Event::new(format!("{other:?}")),
        }
    }

    fn name(&self, request: RequestHandle) -> String {
        let at = self.requests.iter().position(|(known, _)| *known == request);
        at.map_or("a request that was never seen".into(), |at| format!("#{}", at + 1))
    }

    fn call_name(&self, call: Call) -> String {
        let at = self.calls.iter().position(|known| *known == call);
        at.map_or("a call that was never made".into(), |at| format!("?{}", at + 1))
    }
}

pub(super) fn peer_error(head: &str, error: &PeerError<'_>) -> Event {
    let event = Event::new(format!("{head} {}", error.code()));
    let event = match error.message() {
        Some(message) => event.detail(message.as_json().as_str()),
        None => event,
    };
    match error.data() {
        Some(data) => event.detail(data.as_str()),
        None => event,
    }
}

fn capabilities(set: ClientFeatures) -> String {
    format!("can {set:?}").replace(['{', '}', ','], "").trim().into()
}

fn method_name(method: Method<'_>) -> String {
    let name = match method {
        Method::ToolsList => "tools/list",
        Method::ToolsCall => "tools/call",
        Method::ResourcesList => "resources/list",
        Method::ResourcesTemplatesList => "resources/templates/list",
        Method::ResourcesRead => "resources/read",
        Method::PromptsList => "prompts/list",
        Method::PromptsGet => "prompts/get",
        Method::CompletionComplete => "completion/complete",
        Method::Other(name) => return name.to_string(),
        other => return format!("{other:?}, which the server should have answered"),
    };
    name.into()
}
