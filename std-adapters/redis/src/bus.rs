//! Envelopes over publish and subscribe of Redis.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use mcp_sansio_adapters::bus::{Bus, BusReceiver, Topic};
use mcp_sansio_adapters::store::StoreError;
use redis::{Client, Connection, RedisResult};

use crate::{PREFIX, error_of};

/// A [`Bus`] over publish and subscribe of Redis, with a connection each way and a thread for each.
///
/// Envelopes wait while there is no connection, up to 64 MiB; then the oldest are lost. A
/// connection that Redis closes is noticed at once, and one that is silent within 20 seconds. It is
/// made again after 0.1 to 5 seconds; then servers are told that they may have
/// [missed](BusReceiver::missed) something. The memory of Redis is not used. Dropping the bus ends
/// the threads.
pub struct RedisBus(Arc<Shared>);

struct Shared {
    client: Client,
    channel: String,
    queue: Mutex<Queue>,
    filled: Condvar,
    receivers: Mutex<Vec<Weak<dyn BusReceiver>>>,
    /// Whether each of the two connections is there.
    publishes: AtomicBool,
    subscribes: AtomicBool,
    /// Whether anything has come since this server last had nothing to send.
    has_heard: AtomicBool,
}

#[derive(Default)]
struct Queue {
    envelopes: VecDeque<Vec<u8>>,
    bytes: usize,
    has_ended: bool,
}

impl RedisBus {
    /// Connects to Redis at this address, on the channel `mcp:bus`.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the address is invalid or its user is refused, and
    /// [`StoreError::Unavailable`] if there is no server, or no thread.
    pub fn connect(address: &str) -> Result<Self, StoreError> {
        Self::connect_to(address, PREFIX)
    }

    /// As [`connect`](Self::connect), with another prefix than `mcp:`, for another fleet.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_to(address: &str, prefix: &str) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared {
            client: Client::open(address).map_err(error_of)?,
            channel: format!("{prefix}bus"),
            queue: Mutex::default(),
            filled: Condvar::new(),
            receivers: Mutex::default(),
            publishes: AtomicBool::new(true),
            subscribes: AtomicBool::new(true),
            has_heard: AtomicBool::new(false),
        });
        let publishing = shared.open().map_err(error_of)?;
        let (started, start) = mpsc::channel();
        let run = |name: &str, run: Box<dyn FnOnce(&Shared) + Send>| {
            let shared = Arc::clone(&shared);
            let thread = thread::Builder::new().name(name.to_owned());
            thread.spawn(move || run(&shared)).map(drop)
        };
        // From here on the threads end with the bus.
        let bus = Self(Arc::clone(&shared));
        run("mcp-bus-out", Box::new(|shared| shared.publish(publishing)))
            .and_then(|()| run("mcp-bus-in", Box::new(|shared| shared.receive(started))))
            .map_err(|error| StoreError::Unavailable(error.into()))?;
        match start.recv() {
            Ok(result) => result.map(|()| bus).map_err(error_of),
            Err(error) => Err(StoreError::Unavailable(error.into())),
        }
    }
}

impl Bus for RedisBus {
    fn publish(&self, _: Topic, envelope: Vec<u8>) {
        let mut queue = self.0.queue();
        queue.bytes += envelope.len();
        queue.envelopes.push_back(envelope);
        while queue.bytes > MAX_WAITING
            && let Some(oldest) = queue.envelopes.pop_front()
        {
            queue.bytes -= oldest.len();
        }
        // Both threads may wait.
        self.0.filled.notify_all();
    }

    fn join(&self, receiver: Weak<dyn BusReceiver>) {
        self.0.receivers().push(receiver);
    }

    /// Returns whether both connections are there.
    fn is_connected(&self) -> bool {
        self.0.publishes.load(Ordering::Relaxed) && self.0.subscribes.load(Ordering::Relaxed)
    }
}

impl Drop for RedisBus {
    fn drop(&mut self) {
        self.0.queue().has_ended = true;
        self.0.filled.notify_all();
    }
}

impl fmt::Debug for RedisBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBus")
            .field("channel", &self.0.channel)
            .field("is_connected", &self.is_connected())
            .finish()
    }
}

impl Shared {
    /// Opens a connection that is known to be lost when it has been silent for long.
    fn open(&self) -> RedisResult<Connection> {
        let mut connection = self.client.get_connection_with_timeout(SILENCE)?;
        connection.set_read_timeout(Some(SILENCE))?;
        connection.set_write_timeout(Some(SILENCE))?;
        // To subscribe succeeds without a password.
        redis::cmd("PING").exec(&mut connection)?;
        Ok(connection)
    }

    /// Publishes what is in the queue, and nothing if nothing has come for a while: the other
    /// connection waits for it. All servers get that, so that one of them is enough.
    fn publish(&self, connection: Connection) {
        let (mut connection, mut pause) = (Some(connection), FIRST_PAUSE);
        while let Some(envelope) = self.next() {
            loop {
                let opened = connection.take().map_or_else(|| self.open(), Ok);
                let sent = opened.and_then(|mut opened| {
                    if envelope.is_empty() && self.has_heard.swap(false, Ordering::Relaxed) {
                        redis::cmd("PING").exec(&mut opened)?;
                    } else {
                        let mut command = redis::cmd("PUBLISH");
                        command.arg(&self.channel).arg(&envelope).exec(&mut opened)?;
                    }
                    Ok(opened)
                });
                self.publishes.store(sent.is_ok(), Ordering::Relaxed);
                if let Ok(sent) = sent {
                    (connection, pause) = (Some(sent), FIRST_PAUSE);
                    break;
                }
                if self.rest(&mut pause) {
                    return;
                }
            }
        }
        // The other thread wakes up, and sees that the bus has ended.
        if let Some(mut connection) = connection {
            let _ = redis::cmd("PUBLISH").arg(&self.channel).arg("").exec(&mut connection);
        }
    }

    /// Waits for the next envelope, at most until a sign of life is due. `None` at the end.
    fn next(&self) -> Option<Vec<u8>> {
        let is_idle = |queue: &mut Queue| queue.envelopes.is_empty() && !queue.has_ended;
        let waited = self.filled.wait_timeout_while(self.queue(), HEARTBEAT, is_idle);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let next = queue.envelopes.pop_front();
        queue.bytes -= next.as_ref().map_or(0, Vec::len);
        match next {
            Some(envelope) => Some(envelope),
            None => (!queue.has_ended).then(Vec::new),
        }
    }

    /// Receives envelopes until the bus has ended. `started` hears of the first connection.
    fn receive(&self, started: Sender<RedisResult<()>>) {
        let mut started = Some(started);
        let mut pause = FIRST_PAUSE;
        loop {
            let begun = Instant::now();
            let result = self.deliver(|| {
                self.subscribes.store(true, Ordering::Relaxed);
                match started.take() {
                    // Nobody waits for it if this fails.
                    Some(started) => drop(started.send(Ok(()))),
                    None => self.each(|receiver| receiver.missed()),
                }
            });
            // A connection that is lost soon after it was made may be lost because it was made.
            if begun.elapsed() > SILENCE {
                pause = FIRST_PAUSE;
            }
            if let (Err(error), Some(started)) = (result, started.take()) {
                return drop(started.send(Err(error)));
            }
            if self.rest(&mut pause) {
                return;
            }
        }
    }

    /// Delivers envelopes until the connection is lost, or the bus has ended.
    fn deliver(&self, subscribed: impl FnOnce()) -> RedisResult<()> {
        let mut connection = self.open()?;
        let mut messages = connection.as_pubsub();
        messages.subscribe(&self.channel)?;
        subscribed();
        let lost = loop {
            let received = messages.get_message();
            self.has_heard.store(received.is_ok(), Ordering::Relaxed);
            match received {
                Ok(_) if self.queue().has_ended => return Ok(()),
                Ok(message) if message.get_payload_bytes().is_empty() => {}
                Ok(message) => self.each(|receiver| receiver.deliver(message.get_payload_bytes())),
                Err(error) => break error,
            }
        };
        self.subscribes.store(false, Ordering::Relaxed);
        // Otherwise the end of the subscription would wait for its reply.
        messages.set_read_timeout(Some(Duration::from_millis(1)))?;
        Err(lost)
    }

    /// Calls a function for each receiver that is still there, where no lock is held. The thread
    /// outlives a receiver that panics, for the bus would say nothing more.
    fn each(&self, call: impl Fn(&dyn BusReceiver)) {
        let mut receivers = self.receivers();
        receivers.retain(|receiver| receiver.strong_count() > 0);
        let all: Vec<_> = receivers.iter().filter_map(Weak::upgrade).collect();
        drop(receivers);
        for receiver in all {
            let _ = catch_unwind(AssertUnwindSafe(|| call(&*receiver)));
        }
    }

    /// Waits before the next attempt to connect, each time longer. Returns whether the bus has
    /// ended.
    fn rest(&self, pause: &mut Duration) -> bool {
        let waited = self.filled.wait_timeout_while(self.queue(), *pause, |it| !it.has_ended);
        *pause = (*pause * 2).min(LAST_PAUSE);
        waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receivers(&self) -> MutexGuard<'_, Vec<Weak<dyn BusReceiver>>> {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Maximum number of bytes of envelopes that wait for a connection.
const MAX_WAITING: usize = 64 << 20;
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Time after which a silent connection is lost.
const SILENCE: Duration = Duration::from_secs(15);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);
