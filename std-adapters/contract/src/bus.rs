//! The tests that every [`Bus`] passes.

use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::{Duration, Instant};

use mcp_sansio_adapters::bus::{Bus, BusReceiver, Topic};

/// Runs all tests. `make` makes two buses of a fleet of their own, which are connected.
///
/// # Panics
/// If they are none, or an envelope does not arrive within a minute.
pub fn run<B: Bus + 'static>(make: impl Fn() -> [B; 2]) {
    let tests: [fn([Arc<B>; 2]); 4] = [
        an_envelope_arrives_at_all_others_as_it_is,
        each_receiver_of_a_process_gets_it,
        a_receiver_that_is_gone_is_in_nobodys_way,
        publishing_calls_no_receiver,
    ];
    tests.iter().for_each(|test| test(make().map(Arc::new)));
}

fn an_envelope_arrives_at_all_others_as_it_is<B: Bus>([one, other]: [Arc<B>; 2]) {
    let [first, second] = [&one, &other].map(|bus| Inbox::of(&**bus));
    let long: Vec<u8> = (0..1 << 20).map(|n: u32| n as u8).collect();
    for (number, bytes) in [&b"\0\r\n"[..], &[255; 300], &long].into_iter().enumerate() {
        let topic = [Topic::All, Topic::Session(number as u64)][number % 2];
        one.publish(topic, bytes.to_vec());
        second.await_envelope(bytes);
        other.publish(topic, bytes.to_vec());
        first.await_envelope(bytes);
    }
    for number in 0..1000_u32 {
        one.publish(Topic::All, number.to_be_bytes().to_vec());
    }
    second.await_envelope(&999_u32.to_be_bytes());
}

fn each_receiver_of_a_process_gets_it<B: Bus>([one, other]: [Arc<B>; 2]) {
    let [first, second] = [(); 2].map(|()| Inbox::of(&*other));
    one.publish(Topic::All, b"both".to_vec());
    first.await_envelope(b"both");
    second.await_envelope(b"both");
}

fn a_receiver_that_is_gone_is_in_nobodys_way<B: Bus>([one, other]: [Arc<B>; 2]) {
    drop(Inbox::of(&*other));
    let inbox = Inbox::of(&*other);
    one.publish(Topic::All, b"still".to_vec());
    inbox.await_envelope(b"still");
}

fn publishing_calls_no_receiver<B: Bus>([one, other]: [Arc<B>; 2]) {
    let inboxes = [&one, &other].map(|bus| Inbox::of(&**bus));
    let guards = inboxes.each_ref().map(|inbox| inbox.envelopes.lock().unwrap());
    // It would wait for a server that is locked.
    one.publish(Topic::All, b"later".to_vec());
    drop(guards);
    inboxes[1].await_envelope(b"later");
}

/// Collects envelopes.
#[derive(Default)]
struct Inbox {
    envelopes: Mutex<Vec<Vec<u8>>>,
    came: Condvar,
}

impl Inbox {
    fn of(bus: &impl Bus) -> Arc<Self> {
        let inbox = Arc::new(Self::default());
        let receiver: Weak<dyn BusReceiver> = Arc::<Self>::downgrade(&inbox);
        bus.join(receiver);
        inbox
    }

    fn await_envelope(&self, wanted: &[u8]) {
        let until = Instant::now() + Duration::from_secs(60);
        let mut envelopes = self.envelopes.lock().unwrap();
        while !envelopes.iter().any(|envelope| envelope == wanted) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "an envelope of {} bytes has not arrived", wanted.len());
            envelopes = self.came.wait_timeout(envelopes, left).unwrap().0;
        }
    }
}

impl BusReceiver for Inbox {
    fn deliver(&self, envelope: &[u8]) {
        self.envelopes.lock().unwrap().push(envelope.to_vec());
        self.came.notify_all();
    }

    fn missed(&self) {}
}
