//! Seals: a server uses what comes back to it only if it is unchanged.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::time::Duration;

use mcp_sansio::internal::Sha256;

/// Keys with which a server seals what others keep for it: the state of a request that its client
/// sends back (2026-07-28, basic/patterns/mrtr), and the records of tasks in a store. What was
/// sealed can be used only unchanged, for the same purpose, and with the key.
///
/// A seal is an HMAC-SHA256. It does not encrypt, and does not show that something is the latest:
/// whoever has an older record or state can put it back.
///
/// All processes of one server need the same ring. A key is 32 random bytes from the program's
/// configuration, for example of `openssl rand -hex 32`, and used for nothing else.
#[derive(Clone)]
#[must_use]
pub struct KeyRing {
    /// The key that seals.
    pub current: [u8; 32],
    /// A key whose seals are valid, too, but which seals nothing: for the time until all of them
    /// have been replaced or are gone. Default: none.
    pub previous: Option<[u8; 32]>,
    /// Age up to which the state of a request is used, by the clocks of the servers that seal and
    /// open it, in whole seconds. Records have no age. Default: one hour, for a person who is asked
    /// something; [`Duration::MAX`]: no limit.
    pub state_age: Duration,
}

impl KeyRing {
    /// Creates a ring with this key.
    pub const fn new(current: [u8; 32]) -> Self {
        Self { current, previous: None, state_age: Duration::from_secs(60 * 60) }
    }

    /// Returns the record with its tag of 32 bytes, to be stored under `key`.
    pub fn seal_record(&self, key: &str, mut record: Vec<u8>) -> Vec<u8> {
        let tag = tag(&self.current, RECORD, &[key], &record);
        record.extend_from_slice(&tag);
        record
    }

    /// Returns the record without its tag, if it was sealed for `key`.
    pub fn open_record<'b>(&self, key: &str, sealed: &'b [u8]) -> Option<&'b [u8]> {
        let (record, found) = sealed.split_last_chunk::<32>()?;
        self.keys()
            .any(|secret| are_equal(&tag(secret, RECORD, &[key], record), found))
            .then_some(record)
    }

    /// Returns a state as its client keeps it: name of the key, time, tag, state.
    pub(crate) fn seal_state(&self, now: Duration, purpose: &[&str], state: &str) -> String {
        let time = format!("{:x}", now.as_secs());
        let tag = hex(&state_tag(&self.current, &time, purpose, state));
        format!("{}.{time}.{tag}.{state}", name_of(&self.current))
    }

    /// Returns the state that was sealed for this purpose.
    ///
    /// # Errors
    /// Why it is refused, for the client and its log.
    pub(crate) fn open_state<'s>(
        &self,
        now: Duration,
        purpose: &[&str],
        sealed: &'s str,
    ) -> Result<&'s str, &'static str> {
        let mut parts = sealed.splitn(4, '.');
        let mut part = || parts.next().ok_or(INVALID);
        let (name, time, found, state) = (part()?, part()?, part()?, part()?);
        let key = self.keys().find(|key| name == name_of(key)).ok_or(OTHER_KEY)?;
        let expected = hex(&state_tag(key, time, purpose, state));
        if !are_equal(expected.as_bytes(), found.as_bytes()) {
            return Err(INVALID);
        }
        let time = u64::from_str_radix(time, 16).map_err(|_| INVALID)?;
        // A clock that is behind sees a state of the future.
        if now.as_secs().saturating_sub(time) > self.state_age.as_secs() {
            return Err(EXPIRED);
        }
        Ok(state)
    }

    /// Returns the name of the key that seals.
    #[cfg(feature = "http")]
    pub(crate) fn key_name(&self) -> [u8; 4] {
        name_bytes(&self.current)
    }

    /// Returns a ring whose current key is the one with this name.
    #[cfg(feature = "http")]
    pub(crate) fn with_key(&self, name: [u8; 4]) -> Option<Self> {
        let current = *self.keys().find(|key| name == name_bytes(key))?;
        Some(Self { current, ..self.clone() })
    }

    /// Returns the tag of the id of a session.
    #[cfg(feature = "http")]
    pub(crate) fn session_tag(&self, prefix: &str, content: &[u8]) -> [u8; 32] {
        tag(&self.current, b"mcp-sansio session\n", &[prefix], content)
    }

    /// Returns bytes that stand for a principal, and tell others nothing of it.
    #[cfg(feature = "http")]
    pub(crate) fn principal_tag(&self, principal: &[&str]) -> [u8; 8] {
        let tag = tag(&self.current, b"mcp-sansio principal\n", principal, &[]);
        core::array::from_fn(|at| tag.get(at).copied().unwrap_or_default())
    }

    fn keys(&self) -> impl Iterator<Item = &[u8; 32]> {
        [Some(&self.current), self.previous.as_ref()].into_iter().flatten()
    }
}

mcp_sansio::opaque_debug!(KeyRing { state_age });

/// Returns a name by which a server knows its key, and which tells others nothing of it.
fn name_of(key: &[u8; 32]) -> String {
    hex(&name_bytes(key))
}

fn name_bytes(key: &[u8; 32]) -> [u8; 4] {
    let [one, two, three, four, ..] = tag(key, b"mcp-sansio name of a key\n", &[], &[]);
    [one, two, three, four]
}

fn state_tag(key: &[u8; 32], time: &str, purpose: &[&str], state: &str) -> [u8; 32] {
    tag(key, b"mcp-sansio request state\n", &[&[time], purpose].concat(), state.as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the HMAC-SHA256 (RFC 2104) of a label, which tells the uses of a key apart, of the texts
/// of a purpose, and of the content.
fn tag(key: &[u8; 32], label: &[u8], purpose: &[&str], content: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| {
        // A key that is shorter than a block is filled with zeros.
        let mut block = [pad; 64];
        for (place, byte) in block.iter_mut().zip(key) {
            *place ^= byte;
        }
        let mut hash = Sha256::EMPTY;
        hash.update(&block);
        hash
    };
    let (mut inner, mut outer) = (padded(0x36), padded(0x5c));
    inner.update(label);
    for text in purpose {
        // Its length separates it from the next, of which it could pass for a part.
        inner.update(&(text.len() as u64).to_be_bytes());
        inner.update(text.as_bytes());
    }
    inner.update(content);
    outer.update(&inner.finish());
    outer.finish()
}

/// Compares in a time that does not depend on where the first difference is.
pub(crate) fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && core::hint::black_box(differences) == 0
}

/// Label of records.
const RECORD: &[u8] = b"mcp-sansio record\n";

pub(crate) const INVALID: &str = "Invalid requestState";
const EXPIRED: &str = "The requestState is too old: call again without it";
const OTHER_KEY: &str = "The requestState is sealed with a key that this server does not have: its \
     processes need one KeyRing, or it was started again: call again without it";

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 1. Zeros fill its key of 20 bytes, as HMAC does by itself.
    #[test]
    fn tags_are_those_of_hmac() {
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let expected = [
            0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b,
            0xf1, 0x2b, 0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7, 0x26, 0xe9, 0x37, 0x6c,
            0x2e, 0x32, 0xcf, 0xf7,
        ];
        assert_eq!(tag(&key, b"", &[], b"Hi There"), expected);
    }

    const NOW: Duration = Duration::from_secs(1_000_000);

    #[test]
    fn mrtr_09_a_state_is_valid_only_unchanged_for_its_purpose_and_key() {
        let ring = KeyRing::new([1; 32]);
        let purpose = ["tools/call", "a"];
        let sealed = ring.seal_state(NOW, &purpose, "{\"kept\":\"1.2\"}");
        assert_eq!(ring.open_state(NOW, &purpose, &sealed), Ok("{\"kept\":\"1.2\"}"));
        for other in [&["tools/call", "b"][..], &["tools/calla", ""], &["tools/call", "a", ""]] {
            assert_eq!(ring.open_state(NOW, other, &sealed), Err(INVALID), "{other:?}");
        }
        assert_eq!(KeyRing::new([2; 32]).open_state(NOW, &purpose, &sealed), Err(OTHER_KEY));
        for at in 0..sealed.len() {
            // The second flips the letter case.
            for bit in [1, 0x20] {
                let mut changed = sealed.clone().into_bytes();
                changed[at] ^= bit;
                let changed = String::from_utf8(changed).unwrap();
                let opened = ring.open_state(NOW, &purpose, &changed);
                assert!(opened.is_err(), "changed at {at}: {changed}");
            }
            assert!(ring.open_state(NOW, &purpose, &sealed[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn mrtr_12_a_state_has_an_age() {
        let ring = KeyRing { state_age: Duration::from_secs(60), ..KeyRing::new([1; 32]) };
        let sealed = ring.seal_state(NOW, &[], "s");
        let open = |now| ring.open_state(now, &[], &sealed);
        assert_eq!(open(NOW + Duration::from_secs(60)), Ok("s"));
        assert_eq!(open(NOW + Duration::from_secs(61)), Err(EXPIRED));
        assert_eq!(open(NOW - Duration::from_secs(5)), Ok("s"), "by a clock that is behind");
        let ring = KeyRing { state_age: Duration::MAX, ..ring };
        assert_eq!(ring.open_state(Duration::MAX, &[], &sealed), Ok("s"));
    }

    #[test]
    fn a_previous_key_opens_and_does_not_seal() {
        let (old, new) = (KeyRing::new([1; 32]), KeyRing::new([2; 32]));
        let both = KeyRing { previous: Some([1; 32]), ..new.clone() };
        assert_eq!(both.open_state(NOW, &[], &old.seal_state(NOW, &[], "s")), Ok("s"));
        assert_eq!(new.open_state(NOW, &[], &both.seal_state(NOW, &[], "s")), Ok("s"));
        assert_eq!(old.open_state(NOW, &[], &both.seal_state(NOW, &[], "s")), Err(OTHER_KEY));
    }
}
