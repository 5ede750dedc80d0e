//! Changes that wait for room.

use alloc::collections::VecDeque;
use alloc::string::String;

use super::notify::Change;
use super::{GrowingServerState, ServerConfig};
use crate::error::SendError;
use crate::handle::Remaining;
use crate::tx::Tx;

/// The changes of which not all subscribers have been notified, each once: as many as there are
/// subscribed URIs and lists.
pub(super) type Changes = VecDeque<KeptChange>;

#[derive(PartialEq, Eq, Debug)]
pub(super) struct KeptChange {
    change: Change<'static>,
    /// The URI, or the id of a task.
    name: String,
    /// The parameters of a task.
    task: String,
}

impl KeptChange {
    fn as_change(&self) -> Change<'_> {
        self.change.with_texts(&self.name, &self.task)
    }
}

impl GrowingServerState {
    /// Keeps a change until it is sent. Returns `false` if it has no subscriber, or waits already.
    pub(crate) fn keep_change(&mut self, config: &ServerConfig<'_>, change: &Change<'_>) -> bool {
        let (name, task) = change.texts();
        let kept = KeptChange {
            change: change.resume(0).with_texts("", ""),
            name: name.into(),
            task: task.into(),
        };
        let mut changes = core::mem::take(&mut self.changes);
        let server = self.server(config);
        let is_new = server.is_subscribed(change) && !changes.contains(&kept);
        if is_new {
            // Changes whose subscription has ended since are dropped, to make room.
            if changes.len() >= server.subscriptions.0.len() + LISTS {
                changes.retain(|kept| server.is_subscribed(&kept.as_change()));
            }
            // A newer state of a task replaces one that waits. The first may be partly written.
            let replaced = changes.iter_mut().skip(1).find(|other| {
                change.is_task() && other.change == kept.change && other.name == kept.name
            });
            match replaced {
                Some(other) => *other = kept,
                None => changes.push_back(kept),
            }
        }
        self.changes = changes;
        is_new
    }

    #[inline]
    pub(crate) fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    pub(crate) const fn is_blocked(&self) -> bool {
        self.notices.is_blocked()
    }

    /// Notifies subscribers of all changes, and ends subscriptions if the server shuts down.
    /// Returns whether some of that waits for room.
    #[inline]
    pub(crate) fn notify(&mut self, config: &ServerConfig<'_>, tx: &mut Tx<'_>) -> bool {
        // This is called before each step.
        (self.has_changes() || self.is_closing) && self.notify_now(config, tx)
    }

    #[cold]
    fn notify_now(&mut self, config: &ServerConfig<'_>, tx: &mut Tx<'_>) -> bool {
        if !self.notices.is_worth_it(tx) {
            return true;
        }
        let sent = self.send_changes(config, tx).and_then(|()| {
            while self.is_closing
                && let Some(listen) = self.server(config).next_listen()
            {
                let _ = self.server(config).end_listen(listen, tx)?;
            }
            Ok(())
        });
        match sent {
            Ok(()) => self.notices.done(),
            Err(_) => self.notices.found_no_room(tx),
        }
        sent.is_err()
    }

    /// Notifies subscribers of all changes. If there is no room for all of it, call again.
    pub(crate) fn send_changes(
        &mut self,
        config: &ServerConfig<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        while let Some(mut kept) = self.changes.pop_front() {
            let mut change = kept.as_change();
            let sent = self.server(config).publish(&mut change, tx);
            kept.change = change.with_texts("", "");
            if matches!(sent, Ok(Remaining::More) | Err(SendError::Full)) {
                self.changes.push_front(kept);
            }
            if sent == Err(SendError::Full) {
                return Err(SendError::Full);
            }
        }
        Ok(())
    }
}

/// Number of lists that can change: tools, prompts, resources.
const LISTS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::ServerFeatures;
    use crate::message::Messages;
    use crate::rx::Frame;
    use crate::time::Instant;
    use crate::tx::TxBuffer;
    use crate::types::Implementation;

    #[test]
    fn m1_changes_that_are_no_longer_subscribed_to_give_way() {
        let config = ServerConfig::new(
            Implementation::new("t", "1"),
            ServerFeatures::TOOLS_LIST_CHANGED.with(ServerFeatures::RESOURCES_SUBSCRIBE),
        );
        let mut state = GrowingServerState::new(4, 4);
        let hear = |state: &mut GrowingServerState, text: &str| {
            let mut tx = TxBuffer::new([0; 1024]);
            let mut messages = Messages::new(Frame::Complete(text.as_bytes()));
            let mut server = state.server(&config);
            while let Ok(Some(_)) =
                server.next_event(Instant::from_millis(0), &mut messages, &mut tx)
            {}
        };
        hear(
            &mut state,
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        );
        hear(&mut state, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        for number in 0..1000 {
            let uri = alloc::format!("test://{number}");
            let subscription = |method: &str| {
                alloc::format!(
                    r#"{{"jsonrpc":"2.0","id":{number},"method":"resources/{method}","params":{{"uri":"{uri}"}}}}"#
                )
            };
            hear(&mut state, &subscription("subscribe"));
            assert!(state.keep_change(&config, &Change::resource(&uri)));
            assert_eq!(state.keep_change(&config, &Change::tools()), number == 0);
            assert!(state.changes.len() <= 4 + LISTS, "{number}");
            hear(&mut state, &subscription("unsubscribe"));
        }
    }
}
