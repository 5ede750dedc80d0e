//! A bus of servers in one process.

use std::future::poll_fn;
use std::sync::{Mutex, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use mcp_sansio_adapters::bus::{Bus, BusReceiver, Topic};

/// Delivers envelopes in order, by [`run`](Self::run).
#[derive(Default)]
pub(crate) struct TestBus(Mutex<State>);

#[derive(Default)]
struct State {
    receivers: Vec<Weak<dyn BusReceiver>>,
    underway: Vec<Vec<u8>>,
    topics: Vec<Topic>,
    waker: Option<Waker>,
    is_lost: bool,
}

impl Bus for TestBus {
    fn publish(&self, topic: Topic, envelope: Vec<u8>) {
        let mut state = self.0.lock().unwrap();
        state.topics.push(topic);
        state.underway.push(envelope);
        state.waker.take().into_iter().for_each(Waker::wake);
    }

    fn join(&self, receiver: Weak<dyn BusReceiver>) {
        self.0.lock().unwrap().receivers.push(receiver);
    }

    fn is_connected(&self) -> bool {
        !self.0.lock().unwrap().is_lost
    }
}

#[allow(dead_code, reason = "not all tests need all")]
impl TestBus {
    /// Delivers what was published, this long after it was. What is under way while the bus is
    /// lost, is lost.
    pub(crate) async fn run(&self, delay: Duration) {
        loop {
            poll_fn(|cx| {
                let mut state = self.0.lock().unwrap();
                state.waker = Some(cx.waker().clone());
                if state.underway.is_empty() { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
            tokio::time::sleep(delay).await;
            let mut state = self.0.lock().unwrap();
            let envelopes = std::mem::take(&mut state.underway);
            let receivers: Vec<_> = state.receivers.iter().filter_map(Weak::upgrade).collect();
            let is_lost = state.is_lost;
            drop(state);
            for envelope in envelopes.iter().filter(|_| !is_lost) {
                receivers.iter().for_each(|receiver| receiver.deliver(envelope));
            }
        }
    }

    pub(crate) fn set_lost(&self, is_lost: bool) {
        self.0.lock().unwrap().is_lost = is_lost;
    }

    /// Returns the topics of what was published since the last call.
    pub(crate) fn topics(&self) -> Vec<Topic> {
        std::mem::take(&mut self.0.lock().unwrap().topics)
    }
}
