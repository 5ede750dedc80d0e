//! Subscriptions to changes, in the words of both eras, and what a connection once more restores.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use mcp_sansio::types::{List, ResourceParams, SetLevelParams, SubscriptionFilter, Text};
use mcp_sansio::{
    CallOptions, Changed, ClientEvent, Encode, Instant, OwnedJson, Revision, methods,
};

use super::calls::{Asked, Pending};
use super::{CallId, ConnectState, Driver, State, Turn, Waiting};
use crate::errors::CallError;

impl<D: Driver> Turn<'_, D> {
    /// Notes that the server is connected, and asks for what it has lost with the last connection.
    pub(super) fn opened(&mut self, now: Instant, revision: Revision) {
        self.state.revision = revision;
        if let Some(level) = self.state.log_level.filter(|_| !revision.is_modern()) {
            let (params, options) = (SetLevelParams::new(level), CallOptions::new());
            let call = self.state.queue(now, methods::LOGGING_SET_LEVEL, &params, options, None);
            self.state.restored = Some(call);
        }
        let is_lost =
            |it: &&mut Pending| it.is_listen() && it.asked == Asked::Nothing && it.result.is_none();
        let mut lost = Vec::new();
        for pending in self.state.calls.iter_mut().filter(is_lost) {
            lost.push(pending.id);
            pending.started = now;
            // Its own limit may be what was left of it for the first time.
            pending.options.limit = None;
        }
        for id in lost {
            if !revision.is_modern() {
                self.subscribe(now, id);
            } else if let Some(pending) = self.state.calls.get_mut(id) {
                pending.asked = Asked::Call;
                self.state.new_calls += 1;
                self.state.waiting.push_back(Waiting::Call(id));
            }
        }
        self.set_connect_state(ConnectState::Connected);
    }

    /// Subscribes to the resources that a filter names, at a legacy server.
    pub(super) fn subscribe(&mut self, now: Instant, id: CallId) {
        let Some(pending) = self.state.calls.get_mut(id) else { return };
        pending.asked = Asked::Nothing;
        let (filter, options) = (pending.params.clone(), pending.options);
        for uri in uris(filter.as_ref()).iter().flatten() {
            self.state.queue(now, methods::RESOURCES_SUBSCRIBE, &resource(uri), options, Some(id));
        }
        self.acknowledge(id);
    }

    /// Takes the result of a request that the engine has made for a subscription.
    pub(super) fn subscribed(&mut self, call: CallId, owner: CallId) {
        let Some(Pending { method, result, .. }) = self.state.calls.remove(call) else { return };
        let Some(Err(error)) = result else { return self.acknowledge(owner) };
        let Some(pending) = self.state.calls.open_mut(owner) else { return };
        if matches!(error, CallError::Closed) {
            return self.finish(owner, Err(error));
        }
        // The error is about this request.
        pending.method = method;
        let (filter, started) = (pending.params.clone(), pending.started);
        self.finish(owner, Err(error));
        self.state.unsubscribe(started, owner, filter.as_ref());
    }

    /// Notes that a legacy server has agreed to all that a filter names, if it has.
    fn acknowledge(&mut self, id: CallId) {
        if self.state.calls.iter().any(|pending| pending.owner == Some(id)) {
            return;
        }
        if let Some(pending) = self.state.calls.open_mut(id) {
            pending.acknowledged = pending.params.clone();
            self.driver.updated(id);
        }
    }

    /// Tells those who listen to a legacy server of a change.
    pub(super) fn changed(&mut self, what: Changed<'_>, event: &ClientEvent<'_>) {
        for pending in self.state.listens() {
            let filter = pending.params.as_ref().and_then(|filter| filter.to().ok());
            let filter: SubscriptionFilter<'_> = filter.unwrap_or(SubscriptionFilter::new());
            let is_named = match what {
                Changed::Tools => filter.tools_list_changed,
                Changed::Prompts => filter.prompts_list_changed,
                Changed::Resources => filter.resources_list_changed,
                Changed::Resource { .. } => {
                    filter.resource_subscriptions.map(|uris| !uris.is_empty())
                }
                _ => None,
            };
            if is_named == Some(true) {
                self.driver.event(Some(pending.id), event);
            }
        }
    }
}

impl State {
    /// Ends the subscriptions of one that is over, but those that another one needs.
    pub(super) fn unsubscribe(&mut self, now: Instant, over: CallId, filter: Option<&OwnedJson>) {
        for uri in uris(filter).iter().flatten() {
            let names =
                |it: &Pending| uris(it.params.as_ref()).iter().flatten().any(|it| it == uri);
            if !self.listens().any(names) {
                let (params, options) = (resource(uri), CallOptions::new());
                let method = methods::RESOURCES_UNSUBSCRIBE;
                let call = self.queue(now, method, &params, options, Some(over));
                // It has time once it is sent: nobody waits for it.
                self.calls.set_due(call, None);
            }
        }
    }

    /// Queues a request of the engine itself.
    fn queue<P: Encode>(
        &mut self,
        now: Instant,
        method: &str,
        params: &P,
        options: CallOptions,
        owner: Option<CallId>,
    ) -> CallId {
        let params = OwnedJson::new(params, Revision::LATEST).ok();
        let due = self.end_of(now, &options);
        let pending = self.calls.add(now, method.to_owned(), params, options);
        pending.owner = owner;
        let id = pending.id;
        self.calls.set_due(id, Some(due));
        self.waiting.push_back(Waiting::Call(id));
        self.new_calls += 1;
        id
    }

    /// Returns the open subscriptions to a legacy server.
    fn listens(&self) -> impl Iterator<Item = &Pending> {
        let all = self.calls.iter().filter(|it| it.asked == Asked::Nothing && it.is_listen());
        all.filter(|it| it.result.is_none())
    }
}

/// Returns the resources that a filter names.
fn uris(filter: Option<&OwnedJson>) -> List<'_, Text<'_>> {
    let filter = filter.and_then(|filter| filter.to::<SubscriptionFilter<'_>>().ok());
    filter.and_then(|filter| filter.resource_subscriptions).unwrap_or_default()
}

fn resource(uri: Text<'_>) -> ResourceParams<'_> {
    let mut params = ResourceParams::new("");
    params.uri = uri;
    params
}
