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

use std::fmt::Debug;

use mcp_sansio::{CallOutcome, PeerError, RawJson, RequestHandle, Revision, ServerEvent};

use super::claims::Event;
use super::play::Player;
use super::setup::code;

impl Player<'_> {
    pub(super) fn describe(&mut self, event: &ServerEvent<'_>) -> Event {
        match event {
            ServerEvent::Request(request) => {
                let name = self.took(request.handle, request.revision);
                let (code, method) = (code(request.revision), request.method);
                Event::new(format!("{name} {code} {method}"))
                    .optional(request.wants_progress.then_some("progress"))
                    .detail(can(request.capabilities))
                    .detail(request.params.as_json().as_str())
            }
            ServerEvent::Listening { request } => {
                Event::new(format!("listening {}", self.took(*request, Revision::LATEST)))
            }
            ServerEvent::RequestCancelled { request, reason } => {
                Event::new(format!("cancelled {}", self.bench.name(*request)))
                    .optional(reason.map(|reason| reason.as_json().as_str()))
            }
            ServerEvent::RequestTimedOut { request } => {
                Event::new(format!("timed out {}", self.bench.name(*request)))
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
                Event::new(format!("result {} {}", self.bench.call_name(*call), result.as_str()))
            }
            ServerEvent::CallFinished { call, outcome: CallOutcome::Error(error) } => {
                peer_error(&format!("error {}", self.bench.call_name(*call)), error)
            }
            ServerEvent::CallFinished { call, outcome: CallOutcome::TimedOut } => {
                Event::new(format!("timed out {}", self.bench.call_name(*call)))
            }
            ServerEvent::CallFinished { call, outcome: CallOutcome::Cancelled } => {
                Event::new(format!("cancelled {}", self.bench.call_name(*call)))
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

    /// Notes a request; returns its name.
    fn took(&mut self, request: RequestHandle, revision: Revision) -> String {
        self.bench.requests.push(request);
        self.revisions.push(revision);
        self.bench.name(request)
    }
}

pub(super) fn peer_error(head: &str, error: &PeerError<'_>) -> Event {
    Event::new(format!("{head} {}", error.code()))
        .optional(error.message().map(|message| message.as_json().as_str()))
        .optional(error.data().map(RawJson::as_str))
}

pub(super) fn can(set: impl Debug) -> String {
    format!("can {set:?}").replace(['{', '}', ','], "").trim().into()
}
