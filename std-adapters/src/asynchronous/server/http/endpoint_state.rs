//! State of an endpoint: the application, its options and its sessions.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use mcp_sansio::http::server::{Endpoint, SessionId};

use super::super::app::App;
use super::super::broadcast::{OwnedChange, Receiver};
use super::bodies::Bodies;
use super::legacy_sse::LegacyStreams;
use super::options::HttpOptions;
use super::sessions::Sessions;

/// State that all connections of an endpoint share.
pub(super) struct EndpointState<A, F> {
    pub(super) app: A,
    pub(super) options: HttpOptions,
    pub(super) endpoint: Endpoint<'static>,
    pub(super) sessions: Sessions<F>,
    pub(super) legacy: LegacyStreams<F>,
    pub(super) bodies: Arc<Bodies>,
}

/// Wakes a connection that waits for a request when the application shuts down.
#[derive(Default)]
pub(super) struct ShutdownSignal(Mutex<Option<Waker>>);

impl ShutdownSignal {
    /// Keeps the waker of the connection.
    pub(super) fn set(&self, waker: &Waker) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }
}

impl Receiver for ShutdownSignal {
    fn on_change(&self, _: OwnedChange) {}

    fn wake(&self) {
        if let Some(waker) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    }
}

impl<A, F, H> EndpointState<A, F>
where
    A: Deref<Target = App<H>>,
{
    pub(super) fn new(app: A, options: HttpOptions) -> Self {
        let endpoint = Endpoint::new(app.config.revisions).host_policy(options.host_policy);
        let endpoint = if options.has_sessions { endpoint } else { endpoint.without_sessions() };
        let bodies = Arc::new(Bodies::new(options.body_budget, app.max_line));
        Self {
            app,
            options,
            endpoint,
            sessions: Sessions::new(),
            legacy: LegacyStreams::new(),
            bodies,
        }
    }
}

/// Returns an unguessable session id.
pub(super) fn new_id() -> io::Result<SessionId> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)
        .map_err(|error| io::Error::other(format!("random number generator failed: {error}")))?;
    Ok(SessionId::from_random(random))
}
