//! Counts what the requests of a client take of a server, beside what the site counts.

use std::mem::take;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, TryLockError, Weak};

use mcp_sansio::Instant;
use mcp_sansio_engine::site::{Holder, SiteCounts};
use mcp_sansio_engine::{CountPlaces, NoPlace, PlaceLimit, Places};

use super::shared::Shared;
use crate::lock::lock;

/// What all servers of an application count together: limits and shares are of all of them.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    /// Requests with handlers.
    pub(crate) handlers: Arc<SharedPlaces>,
    /// Checks of credentials that wait.
    pub(crate) checks: Arc<SharedPlaces>,
    exchanges: Arc<SharedPlaces>,
    streams: Arc<SharedPlaces>,
    body_bytes: Arc<SharedPlaces>,
    body_reserve: Arc<SharedPlaces>,
    sessions: Arc<SharedPlaces>,
}

impl Counts {
    /// Returns those of a site.
    pub(crate) fn of_site(&self) -> SiteCounts {
        let of = |places: &Arc<SharedPlaces>, wakes| {
            Box::new(Common { places: Arc::clone(places), wakes })
        };
        SiteCounts {
            exchanges: of(&self.exchanges, false),
            streams: of(&self.streams, false),
            body_bytes: of(&self.body_bytes, true),
            body_reserve: of(&self.body_reserve, true),
            sessions: of(&self.sessions, false),
        }
    }

    /// Tells the servers, all of which ask each other for places.
    pub(crate) fn set_servers(&self, servers: &Arc<[Weak<Shared>]>) {
        for places in [&self.body_bytes, &self.body_reserve, &self.sessions] {
            let _ = places.servers.set(Arc::clone(servers));
        }
    }
}

/// Places that are given back without the lock of the site, or that several sites have in common.
#[derive(Default)]
pub(crate) struct SharedPlaces {
    state: Mutex<Taken>,
    /// Those that look again when places are given back, and give some back themselves.
    servers: OnceLock<Arc<[Weak<Shared>]>>,
}

#[derive(Default)]
struct Taken {
    places: Places<Holder>,
    /// Whether somebody waits for one.
    is_awaited: bool,
}

/// A place, until it is dropped.
pub(crate) struct Place {
    places: Arc<SharedPlaces>,
    holder: Option<Holder>,
}

impl SharedPlaces {
    pub(crate) fn take(
        self: &Arc<Self>,
        holder: Option<Holder>,
        limit: PlaceLimit,
    ) -> Option<Place> {
        lock(&self.state).places.take(1, holder.as_ref(), limit).ok()?;
        Some(Place { places: Arc::clone(self), holder })
    }

    fn servers(&self) -> impl Iterator<Item = Arc<Shared>> {
        self.servers.get().into_iter().flat_map(|all| all.iter()).filter_map(Weak::upgrade)
    }
}

/// Places that sites have in common.
struct Common {
    places: Arc<SharedPlaces>,
    /// Whether a site waits where there is none.
    wakes: bool,
}

impl CountPlaces<Holder> for Common {
    fn take(
        &mut self,
        n: usize,
        client: Option<&Holder>,
        limit: PlaceLimit,
    ) -> Result<(), NoPlace> {
        let Taken { places, is_awaited } = &mut *lock(&self.places.state);
        let taken = places.take(n, client, limit);
        *is_awaited |= self.wakes && taken == Err(NoPlace::Total);
        taken
    }

    fn give_back(&mut self, n: usize, client: Option<&Holder>) {
        let is_awaited = {
            let Taken { places, is_awaited } = &mut *lock(&self.places.state);
            places.give_back(n, client);
            n > 0 && take(is_awaited)
        };
        if is_awaited {
            for server in self.places.servers() {
                let _ = server.released.send((0, None));
                server.driver.notify();
            }
        }
    }

    /// A server that is doing something is not waited for, since it may be asking this one, which
    /// is busy itself. It is asked again a few times: it is soon done.
    fn reclaim(&mut self, now: Instant, lacking: NoPlace, client: Option<&Holder>) -> bool {
        for _ in 0..QUESTIONS {
            let mut busy = 0;
            for server in self.places.servers() {
                let mut state = match server.state.try_lock() {
                    Ok(state) => state,
                    Err(TryLockError::Poisoned(state)) => state.into_inner(),
                    Err(TryLockError::WouldBlock) => {
                        busy += 1;
                        continue;
                    }
                };
                if state.site.replace_session(now, lacking, client) {
                    state.has_steps = true;
                    drop(state);
                    server.driver.notify();
                    return true;
                }
            }
            if busy <= 1 {
                return false;
            }
            std::thread::yield_now();
        }
        false
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.places.state).places.give_back(1, self.holder.as_ref());
    }
}

/// Bytes of the budget of bodies that a request has given back, and of whom. They are sent, because
/// a request may end while the state is locked.
pub(crate) type Released = (usize, Option<Holder>);

/// Holds the place of a request with a handler, and its bytes of the budget of bodies.
pub(crate) struct Held {
    place: Place,
    bytes: Option<(usize, Sender<Released>)>,
}

impl Held {
    pub(crate) fn new(place: Place, bytes: usize, released: &Sender<Released>) -> Self {
        Self { place, bytes: (bytes > 0).then(|| (bytes, released.clone())) }
    }

    /// Gives all of it back. Returns whether the site has bytes to take back.
    pub(crate) fn give_back(self) -> bool {
        let Some((bytes, released)) = self.bytes else { return false };
        released.send((bytes, self.place.holder.clone())).is_ok()
    }
}

/// How often a server that is doing something is asked for a place.
const QUESTIONS: usize = 20;
