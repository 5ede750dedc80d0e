//! Ids of sessions: random ones, and sealed ones that any node of a fleet can read.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_sansio::SESSION_LEN;
use mcp_sansio::http::Principal;
use mcp_sansio::http::server::SessionId;

use super::bus::SHARD_BITS;
use crate::KeyRing;
use crate::key_ring::are_equal;

/// The id of a session, or of a stream of HTTP+SSE. A secret.
pub(super) struct Id {
    text: Box<str>,
    /// Its [`number`], which takes some work to read.
    pub(super) number: u64,
}

impl Id {
    pub(super) fn random(random: [u8; 16]) -> Self {
        Self::of(SessionId::from_random(random).as_str())
    }

    pub(super) fn of(text: &str) -> Self {
        Self { text: text.into(), number: number(text) }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `text` is this id, compared in constant time.
    pub(super) fn is(&self, text: &str) -> bool {
        are_equal(self.text.as_bytes(), text.as_bytes())
    }
}

/// A site that is a node of a fleet: the ids of its sessions are sealed values, so that every node
/// with the same ring serves a session whose node has gone.
#[must_use]
pub struct SiteNode {
    /// The name of the node, which its ids begin with, for proxies: 1 to 16 lowercase letters and
    /// digits. Unique in the fleet.
    name: String,
    /// The number of this site among those of its process.
    shard: u32,
    pub(super) ring: KeyRing,
    pub(super) is_on_bus: bool,
    /// Time after which an id opens no session at another node.
    age: Duration,
    /// The time since 1970.
    clock: Box<dyn FnMut() -> Duration + Send>,
}

impl SiteNode {
    /// Creates a node with this name. `clock` returns the time since 1970.
    ///
    /// # Errors
    /// The name is not 1 to 16 lowercase letters and digits.
    pub fn new(
        name: &str,
        ring: KeyRing,
        clock: impl FnMut() -> Duration + Send + 'static,
    ) -> Result<Self, InvalidNode> {
        let is_valid = (1..=16).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !is_valid {
            return Err(InvalidNode);
        }
        let (name, clock) = (name.to_owned(), Box::new(clock));
        let age = Duration::from_secs(24 * 60 * 60);
        Ok(Self { name, shard: 0, ring, is_on_bus: false, age, clock })
    }

    /// Sets the number of the site where several serve an endpoint. Default: 0.
    pub fn shard(self, shard: u32) -> Self {
        Self { shard, ..self }
    }

    /// Connects the node with others: see [`SiteStep::Publish`](super::SiteStep::Publish).
    pub fn on_bus(self) -> Self {
        Self { is_on_bus: true, ..self }
    }

    /// Sets the time after which an id opens no session at another node. Default: 24 hours.
    pub fn age(self, age: Duration) -> Self {
        Self { age, ..self }
    }

    /// Returns a number that no other site of the fleet has.
    pub(super) fn number(&self) -> u64 {
        let name = u64::from_be_bytes(self.ring.principal_tag(&["node", &self.name]));
        name >> SHARD_BITS << SHARD_BITS | u64::from(self.shard as u16)
    }

    /// Returns the seconds since 1970.
    pub(super) fn seconds(&mut self) -> u64 {
        (self.clock)().as_secs()
    }

    /// Returns the id of a session that begins.
    pub(super) fn seal(
        &mut self,
        session: [u8; SESSION_LEN],
        principal: Option<&Principal>,
        random: [u8; 16],
    ) -> Id {
        let mut prefix = format!("{}-{}-", self.name, self.shard);
        let until = (self.clock)().saturating_add(self.age).as_secs().min(MAX_TIME);
        let [.., a, b, c, d, e] = until.to_be_bytes();
        let (key, owner) = (self.ring.key_name(), owner(&self.ring, principal));
        let mut sealed = [&key[..], &[a, b, c, d, e], &session, &owner, &random].concat();
        let tag = self.ring.session_tag(&prefix, &sealed);
        sealed.extend(tag.iter().take(TAG));
        URL_SAFE_NO_PAD.encode_string(sealed, &mut prefix);
        Id::of(&prefix)
    }

    /// Reads the id of a session of this fleet. `None` if it is none, or was changed.
    pub(super) fn open(
        &mut self,
        id: &str,
        principal: Option<&Principal>,
    ) -> Option<Result<[u8; SESSION_LEN], ForeignSession>> {
        let (prefix, text) = parts_of(id)?;
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (content, found) = sealed.split_first_chunk::<CONTENT>()?;
        let (name, rest) = content.split_first_chunk::<4>()?;
        let (time, rest) = rest.split_first_chunk::<5>()?;
        let (session, rest) = rest.split_first_chunk::<SESSION_LEN>()?;
        let (of, _) = rest.split_first_chunk::<OWNER>()?;
        let Some(ring) = self.ring.with_key(*name) else {
            return Some(Err(ForeignSession::OtherKey));
        };
        let tag = ring.session_tag(prefix, content);
        if !are_equal(tag.get(..TAG)?, found) {
            return None;
        }
        let [a, b, c, d, e] = *time;
        let until = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
        Some(if owner(&ring, principal) != *of {
            Err(ForeignSession::OtherPrincipal)
        } else if self.seconds() > until {
            Err(ForeignSession::Expired)
        } else {
            Ok(*session)
        })
    }
}

mcp_sansio::opaque_debug!(SiteNode { name, shard });

/// The name of a [`SiteNode`] is invalid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InvalidNode;

mcp_sansio::error_type!(InvalidNode => |_| {
    "the name of a node has 1 to 16 lowercase letters and digits"
});

/// Why the id of a session of a fleet opens none at this node. Clients get 404 for all of them, and
/// begin a new session.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForeignSession {
    /// It is sealed with a key that this node does not have.
    OtherKey,
    /// It was opened by another principal.
    OtherPrincipal,
    /// It is too old.
    Expired,
}

mcp_sansio::error_type!(ForeignSession {
    OtherKey => "the id of the session is sealed with a key that this server does not have: all \
        servers behind one address need one KeyRing",
    OtherPrincipal => "the session was opened by another principal",
    Expired => "the id of the session has expired",
});

/// Returns the number of the site that an id names: of a sealed one in its prefix, of a random one
/// in its first eight digits.
pub(super) fn site_number(id: &str) -> u32 {
    match parts_of(id) {
        Some((prefix, _)) => {
            prefix.split('-').nth(1).and_then(|shard| shard.parse().ok()).unwrap_or(0)
        }
        None => first_digits(id),
    }
}

/// Returns a number by which a session is found. It is not secret.
pub(super) fn number(id: &str) -> u64 {
    match parts_of(id) {
        Some((_, text)) => {
            // Each request of a session reads it: no more than these characters.
            let mut random = [0; 9];
            let text = text.get(RANDOM / 3 * 4..).and_then(|rest| rest.get(..12));
            let read = text.map(|text| URL_SAFE_NO_PAD.decode_slice(text, &mut random));
            let [random @ .., _] = random;
            read.map_or(0, |_| u64::from_be_bytes(random))
        }
        None => first_digits(id).into(),
    }
}

fn first_digits(id: &str) -> u32 {
    id.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// Splits a sealed id into its prefix and its base64url.
fn parts_of(id: &str) -> Option<(&str, &str)> {
    let at = id.len().checked_sub(SEALED_TEXT)?;
    id.split_at_checked(at).filter(|(prefix, _)| prefix.ends_with('-'))
}

/// Returns some bytes that belong to a principal only, and tell others nothing of it.
fn owner(ring: &KeyRing, principal: Option<&Principal>) -> [u8; OWNER] {
    let purpose = principal.map(|Principal { issuer, subject, .. }| [&**issuer, &**subject]);
    ring.principal_tag(purpose.as_ref().map_or(&[][..], |both| &both[..]))
}

/// The parts of a sealed id: name of the key, time, session, principal, random bytes, tag.
const RANDOM: usize = 4 + 5 + SESSION_LEN + OWNER;
const _: () =
    assert!(RANDOM.is_multiple_of(3), "the random bytes begin with a character of base64url");
const CONTENT: usize = RANDOM + 16;
const SEALED: usize = CONTENT + TAG;
const OWNER: usize = 8;
const TAG: usize = 24;
/// Length of a sealed id behind its prefix.
const SEALED_TEXT: usize = (SEALED * 4).div_ceil(3);
/// The latest time that five bytes have.
const MAX_TIME: u64 = (1 << 40) - 1;
