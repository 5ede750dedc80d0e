//! The application as the engine sees it: handlers of questions, futures of calls, and the function
//! for events.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_sansio::ClientEvent;
use mcp_sansio_engine::internal::{CallEvents, ClientApplication};
use mcp_sansio_engine::{
    CallId, Driver, InputId, InputRefusal, InputResponse, Layers, Middleware, Question,
};

use super::connector::OnEvent;
use crate::client::{OwnedInputRequest, random, unix_ms};
use crate::panics::caught;
use crate::runtime::tasks::Tasks;

/// A response that is being computed.
pub(crate) type InputFuture = Pin<Box<dyn Future<Output = InputResponse> + Send>>;
/// Computes responses. Boxed, so that clients and connections have no type parameter for it: input
/// requests are rare.
pub(crate) type InputHandler = Box<dyn Fn(OwnedInputRequest) -> InputFuture + Send + Sync>;

#[doc(hidden)]
pub struct Application {
    input_handler: InputHandler,
    on_event: Option<OnEvent>,
    layers: Layers<'static>,
    inputs: Tasks<InputId, InputFuture>,
    /// Questions whose futures are to be dropped: not here, since that calls the application.
    withdrawn: Vec<InputId>,
    pub(crate) events: CallEvents,
}

impl Application {
    pub(crate) fn new(
        input_handler: InputHandler,
        on_event: Option<OnEvent>,
        layers: Layers<'static>,
    ) -> Self {
        Self {
            input_handler,
            on_event,
            layers,
            inputs: Tasks::new(),
            withdrawn: Vec::new(),
            events: CallEvents::default(),
        }
    }

    /// Polls the futures that were woken. Returns an answer that is ready.
    pub(crate) fn poll_input(&mut self, cx: &Context<'_>) -> Option<(InputId, InputResponse)> {
        for withdrawn in std::mem::take(&mut self.withdrawn) {
            self.inputs.drop_where(|input| *input == withdrawn);
        }
        while let Poll::Ready(polled) = self.inputs.poll_next(cx) {
            if let Some((input, answer)) = polled {
                return Some((input, answer.unwrap_or(Err(InputRefusal::Panicked))));
            }
        }
        None
    }

    #[cfg(test)]
    pub(crate) fn open_inputs(&self) -> usize {
        self.inputs.len()
    }
}

impl ClientApplication for Application {
    fn events(&mut self) -> &mut CallEvents {
        &mut self.events
    }

    fn drop_inputs(&mut self) {
        self.withdrawn.clear();
        self.inputs = Tasks::new();
    }
}

impl Driver for Application {
    fn unix_ms(&mut self) -> u64 {
        unix_ms()
    }

    fn random(&mut self) -> u32 {
        random()
    }

    fn asked(&mut self, question: Question<'_>) -> Option<InputResponse> {
        match OwnedInputRequest::try_from(&question) {
            Ok(request) => {
                self.inputs.insert(question.id, (self.input_handler)(request));
                None
            }
            Err(refusal) => Some(Err(refusal)),
        }
    }

    fn withdrawn(&mut self, input: InputId) {
        self.withdrawn.push(input);
    }

    fn middleware(&mut self) -> Option<&mut dyn Middleware> {
        self.layers.as_middleware()
    }

    fn updated(&mut self, call: CallId) {
        self.events.updated(call);
    }

    fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        if !self.events.event(about, event)
            && let Some(on_event) = &mut self.on_event
        {
            let _ = caught(|| on_event(event));
        }
    }
}
