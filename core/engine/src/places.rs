//! Places that clients take and keep, and the share of one of them.

use alloc::collections::BTreeMap;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

use mcp_sansio::Instant;

/// Counts places, or bytes, that clients have taken, in total and by client: no client has more
/// than its share, so that what it keeps is not what others need.
///
/// A client takes about 50 bytes while it has places. One without a key takes from the total only.
///
/// ```
/// use mcp_sansio_engine::{NoPlace, PlaceLimit, Places};
///
/// let limit = PlaceLimit { total: 4, share: 3 };
/// let mut places = Places::new();
/// assert_eq!(places.take(3, Some(&"mallory"), limit), Ok(()));
/// assert_eq!(places.take(1, Some(&"mallory"), limit), Err(NoPlace::Share));
/// assert_eq!(places.take(1, Some(&"ada"), limit), Ok(()));
/// assert_eq!(places.take(1, Some(&"bob"), limit), Err(NoPlace::Total));
/// places.give_back(1, Some(&"mallory"));
/// assert_eq!(places.take(1, Some(&"bob"), limit), Ok(()));
/// ```
#[derive(Debug)]
pub struct Places<K> {
    taken: usize,
    by_client: BTreeMap<K, usize>,
}

/// Limits the places of all clients together, and those of one client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceLimit {
    /// All places.
    pub total: usize,
    /// Those of one client.
    pub share: usize,
}

/// There is no place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// All are taken.
    Total,
    /// The client has its share.
    Share,
}

mcp_sansio::error_type!(NoPlace {
    Total => "all places are taken",
    Share => "the client has its share of the places",
});

impl<K: Ord + Clone> Places<K> {
    /// Creates a count of nothing.
    pub const fn new() -> Self {
        Self { taken: 0, by_client: BTreeMap::new() }
    }

    /// Returns the number of places that are taken.
    pub const fn taken(&self) -> usize {
        self.taken
    }

    /// Returns the number of places that a client has.
    pub fn taken_by(&self, client: &K) -> usize {
        self.by_client.get(client).copied().unwrap_or(0)
    }

    /// Takes `n` places for a client.
    ///
    /// # Errors
    /// [`NoPlace`], [`Share`](NoPlace::Share) if it lacks both; nothing is taken then.
    pub fn take(&mut self, n: usize, client: Option<&K>, limit: PlaceLimit) -> Result<(), NoPlace> {
        if n == 0 {
            return Ok(());
        }
        let has_total = n <= limit.total.saturating_sub(self.taken);
        if let Some(client) = client {
            let own = self.by_client.get_mut(client);
            if n > limit.share.saturating_sub(own.as_deref().copied().unwrap_or(0)) {
                return Err(NoPlace::Share);
            }
            match own {
                _ if !has_total => return Err(NoPlace::Total),
                Some(own) => *own += n,
                None => drop(self.by_client.insert(client.clone(), n)),
            }
        } else if !has_total {
            return Err(NoPlace::Total);
        }
        self.taken += n;
        Ok(())
    }

    /// Gives `n` places of a client back.
    pub fn give_back(&mut self, n: usize, client: Option<&K>) {
        self.taken = self.taken.saturating_sub(n);
        if let Some(client) = client
            && let Some(taken) = self.by_client.get_mut(client)
        {
            *taken = taken.saturating_sub(n);
            if *taken == 0 {
                self.by_client.remove(client);
            }
        }
    }
}

mcp_sansio::default_is_new!([K: Ord + Clone] Places<K>);

/// Counts places: [`Places`], or what several owners have in common.
pub trait CountPlaces<K>: Send {
    /// Takes `n` places for a client: see [`Places::take`].
    ///
    /// # Errors
    /// [`NoPlace`]; nothing is taken then.
    fn take(&mut self, n: usize, client: Option<&K>, limit: PlaceLimit) -> Result<(), NoPlace>;

    /// Gives `n` places of a client back.
    fn give_back(&mut self, n: usize, client: Option<&K>);

    /// Asks other owners for a place that is in the way of a client, of which `lacking` says what
    /// it lacks. Returns whether one was given back. Default: there are no others.
    fn reclaim(&mut self, now: Instant, lacking: NoPlace, client: Option<&K>) -> bool {
        let _ = (now, lacking, client);
        false
    }
}

impl<K: Ord + Clone + Send> CountPlaces<K> for Places<K> {
    fn take(&mut self, n: usize, client: Option<&K>, limit: PlaceLimit) -> Result<(), NoPlace> {
        Self::take(self, n, client, limit)
    }

    fn give_back(&mut self, n: usize, client: Option<&K>) {
        Self::give_back(self, n, client);
    }
}

impl PlaceLimit {
    /// Limits nothing: for what exists already and only counts.
    pub const UNLIMITED: Self = Self { total: usize::MAX, share: usize::MAX };

    /// Returns the limit whose share is this part of the total, in percent, rounded up.
    pub const fn percent(total: usize, percent: u8) -> Self {
        let percent = percent as usize;
        let share = if percent >= 100 {
            total
        } else {
            total / 100 * percent + (total % 100 * percent).div_ceil(100)
        };
        Self { total, share }
    }
}

/// The address of a peer, as far as it tells clients apart: an IPv4 address, or the first 64 bits
/// of an IPv6 address, since one client has all of the rest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerAddress(IpAddr);

impl From<IpAddr> for PeerAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            address => address,
        })
    }
}

/// Writes an IPv4 address, or 64 bits of an IPv6 address as a network: `2001:db8:1:2::/64`.
impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(address) => write!(f, "{address}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn a_share_is_a_part_of_any_total() {
        let share = |total, percent| PlaceLimit::percent(total, percent).share;
        assert_eq!((share(1024, 75), share(1024, 25), share(3, 25)), (768, 256, 1));
        assert_eq!((share(0, 75), share(usize::MAX, 100)), (0, usize::MAX));
        assert!(share(usize::MAX, 75) > usize::MAX / 2);
    }

    #[test]
    fn nothing_is_kept_of_a_client_without_places() {
        let mut places = Places::new();
        for n in [0, 2] {
            places.take(n, Some(&"a"), PlaceLimit::UNLIMITED).unwrap();
            places.give_back(n, Some(&"a"));
        }
        places.take(0, Some(&"a"), PlaceLimit { total: 0, share: 0 }).unwrap();
        assert_eq!((places.taken(), places.by_client.len()), (0, 0));
    }

    #[test]
    fn a_client_of_ipv6_has_one_address() {
        let of = |text: &str| PeerAddress::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("2001:db8:1:2::1").to_string(), "2001:db8:1:2::/64");
        assert_eq!(of("::ffff:192.0.2.1").to_string(), "192.0.2.1");
    }
}
