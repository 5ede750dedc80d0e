//! The state of the server's application, and checks of the events.

use mcp_sansio::{Call, CallOutcome, Change, RequestHandle, ServerEvent, Violation};

use super::server::Machine;
use crate::chaos::script::show;

/// State of the application.
#[derive(Default)]
pub(super) struct ServerApp {
    pub(super) jobs: Vec<RequestHandle>,
    pub(super) listens: Vec<RequestHandle>,
    pub(super) calls: Vec<Call>,
    pub(super) gone: Vec<RequestHandle>,
    /// Changes that not every subscriber has been told of.
    pub(super) changes: Vec<Change<'static>>,
    /// Number of progress tokens used.
    pub(super) tokens: usize,
}

impl ServerApp {
    pub(super) fn check_event(&mut self, server: &Machine, event: &ServerEvent<'_>, roomy: bool) {
        show(format_args!("   server saw {event:?}"));
        match event {
            ServerEvent::Request(request) => {
                assert!(server.is_request_open(request.handle));
                self.jobs.push(request.handle);
            }
            ServerEvent::Listening { request } => self.listens.push(*request),
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                assert!(
                    !server.is_request_open(*request) && self.forget(*request),
                    "each request ends once"
                );
            }
            ServerEvent::CallFinished { outcome: CallOutcome::Cancelled, .. } => {}
            ServerEvent::CallFinished { call, .. } => {
                let ended = self.calls.extract_if(.., |open| open == call).next();
                ended.expect("each request ends once");
            }
            ServerEvent::Violation(found) => match found.violation {
                Violation::TooLong => assert!(!roomy),
                Violation::TooManyRequests
                | Violation::UnknownMethod
                | Violation::InvalidParams
                | Violation::NotInitialized
                | Violation::UnsupportedVersion => {}
                other => panic!("{other:?}"),
            },
            ServerEvent::PeerError(error) => panic!("{error:?}"),
            _ => {}
        }
        // A request that ends takes its nested calls with it.
        self.calls.retain(|call| server.is_call_open(*call));
    }

    pub(super) fn forget(&mut self, request: RequestHandle) -> bool {
        let before = self.jobs.len() + self.listens.len();
        self.jobs.retain(|job| *job != request);
        self.listens.retain(|listen| *listen != request);
        self.gone.push(request);
        self.jobs.len() + self.listens.len() < before
    }
}
