//! Messages about tasks to the runner of their handlers.

use std::mem::take;
use std::sync::{Arc, Mutex};

use mcp_sansio::tasks::TaskKey;

use crate::asynchronous::server::driver_waker::DriverWaker;
use crate::lock::lock;

/// What has happened to a task while its handler runs.
pub(crate) enum Message {
    /// It is over: drop the handler.
    Over(TaskKey),
    /// Clients are to be told of a change.
    Changed(TaskKey),
    /// The task has ended that this waiting request is for.
    Respond(u64),
}

/// The messages for one runner, which handles them where no mutex is locked.
pub(crate) struct Mailbox {
    driver: Arc<DriverWaker>,
    messages: Mutex<Vec<Message>>,
}

impl Mailbox {
    pub(crate) fn new(driver: Arc<DriverWaker>) -> Self {
        Self { driver, messages: Mutex::default() }
    }

    /// Returns the number of the connection, or of the HTTP server.
    pub(super) fn connection(&self) -> u64 {
        self.driver.number
    }

    pub(super) fn post(&self, message: Message) {
        lock(&self.messages).push(message);
        self.driver.notify();
    }

    pub(crate) fn take(&self) -> Vec<Message> {
        take(&mut *lock(&self.messages))
    }
}
