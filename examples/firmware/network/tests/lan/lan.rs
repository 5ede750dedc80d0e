//! A local network in memory, with a clock that runs while nothing else happens: packets are lost
//! where a test says so, and 30 seconds take no time.

use std::cell::Cell;
use std::mem;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use embassy_net::{Config, Ipv4Cidr, Stack, StackResources, StaticConfigV4};
use embassy_net_driver_channel::driver::{HardwareAddress, LinkState};
use embassy_net_driver_channel::{Runner, State, new};
use embassy_time::{Duration, Instant, MockDriver};

/// The network, and what runs on its stations.
pub(crate) struct Lan {
    stations: Vec<Station>,
    tasks: Vec<Task>,
    /// Packets on their way, with the station they go to.
    on_the_way: Vec<(Instant, usize, Vec<u8>)>,
    fate: Box<dyn FnMut(usize) -> Fate>,
    packets: usize,
    /// There is one clock for all tests.
    _clock: MutexGuard<'static, ()>,
}

/// An address that no router gives.
pub(crate) fn fixed(address: [u8; 4]) -> StaticConfigV4 {
    StaticConfigV4 {
        address: Ipv4Cidr::new(address.into(), 24),
        gateway: None,
        dns_servers: Default::default(),
    }
}

struct Station {
    card: Runner<'static, PACKET>,
    is_plugged: Rc<Cell<bool>>,
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Arrives,
    IsLost,
    /// Others overtake it.
    IsLate,
    ComesTwice,
}

/// The cable of a station.
pub(crate) struct Plug(Rc<Cell<bool>>);

impl Plug {
    pub(crate) fn pull(&self) {
        self.0.set(false);
    }
}

impl Lan {
    pub(crate) fn new() -> Self {
        let clock = CLOCK.lock().unwrap_or_else(PoisonError::into_inner);
        MockDriver::get().reset();
        Self {
            stations: Vec::new(),
            tasks: Vec::new(),
            on_the_way: Vec::new(),
            fate: Box::new(|_| Fate::Arrives),
            packets: 0,
            _clock: clock,
        }
    }

    /// Decides about each packet, by its number.
    pub(crate) fn fate(mut self, fate: impl FnMut(usize) -> Fate + 'static) -> Self {
        self.fate = Box::new(fate);
        self
    }

    /// Adds a station with the address 10.0.0.`number`.
    pub(crate) fn station(&mut self, number: u8) -> (Stack<'static>, Plug) {
        self.with(number, Config::ipv4_static(fixed([10, 0, 0, number])))
    }

    pub(crate) fn with(&mut self, number: u8, config: Config) -> (Stack<'static>, Plug) {
        let mac = HardwareAddress::Ethernet([2, 0, 0, 0, 0, number]);
        let state = Box::leak(Box::new(State::<PACKET, 8, 8>::new()));
        let (mut card, device) = new(state, mac);
        card.set_link_state(LinkState::Up);
        let sockets = Box::leak(Box::new(StackResources::<8>::new()));
        let (stack, mut runner) = embassy_net::new(device, config, sockets, number.into());
        self.spawn(async move { runner.run().await });
        let is_plugged = Rc::new(Cell::new(true));
        self.stations.push(Station { card, is_plugged: is_plugged.clone() });
        (stack, Plug(is_plugged))
    }

    pub(crate) fn spawn<F: Future + 'static>(&mut self, task: F) {
        let future = Box::pin(async { drop(task.await) });
        self.tasks.push(Task { future, woken: Woken::new() });
    }

    /// Runs everything until this is done.
    pub(crate) fn run<T>(&mut self, main: impl Future<Output = T>) -> T {
        let (woken, mut main) = (Woken::new(), pin!(main));
        let waker = Waker::from(woken.clone());
        loop {
            if woken.take()
                && let Poll::Ready(done) = main.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return done;
            }
            while self.round() {}
            if !woken.0.load(Ordering::Relaxed) {
                assert!(Instant::now() < END, "nothing happens any more");
                MockDriver::get().advance(TICK);
                self.deliver();
            }
        }
    }

    /// Polls the tasks that were woken. Returns whether there was one.
    fn round(&mut self) -> bool {
        let mut is_polled = false;
        self.tasks.retain_mut(|Task { future, woken }| {
            if !woken.take() {
                return true;
            }
            is_polled = true;
            let waker = Waker::from(woken.clone());
            future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
        });
        self.send();
        is_polled
    }

    /// Number of packets that were sent.
    pub(crate) const fn packets(&self) -> usize {
        self.packets
    }

    fn send(&mut self) {
        for from in 0..self.stations.len() {
            while let Some(packet) = self.stations[from].card.try_tx_buf() {
                let packet = packet.to_vec();
                self.stations[from].card.tx_done();
                if !self.stations[from].is_plugged.get() {
                    continue;
                }
                let fate = (self.fate)(self.packets);
                self.packets += 1;
                let (delay, copies) = match fate {
                    Fate::Arrives => (TICK, 1),
                    Fate::IsLost => (TICK, 0),
                    Fate::IsLate => (LATE, 1),
                    Fate::ComesTwice => (TICK, 2),
                };
                for to in (0..self.stations.len()).filter(|to| *to != from) {
                    let one = (Instant::now() + delay, to, packet.clone());
                    self.on_the_way.extend(std::iter::repeat_n(one, copies));
                }
            }
        }
    }

    /// A packet for which a card has no room is lost.
    fn deliver(&mut self) {
        let now = Instant::now();
        for (due, to, packet) in mem::take(&mut self.on_the_way) {
            let Station { card, is_plugged } = &mut self.stations[to];
            if due > now {
                self.on_the_way.push((due, to, packet));
            } else if is_plugged.get()
                && let Some(room) = card.try_rx_buf()
            {
                room[..packet.len()].copy_from_slice(&packet);
                card.rx_done(packet.len());
            }
        }
    }
}

/// Each task has a waker of its own: a socket wakes its stack whenever it is looked at.
struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Woken {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A packet of Ethernet.
const PACKET: usize = 1514;
/// Time of a packet on its way.
const TICK: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_millis(300);
const END: Instant = Instant::from_secs(600);
static CLOCK: Mutex<()> = Mutex::new(());
