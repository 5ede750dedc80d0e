//! Authenticates records, since a store is input: others may be able to write to it.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Length of the tag at the end of a sealed record.
const TAG: usize = 32;

/// Seals records: they can be opened only unchanged, under the key of the store for which they were
/// sealed, and with the secret.
///
/// A sealed record is the record and 32 bytes of HMAC-SHA256 over a label of this format, the
/// length of the key as 8 bytes, the key, and the record. It is not encrypted, and the seal does
/// not show that a record is the latest: whoever can write to the store can remove a record, or put
/// an older one back under the same key.
///
/// The secret is 32 random bytes from the program's configuration, for example of
/// `openssl rand -hex 32`, and used for nothing else.
#[derive(Clone)]
pub struct Seal {
    secret: [u8; 32],
    previous: Option<[u8; 32]>,
}

impl Seal {
    /// Creates a seal with this secret.
    #[must_use]
    pub const fn new(secret: [u8; 32]) -> Self {
        Self { secret, previous: None }
    }

    /// Opens also records that were sealed with this secret, but seals none with it: for the time
    /// until all of them have been saved again or are gone.
    #[must_use]
    pub const fn previous(self, secret: [u8; 32]) -> Self {
        Self { previous: Some(secret), ..self }
    }

    /// Returns the record with its tag, to be stored under `key`.
    #[must_use]
    pub fn seal(&self, key: &str, mut record: Vec<u8>) -> Vec<u8> {
        let tag = mac(&self.secret, key, &record).finalize().into_bytes();
        record.extend_from_slice(&tag);
        record
    }

    /// Returns the record without its tag, if it was sealed for `key`.
    #[must_use]
    pub fn open<'b>(&self, key: &str, sealed: &'b [u8]) -> Option<&'b [u8]> {
        let (record, tag) = sealed.split_last_chunk::<TAG>()?;
        let mut secrets = [Some(&self.secret), self.previous.as_ref()].into_iter().flatten();
        // In constant time, so that the duration of a rejection reveals nothing.
        secrets.any(|secret| mac(secret, key, record).verify_slice(tag).is_ok()).then_some(record)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

fn mac(secret: &[u8; 32], key: &str, record: &[u8]) -> Hmac<Sha256> {
    // HMAC fills a key that is shorter than a block with zeros.
    let mut block = [0; 64];
    block[..32].copy_from_slice(secret);
    let mut mac = Hmac::<Sha256>::new((&block).into());
    mac.update(b"mcp-sansio record\n");
    mac.update(&(key.len() as u64).to_be_bytes());
    mac.update(key.as_bytes());
    mac.update(record);
    mac
}
