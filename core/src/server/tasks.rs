//! Messages about tasks that belong to no request, and `subscriptions/listen` for tasks.

use super::Server;
use super::inflight::RequestKind;
use super::respond::subscription_key;
use super::subscriptions::{Kinds, Owner, Subscriptions};
use crate::encode::{Encode, Encoder, With, object};
use crate::error::{NotAllowed, SendError};
use crate::handle::Delivery;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::{ClientFeatures, Revision, ServerFeatures};
use crate::message::{Envelope, Id, hash_str, hash_text};
use crate::progress::Progress;
use crate::rpc::RpcError;
use crate::server::Request;
use crate::tasks::{MAX_LISTENED, TaskId};
use crate::tx::Tx;
use crate::types::meta::RELATED_TASK;
use crate::violation::Violation;

impl Server<'_> {
    /// Whether a `subscriptions/listen` names tasks.
    pub(super) fn listens_to_tasks(&self, envelope: &Envelope<'_>) -> bool {
        let ids = || envelope.params().get("notifications")?.get(TASK_IDS);
        self.config.capabilities().contains(ServerFeatures::TASKS) && ids().is_some()
    }

    /// Opens a `subscriptions/listen` that names tasks: the one that is reported as a request,
    /// because only the program knows who may see which task. `may_see` is asked for each id, of
    /// which there are at most [`MAX_LISTENED`]; what it refuses, and what the table has no room
    /// for, is left out of the acknowledgement.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] for any other request.
    pub fn listen_to_tasks(
        &mut self,
        request: &Request<'_>,
        may_see: &mut dyn FnMut(JsonStr<'_>) -> bool,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let handle = request.handle;
        let filter = request.params.get("notifications").unwrap_or(RawJson::EMPTY);
        let Some(ids) = filter.get(TASK_IDS) else {
            return Err(SendError::NotAllowed(NotAllowed::RequestKind));
        };
        let Some(pending) = self.requests.get(handle.0) else { return Ok(()) };
        let mut kinds = match pending.kind {
            RequestKind::Granting(kinds) => kinds,
            RequestKind::Listen(_) | RequestKind::Ending => return Ok(()),
            RequestKind::Request => Kinds::read(filter, self.config.capabilities()),
        };
        let mut id = [0; crate::message::MAX_ID];
        let text = pending.id.as_str().as_bytes();
        let Some(place) = id.get_mut(..text.len()) else { return Ok(()) };
        place.copy_from_slice(text);
        let id = core::str::from_utf8(place).unwrap_or_default();
        let is_new = pending.kind == RequestKind::Request;
        if is_new {
            if !request.capabilities.contains(ClientFeatures::TASKS) {
                let error = RpcError::missing_capability(ClientFeatures::TASKS);
                return self.respond_error(handle, &error, tx);
            }
            if !ids.is_array() || ids.elements().any(|id| id.as_string().is_none()) {
                let error = RpcError::invalid_params(
                    "params.notifications.taskIds must be an array of strings",
                );
                return self.respond_error(handle, &error, tx);
            }
            if ids.elements().nth(MAX_LISTENED).is_some() {
                let error = RpcError::invalid_params(
                    "params.notifications.taskIds has too many ids: listen more than once",
                );
                return self.respond_error(handle, &error, tx);
            }
            if !self.can_listen() {
                let error = RpcError::internal(Violation::TooManyRequests.message());
                return self.respond_error(handle, &error, tx);
            }
            kinds.0 |= Kinds::TASKS.0;
            let owner = Owner::listen(handle.0);
            for id in task_ids(filter).filter(|id| may_see(*id)) {
                self.subscriptions.insert(owner, hash_of(hash_text(id)));
            }
            self.subscribe_to(handle.0, kinds, filter);
            if let Some(pending) = self.requests.get_mut(handle.0) {
                pending.kind = RequestKind::Granting(kinds);
            }
        }
        let sent = self.acknowledge(handle.0, id, kinds, filter, tx);
        let is_open = tx.is_open(subscription_key(handle.0));
        if let Some(pending) = self.requests.get_mut(handle.0) {
            match sent {
                Ok(()) => pending.kind = RequestKind::Listen(kinds),
                Err(_) if is_open => {}
                Err(_) => {
                    pending.kind = RequestKind::Request;
                    self.subscriptions.drop_owner(Owner::listen(handle.0));
                }
            }
        }
        sent
    }

    /// Sends a progress notification of a task, with the token of the original request, to the
    /// session (2025-11-25, basic/utilities/tasks). Values must increase. In 2026-07-28 tasks have
    /// no progress.
    ///
    /// # Errors
    /// As [`progress`](Self::progress).
    pub fn task_progress(
        &mut self,
        task: TaskId,
        token: RawJson<'_>,
        progress: &Progress<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Delivery, SendError> {
        let session = self.peer.session.filter(|session| session.is_ready());
        if session.is_none_or(|session| session.revision != Revision::V2025_11_25) {
            return Ok(Delivery::Gone);
        }
        if Id::parse(token.as_str()).is_none() {
            return Ok(Delivery::NotRequested);
        }
        progress.send(token.as_str(), Revision::V2025_11_25, tx, &|to| {
            to.put(b",\"_meta\":{");
            to.string(RELATED_TASK);
            to.put(b":");
            related_task(task).encode(to);
            to.put(b"}");
        })?;
        Ok(Delivery::Sent)
    }
}

const TASK_IDS: &str = "taskIds";

fn task_ids(filter: RawJson<'_>) -> impl Iterator<Item = JsonStr<'_>> + Clone {
    filter.get(TASK_IDS).unwrap_or(RawJson::EMPTY).elements().filter_map(RawJson::as_string)
}

/// Writes the ids of the tasks that a subscription reports.
pub(super) fn write_granted(
    filter: RawJson<'_>,
    owner: Owner,
    subscribed: &Subscriptions<'_>,
    to: &mut Encoder<'_>,
) {
    let ids = With(|to: &mut Encoder<'_>| {
        let mut granted = subscribed.in_order(owner);
        to.array(task_ids(filter).filter(|id| granted(hash_of(hash_text(*id)))));
    });
    to.member(TASK_IDS, &ids);
}

/// Returns the hash of a task among those of URIs.
const fn hash_of(id: u64) -> u64 {
    !id
}

pub(super) fn hash_of_task(id: &str) -> u64 {
    hash_of(hash_str(id))
}

/// The value of the key [`RELATED_TASK`] in `_meta`.
pub(crate) fn related_task(task: TaskId) -> impl Encode {
    With(move |to: &mut Encoder<'_>| {
        let id = task.json();
        let id = RawJson::scanned(core::str::from_utf8(&id).unwrap_or("\"\""));
        object!(to, { "taskId": id });
    })
}
