//! The record, which is kept between two runs of a program.

use core::fmt;

use super::arena::{Entries, Key, MAX_ISSUERS, Tag, put_entry};
use super::dpop::put_thumbprint;
use super::state::{Authorization, Phase};
use super::token::is_access_token;
use super::writer::{Full, Writer};

/// Reason why a record cannot be used. Nothing of it has been taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// It is of a version that is not known.
    Version,
    /// It is no record, or damaged.
    Damaged,
    /// It is about another MCP server.
    OtherServer,
    /// The arena has no room for it.
    TooLarge,
}

impl Authorization<'_> {
    /// Takes a record that was kept. Its form is checked, and that a token can stand in a header
    /// field. A program that can change it can give the client tokens and credentials, so keep it
    /// where only its owner can write.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn load(&mut self, record: &[u8]) -> Result<(), RecordError> {
        let entries = self.read(record)?;
        self.arena.clear();
        for (key, text) in entries.iter().filter(|(key, _)| *key != Tag::Endpoint.into()) {
            let text = core::str::from_utf8(text).unwrap_or_default();
            // There is room: the record is not longer than the arena.
            let _ = self.arena.set(key, text);
        }
        let has_token = |number: &u8| {
            self.arena.has(Tag::AccessToken.of(*number))
                || self.arena.has(Tag::RefreshToken.of(*number))
        };
        self.flow.tokens = (1..=MAX_ISSUERS).find(has_token).unwrap_or(0);
        self.drop_tokens_of_another_key();
        self.flow.generation = self.flow.generation.wrapping_add(1).max(1);
        self.restart(Phase::Idle);
        Ok(())
    }

    /// Writes what is to be kept: tokens, credentials of this client, and what is known of the
    /// authorization servers. It has secrets. Returns the length: at most that of the arena and of
    /// the server's URL, and 9 bytes.
    ///
    /// # Errors
    /// [`Full`] if `out` has no room for it.
    pub fn record(&self, out: &mut [u8]) -> Result<usize, Full> {
        let (head, rest) = out.split_first_chunk_mut::<HEAD>().ok_or(Full)?;
        let endpoint = self.setup.endpoint.as_bytes();
        let start = put_entry(Tag::Endpoint.into(), endpoint, rest).ok_or(Full)?;
        let rest = rest.get_mut(start..).ok_or(Full)?;
        let len = self.arena.entries().copy_kept(rest).ok_or(Full)?;
        let [a, b, c, d] = u32::try_from(start + len).map_err(|_| Full)?.to_le_bytes();
        *head = [VERSION, a, b, c, d];
        Ok(HEAD + start + len)
    }

    /// Checks a record, and returns its entries.
    fn read<'r>(&self, record: &'r [u8]) -> Result<Entries<'r>, RecordError> {
        if record.first().is_some_and(|version| *version != VERSION) {
            return Err(RecordError::Version);
        }
        let (head, rest) = record.split_first_chunk::<HEAD>().ok_or(RecordError::Damaged)?;
        let [_, a, b, c, d] = *head;
        let len = u32::from_le_bytes([a, b, c, d]);
        if usize::try_from(len) != Ok(rest.len()) {
            return Err(RecordError::Damaged);
        }
        let entries = Entries::of_record(rest);
        let is_text = |(key, text): (Key, &[u8])| {
            key.is_valid_in_record()
                && core::str::from_utf8(text).is_ok_and(|text| {
                    // It goes into a header field as it is.
                    !key.is_within(Tag::AccessToken, Tag::AccessToken) || is_access_token(text)
                })
        };
        if !entries.is_complete() || !entries.iter().all(is_text) {
            return Err(RecordError::Damaged);
        }
        if entries.get(Tag::Endpoint) != Some(self.setup.endpoint) {
            return Err(RecordError::OtherServer);
        }
        if rest.len() > self.arena.capacity() {
            return Err(RecordError::TooLarge);
        }
        Ok(entries)
    }

    /// Erases tokens that are bound to another key than the setup's: no proof is one for them.
    fn drop_tokens_of_another_key(&mut self) {
        let mut own = [0; THUMBPRINT];
        let mut own = Writer::new(&mut own);
        if let Some(key) = self.setup.dpop {
            put_thumbprint(key, &mut own);
        }
        let number = self.flow.tokens;
        if self.arena.get(Tag::TokenKey.of(number)).is_some_and(|kept| kept != own.as_str()) {
            self.drop_tokens(number);
        }
    }

    /// Erases what another program has removed from the record: the tokens, by a log-out, or a
    /// refresh token that was refused. Authorization servers take its second use for a theft.
    pub(super) fn drop_removed(&mut self, record: &[u8]) {
        let (entries, number) = (self.read(record).ok(), self.flow.issuer);
        let is_kept = |tag: Tag| {
            let own = self.arena.get(tag.of(number));
            let is_own = |other: u8| entries.and_then(|it| it.get(tag.of(other))) == own;
            own.is_some() && (1..=MAX_ISSUERS).any(is_own)
        };
        match (is_kept(Tag::AccessToken), is_kept(Tag::RefreshToken)) {
            (_, true) => {}
            (true, false) => self.arena.remove(Tag::RefreshToken.of(number)),
            (false, false) => self.drop_tokens(number),
        }
    }

    /// Takes a record if it has another access token: another program has renewed it.
    pub(super) fn load_newer(&mut self, record: &[u8]) -> bool {
        let is_newer = self.read(record).is_ok_and(|entries| {
            let token_of = |number: u8| entries.get(Tag::AccessToken.of(number));
            let other = (1..=MAX_ISSUERS).find_map(token_of);
            other.is_some() && other != self.arena.get(Tag::AccessToken.of(self.flow.tokens))
        });
        is_newer && self.load(record).is_ok()
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "the record has an unknown version: log in again",
            Self::Damaged => "the record is damaged: log in again",
            Self::OtherServer => "the record is about another server",
            Self::TooLarge => "the memory for the authorization has no room for the record",
        })
    }
}

impl core::error::Error for RecordError {}

/// Length of a thumbprint.
const THUMBPRINT: usize = 43;
/// The first byte of a record.
const VERSION: u8 = 1;
/// Length of what stands before the texts: the version, and the length of all texts.
const HEAD: usize = 5;
