//! A simulated person: fills in forms and watches progress.

use std::sync::{Arc, Mutex, PoisonError};

use mcp_sansio::types::{ElicitParams, ElicitResult, InputRequest, ProgressParams};
use mcp_sansio::{ClientEvent, RawJson, Violation};
use mcp_sansio_adapters::blocking::client::{CallId, Handler, InputResponse, OwnedInputRequest};

#[derive(Clone, Default)]
pub(super) struct Person {
    seen: Arc<Mutex<Vec<f64>>>,
    faults: Arc<Mutex<Vec<Violation>>>,
}

impl Person {
    /// Returns the progress reports since the last call.
    pub(super) fn seen(&self) -> Vec<f64> {
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the violations of the server.
    pub(super) fn faults(&self) -> Vec<Violation> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Handler for Person {
    fn on_input_request(&mut self, question: &OwnedInputRequest) -> InputResponse {
        let InputRequest::Elicit(ElicitParams::Form(_)) = question.as_input_request() else {
            return question.refuse();
        };
        question.respond(&ElicitResult::accept(NAME))
    }

    fn on_event(&mut self, _: Option<CallId>, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Progress { params, .. } => {
                let seen = params.to().map(|params: ProgressParams<'_>| params.progress.as_f64());
                self.seen.lock().unwrap_or_else(PoisonError::into_inner).extend(seen);
            }
            ClientEvent::Violation(fault) => {
                self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault.violation)
            }
            _ => {}
        }
    }
}

const NAME: RawJson<'_> = RawJson::from_static(r#"{"name":"Ada"}"#);
