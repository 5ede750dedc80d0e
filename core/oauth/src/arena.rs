//! The memory of a client's authorization: texts under keys, in borrowed memory of a fixed size.
//! Also the writers of such texts, of JSON and of base64.

use core::fmt::{self, Write};
use core::ops::Range;

use mcp_sansio::internal::copy;
use zeroize::Zeroize;

/// Kind of a text. The number is part of the [record](super::Authorization::record): it is never
/// given to another text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Tag {
    // Kept in the record, for the server.
    /// The URL of the MCP server.
    Endpoint = 1,
    /// The identifier of the resource, which goes into each request (RFC 8707).
    Resource,
    /// The issuer to which configured credentials that name none are bound.
    BoundIssuer,
    // Kept in the record, for an issuer.
    Issuer,
    TokenEndpoint,
    AuthorizationEndpoint,
    RegistrationEndpoint,
    /// The issuer's metadata, as the number of [`ServerFlags`](super::flow_start::ServerFlags).
    ServerFlags,
    /// When the issuer's metadata was read, in Unix seconds.
    ReadAt,
    ClientId,
    ClientSecret,
    /// The client's way to authenticate at the token endpoint, by its name.
    ClientMethod,
    /// When the secret ends, in Unix seconds.
    SecretEnds,
    /// The redirect URI that was registered.
    RegisteredRedirect,
    /// The client to which the tokens belong.
    TokenClient,
    AccessToken,
    RefreshToken,
    /// The thumbprint of the key to which the tokens are bound; none of bearer tokens.
    TokenKey,
    /// When the access token is renewed, in Unix seconds: shortly before its end.
    TokenDue,
    /// The scope that was asked for, with which a step-up is united. It outlives the tokens.
    AskedScope,
    /// The scope of the tokens, where the server says another than the one that was asked for.
    GrantedScope,
    // Of a flow.
    ChallengeUrl = 64,
    /// A text that is looked at before it is kept.
    Decoded,
    ChallengeScope,
    /// The scopes of the resource's metadata.
    ResourceScope,
    /// The redirect URI of this flow.
    Redirect,
    State,
    Verifier,
    Code,
    /// The identity token, or the platform's token.
    Assertion,
    /// The assertion of the identity provider for the authorization server.
    Grant,
    // Of a token response, in the order of the tags that they replace.
    NewClient,
    NewAccessToken,
    NewRefreshToken,
    NewKey,
    NewDue,
    /// The scope that this flow asks for.
    NewAsked,
    NewScope,
    // Of a request.
    Url,
    Body,
    Credentials,
    /// The signed assertion of the client.
    ClientAssertion,
    Proof,
    /// The URL for a person.
    Shown,
    // Nonces for proofs.
    ServerNonce,
    ResourceNonce,
    /// The proof of a request to the MCP server.
    ResourceProof,
    // Of a failure.
    FailureUrl,
    FailureAnswer,
}

/// A tag, and the issuer that it is about: 0 for none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    number: u8,
    pub(super) group: u8,
}

impl From<Tag> for Key {
    fn from(tag: Tag) -> Self {
        tag.of(0)
    }
}

impl Tag {
    /// The tag for the issuer with this number.
    pub(super) const fn of(self, group: u8) -> Key {
        Key { number: self as u8, group }
    }
}

impl Key {
    /// Whether the text is kept in the record.
    pub(super) const fn is_kept(self) -> bool {
        self.number < Tag::ChallengeUrl as u8
    }

    /// Whether the text is one of those between two tags, both included.
    pub(super) const fn is_within(self, first: Tag, last: Tag) -> bool {
        self.number >= first as u8 && self.number <= last as u8
    }

    /// Whether the text belongs to an issuer.
    pub(super) const fn is_of_issuer(self) -> bool {
        self.is_within(Tag::Issuer, Tag::GrantedScope)
    }

    /// Whether an entry of a record may have this key.
    pub(super) const fn is_valid_in_record(self) -> bool {
        if self.is_of_issuer() {
            issuers().start <= self.group && self.group < issuers().end
        } else {
            self.is_within(Tag::Endpoint, Tag::BoundIssuer) && self.group == 0
        }
    }
}

/// The texts, one behind the other: tag, group, length in two bytes, bytes. All bytes behind the
/// last one are zero.
pub(super) struct Arena<'m> {
    memory: &'m mut [u8],
    len: &'m mut usize,
}

/// The texts of an arena while another one is written.
#[derive(Clone, Copy)]
pub(super) struct Entries<'m>(&'m [u8]);

/// The arena has no room for a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoRoom;

impl<'m> Arena<'m> {
    pub(super) fn new(memory: &'m mut [u8], len: &'m mut usize) -> Self {
        Self { memory, len }
    }

    pub(super) fn entries(&self) -> Entries<'_> {
        Entries(self.memory.get(..*self.len).unwrap_or_default())
    }

    pub(super) fn get(&self, key: impl Into<Key>) -> Option<&str> {
        self.entries().get(key)
    }

    pub(super) fn has(&self, key: impl Into<Key>) -> bool {
        self.get(key).is_some()
    }

    /// Replaces a text. On an error the old one is still there.
    pub(super) fn set(
        &mut self,
        key: impl Into<Key>,
        text: &dyn fmt::Display,
    ) -> Result<(), NoRoom> {
        self.write(key, |_, out| {
            write_to(out, text);
            Ok(())
        })
    }

    /// Replaces a text, or removes it.
    pub(super) fn set_or_remove(
        &mut self,
        key: impl Into<Key>,
        text: Option<&str>,
    ) -> Result<(), NoRoom> {
        let key = key.into();
        match text {
            Some(text) => self.set(key, &text),
            None => {
                self.remove(key);
                Ok(())
            }
        }
    }

    /// Replaces a text by one that is written from the others. On an error the old one is still
    /// there.
    pub(super) fn write<E: From<NoRoom>>(
        &mut self,
        key: impl Into<Key>,
        text: impl FnOnce(Entries<'_>, &mut Writer<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let key = key.into();
        let (end, had_one) = (*self.len, self.has(key));
        let (entries, free) = self.memory.split_at_mut_checked(end).ok_or(NoRoom)?;
        let (head, free) = free.split_first_chunk_mut::<ENTRY_HEAD>().ok_or(NoRoom)?;
        let room = free.len().min(usize::from(u16::MAX));
        let free = free.get_mut(..room).ok_or(NoRoom)?;
        let mut out = Writer::new(free);
        let written = text(Entries(entries), &mut out)
            .and_then(|()| out.finish().map(str::len).map_err(|_| NoRoom.into()));
        match written {
            Ok(len) => {
                let [low, high] = (len as u16).to_le_bytes();
                *head = [key.number, key.group, low, high];
                *self.len = end + ENTRY_HEAD + len;
                if had_one {
                    self.remove_first(key);
                }
                Ok(())
            }
            Err(error) => {
                self.erase(end, end + ENTRY_HEAD + room);
                Err(error)
            }
        }
    }

    /// Replaces a text by a copy of another one; removes it if there is no such text.
    pub(super) fn copy(&mut self, from: impl Into<Key>, to: impl Into<Key>) -> Result<(), NoRoom> {
        let (from, to) = (from.into(), to.into());
        if !self.has(from) {
            self.remove(to);
            return Ok(());
        }
        self.write(to, |entries, out| {
            out.put(entries.get(from).unwrap_or_default());
            Ok(())
        })
    }

    pub(super) fn number(&self, key: impl Into<Key>) -> Option<u64> {
        self.get(key)?.parse().ok()
    }

    pub(super) fn remove(&mut self, key: impl Into<Key>) {
        let key = key.into();
        self.retain(|other| other != key);
    }

    /// Erases the texts whose key does not fit.
    pub(super) fn retain(&mut self, mut fits: impl FnMut(Key) -> bool) {
        let (mut from, mut to, end) = (0, 0, *self.len);
        while let Some((key, size)) = self.header(from, end) {
            if fits(key) {
                // Most calls erase one text, and those before it stay where they are.
                if from != to {
                    self.shift(from, to, size);
                }
                to += size;
            }
            from += size;
        }
        *self.len = to;
        self.erase(to, end);
    }

    /// Gives a text another key; erases what was there.
    pub(super) fn rename(&mut self, from: Key, to: Key) {
        self.remove(to);
        let (mut at, end) = (0, *self.len);
        while let Some((key, size)) = self.header(at, end) {
            if key == from
                && let Some([number, group]) = self.memory.get_mut(at..at + 2)
            {
                (*number, *group) = (to.number, to.group);
                return;
            }
            at += size;
        }
    }

    /// Returns how many bytes all texts can have together, with four bytes for each.
    pub(super) fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Erases everything.
    pub(super) fn clear(&mut self) {
        *self.len = 0;
        self.memory.zeroize();
    }

    /// Erases the first text with the key.
    fn remove_first(&mut self, key: Key) {
        let mut is_gone = false;
        self.retain(|other| other != key || core::mem::replace(&mut is_gone, true));
    }

    /// Returns the key of the text at a place, and its size with the header.
    fn header(&self, at: usize, end: usize) -> Option<(Key, usize)> {
        let (key, bytes) = Entries(self.memory.get(..end)?).at(at)?;
        Some((key, ENTRY_HEAD + bytes.len()))
    }

    /// Moves bytes towards the start.
    fn shift(&mut self, from: usize, to: usize, len: usize) {
        for at in 0..len {
            let byte = self.memory.get(from + at).copied().unwrap_or_default();
            if let Some(place) = self.memory.get_mut(to + at) {
                *place = byte;
            }
        }
    }

    fn erase(&mut self, from: usize, to: usize) {
        self.memory.get_mut(from..to).unwrap_or_default().zeroize();
    }
}

impl<'m> Entries<'m> {
    /// Wraps the entries of a record. Entries behind an invalid one are not seen.
    pub(super) const fn of_record(record: &'m [u8]) -> Self {
        Self(record)
    }

    pub(super) fn get(self, key: impl Into<Key>) -> Option<&'m str> {
        let key = key.into();
        let (_, bytes) = self.iter().find(|(other, _)| *other == key)?;
        core::str::from_utf8(bytes).ok()
    }

    pub(super) fn iter(self) -> impl Iterator<Item = (Key, &'m [u8])> {
        let mut at = 0;
        core::iter::from_fn(move || {
            let (key, bytes) = self.at(at)?;
            at += ENTRY_HEAD + bytes.len();
            Some((key, bytes))
        })
    }

    /// Whether the entries end where the memory ends.
    pub(super) fn is_complete(self) -> bool {
        self.iter().map(|(_, bytes)| ENTRY_HEAD + bytes.len()).sum::<usize>() == self.0.len()
    }

    /// Copies the entries that are kept, as they stand here, and returns their size.
    pub(super) fn copy_kept(self, out: &mut [u8]) -> Option<usize> {
        let mut end = 0;
        for (key, bytes) in self.iter().filter(|(key, _)| key.is_kept()) {
            end += put_entry(key, bytes, out.get_mut(end..)?)?;
        }
        Some(end)
    }

    fn at(self, at: usize) -> Option<(Key, &'m [u8])> {
        let (head, rest) = self.0.get(at..)?.split_first_chunk::<ENTRY_HEAD>()?;
        let [number, group, low, high] = *head;
        let len = usize::from(u16::from_le_bytes([low, high]));
        Some((Key { number, group }, rest.get(..len)?))
    }
}

/// Writes an entry as it stands in an arena, and returns its size.
pub(super) fn put_entry(key: Key, bytes: &[u8], out: &mut [u8]) -> Option<usize> {
    let (head, rest) = out.split_first_chunk_mut::<ENTRY_HEAD>()?;
    let [low, high] = u16::try_from(bytes.len()).ok()?.to_le_bytes();
    copy(bytes, rest.get_mut(..bytes.len())?);
    *head = [key.number, key.group, low, high];
    Some(ENTRY_HEAD + bytes.len())
}

/// Returns the numbers of the issuers whose credentials are kept. As an inclusive range they would
/// take a hundred bytes more of flash.
pub(super) const fn issuers() -> Range<u8> {
    1..5
}

/// Length of the header of a text: tag, group, length.
const ENTRY_HEAD: usize = 4;

// Text that is written into memory of the caller.

/// Writes text into borrowed memory. A text that does not fit is cut off, and
/// [`finish`](Self::finish) says so.
///
/// ```
/// # use std::fmt::Write as _;
/// # use mcp_sansio_oauth::Writer;
/// let mut memory = [0; 8];
/// let mut out = Writer::new(&mut memory);
/// write!(out, "id={}", 7).unwrap();
/// assert_eq!(out.finish(), Ok("id=7"));
/// ```
pub struct Writer<'b> {
    memory: &'b mut [u8],
    len: usize,
    is_full: bool,
}

/// The memory does not have room for the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl<'b> Writer<'b> {
    /// Creates a writer whose text begins at the start of `memory`.
    pub const fn new(memory: &'b mut [u8]) -> Self {
        Self { memory, len: 0, is_full: false }
    }

    /// Appends a text. Once one has not fit, all later ones are dropped.
    pub fn put(&mut self, text: &str) {
        let end = self.len.saturating_add(text.len());
        match self.memory.get_mut(self.len..end) {
            Some(place) if !self.is_full => {
                copy(text.as_bytes(), place);
                self.len = end;
            }
            _ => self.is_full = true,
        }
    }

    /// Returns the text so far.
    pub fn as_str(&self) -> &str {
        let text = self.memory.get(..self.len).unwrap_or_default();
        core::str::from_utf8(text).unwrap_or_default()
    }

    /// Returns the text.
    ///
    /// # Errors
    /// [`Full`] if a part of it did not fit.
    pub fn finish(self) -> Result<&'b str, Full> {
        if self.is_full {
            return Err(Full);
        }
        let text = self.memory.get(..self.len).ok_or(Full)?;
        core::str::from_utf8(text).map_err(|_| Full)
    }
}

impl Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text);
        if self.is_full { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Shows the length alone: the text may be a secret.
impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({} of {} bytes)", self.len, self.memory.len())
    }
}

mcp_sansio::error_type!(Full => |_| "the memory has no room for the text");

/// Writes a text; the writer remembers if it did not fit.
pub(super) fn write_to(out: &mut Writer<'_>, text: impl fmt::Display) {
    let _ = Write::write_fmt(out, format_args!("{text}"));
}

/// Writes a JSON object member by member. The sink handles a text that does not fit.
pub(super) struct Object<'o> {
    out: &'o mut dyn Write,
    is_empty: bool,
}

impl<'o> Object<'o> {
    pub(super) fn begin(out: &'o mut dyn Write) -> Self {
        put(out, "{");
        Self { out, is_empty: true }
    }

    pub(super) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        put_string(value, self.name(name));
        self
    }

    pub(super) fn text_if(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    pub(super) fn number(&mut self, name: &str, value: u64) -> &mut Self {
        let _ = write!(self.name(name), "{value}");
        self
    }

    pub(super) fn texts(&mut self, name: &str, values: &[&str]) -> &mut Self {
        let out = self.name(name);
        put(out, "[");
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                put(out, ",");
            }
            put_string(value, out);
        }
        put(out, "]");
        self
    }

    /// Writes a member whose value `write` writes.
    pub(super) fn member(&mut self, name: &str, write: impl FnOnce(&mut dyn Write)) -> &mut Self {
        write(self.name(name));
        self
    }

    pub(super) fn end(&mut self) {
        put(self.out, "}");
    }

    fn name(&mut self, name: &str) -> &mut dyn Write {
        if !core::mem::take(&mut self.is_empty) {
            put(self.out, ",");
        }
        put_string(name, self.out);
        put(self.out, ":");
        self.out
    }
}

fn put(out: &mut dyn Write, text: &str) {
    let _: fmt::Result = out.write_str(text);
}

fn put_string(text: &str, out: &mut dyn Write) {
    put(out, "\"");
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '\\' | '\0'..='\u{1f}')) {
        let (plain, behind) = rest.split_at_checked(at).unwrap_or_default();
        put(out, plain);
        let escaped = behind.bytes().next().unwrap_or_default();
        let _: fmt::Result = match escaped {
            b'"' => out.write_str("\\\""),
            b'\\' => out.write_str("\\\\"),
            _ => write!(out, "\\u{escaped:04x}"),
        };
        rest = behind.get(1..).unwrap_or_default();
    }
    put(out, rest);
    put(out, "\"");
}

// Base64 (RFC 4648) of text that is written in pieces, and base64url back to bytes.

/// Encodes what is written to it.
pub(super) struct Base64<'w, 'b> {
    out: &'w mut Writer<'b>,
    digits: &'static str,
    /// Bits that have not left yet: 8 or 16 of them, or none.
    held: u32,
    held_bytes: u8,
}

impl<'w, 'b> Base64<'w, 'b> {
    /// Encodes as Base64 with padding.
    pub(super) const fn standard(out: &'w mut Writer<'b>) -> Self {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        Self { out, digits, held: 0, held_bytes: 0 }
    }

    /// Encodes as base64url without padding.
    pub(super) const fn url(out: &'w mut Writer<'b>) -> Self {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        Self { out, digits, held: 0, held_bytes: 0 }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.held = self.held << 8 | u32::from(*byte);
            self.held_bytes += 1;
            if self.held_bytes == 3 {
                self.put_digits(4);
                (self.held, self.held_bytes) = (0, 0);
            }
        }
    }

    /// Writes what is held.
    pub(super) fn finish(mut self) {
        let len = self.held_bytes;
        if len > 0 {
            self.held <<= 8 * (3 - u32::from(len));
            self.put_digits(len + 1);
            if self.digits.ends_with('/') {
                self.out.put(if len == 1 { "==" } else { "=" });
            }
        }
    }

    fn put_digits(&mut self, count: u8) {
        for shift in [18, 12, 6, 0].into_iter().take(usize::from(count)) {
            let at = (self.held >> shift & 63) as usize;
            self.out.put(self.digits.get(at..=at).unwrap_or_default());
        }
    }
}

impl Write for Base64<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}

/// Writes bytes as base64url without padding.
pub fn put_base64url(bytes: &[u8], out: &mut Writer<'_>) {
    let mut base64 = Base64::url(out);
    base64.put(bytes);
    base64.finish();
}

/// Returns bytes as base64url without padding; empty if it does not fit.
pub(super) fn base64url<'m>(bytes: &[u8], memory: &'m mut [u8]) -> &'m str {
    let mut out = Writer::new(memory);
    put_base64url(bytes, &mut out);
    out.finish().unwrap_or_default()
}

/// Decodes base64url without padding into the beginning of `out` and returns the bytes; `None` if
/// they do not fit, or if the text is not what an encoder writes.
pub fn decode_base64url<'b>(text: &str, out: &'b mut [u8]) -> Option<&'b [u8]> {
    let (mut held, mut bits, mut len) = (0u32, 0, 0);
    for byte in text.bytes() {
        held = held << 6 | u32::from(value_of(byte)?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            *out.get_mut(len)? = (held >> bits) as u8;
            len += 1;
            held &= (1 << bits) - 1;
        }
    }
    // One text for each sequence of bytes: the last bits are zero, and are no whole digit.
    if held != 0 || bits >= 6 {
        return None;
    }
    out.get(..len)
}

fn value_of(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod arena_tests {
    extern crate std;

    use std::vec;

    use super::*;

    #[test]
    fn texts_are_replaced_and_what_they_were_is_erased() {
        let (mut memory, mut len) = (vec![0; 64], 0);
        let mut arena = Arena::new(&mut memory, &mut len);
        arena.set(Tag::Issuer.of(1), &"first").unwrap();
        arena.set(Tag::Code, &"secret").unwrap();
        arena.set(Tag::Issuer.of(2), &"second").unwrap();
        arena.set(Tag::Issuer.of(1), &"1").unwrap();
        assert_eq!(arena.get(Tag::Issuer.of(1)), Some("1"));
        assert_eq!(arena.get(Tag::Issuer.of(2)), Some("second"));
        assert_eq!(arena.get(Tag::Code), Some("secret"));
        arena.remove(Tag::Code);
        arena.set(Tag::TokenDue.of(1), &1_700_000_000).unwrap();
        assert_eq!(arena.number(Tag::TokenDue.of(1)), Some(1_700_000_000));
        arena.retain(|key| key.group != 2);
        assert_eq!(arena.get(Tag::Issuer.of(2)), None);
        assert_eq!(arena.entries().iter().count(), 2);
        assert!(memory.windows(3).all(|part| part != b"sec"));
        assert!(memory[len..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn auth_113_a_text_without_room_leaves_the_old_one_and_no_trace() {
        let (mut memory, mut len) = (vec![0; 16], 0);
        let mut arena = Arena::new(&mut memory, &mut len);
        arena.set(Tag::Code, &"abcd").unwrap();
        // Both texts are there for a moment.
        assert_eq!(arena.set(Tag::Code, &"secret"), Err(NoRoom));
        assert_eq!(arena.get(Tag::Code), Some("abcd"));
        assert_eq!(*arena.len, 8);
        let failed = arena.write(Tag::State, |entries, out| {
            out.put(entries.get(Tag::Code).unwrap());
            Err(NoRoom)
        });
        assert_eq!(failed, Err(NoRoom));
        assert_eq!(&memory[8..], [0; 8]);
        Arena::new(&mut memory, &mut len).clear();
        assert_eq!((memory, len), (vec![0; 16], 0));
    }
}

#[cfg(test)]
mod writer_tests {
    extern crate std;

    use std::format;

    use super::*;

    #[test]
    fn a_text_that_does_not_fit_is_an_error() {
        let mut memory = [0; 5];
        let mut out = Writer::new(&mut memory);
        out.put("abc\u{e9}");
        assert_eq!(out.as_str(), "abc\u{e9}");
        assert_eq!(format!("{out:?}"), "Writer(5 of 5 bytes)");
        assert_eq!(out.finish(), Ok("abc\u{e9}"));
        let mut out = Writer::new(&mut memory);
        out.put("abcdef");
        out.put("a");
        assert_eq!(out.as_str(), "");
        assert_eq!(out.finish(), Err(Full));
    }
}

#[cfg(test)]
mod base64_tests {
    extern crate std;

    use std::format;

    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    #[test]
    fn text_is_that_of_the_crate_base64() {
        let mut seed = 1u32;
        for len in 0..70 {
            let bytes: std::vec::Vec<u8> = (0..len)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 24) as u8
                })
                .collect();
            for (engine, is_url) in [(STANDARD, false), (URL_SAFE_NO_PAD, true)] {
                let (mut expected, mut memory) = ([0; 96], [0; 96]);
                let expected_len = engine.encode_slice(&bytes, &mut expected).unwrap();
                let mut out = Writer::new(&mut memory);
                let mut base64 =
                    if is_url { Base64::url(&mut out) } else { Base64::standard(&mut out) };
                let (first, second) = bytes.split_at(len / 2);
                base64.put(first);
                base64.put(second);
                base64.finish();
                assert_eq!(out.as_str().as_bytes(), &expected[..expected_len]);
                if is_url {
                    let mut decoded = [0; 70];
                    assert_eq!(decode_base64url(out.as_str(), &mut decoded), Some(&bytes[..]));
                    assert_eq!(
                        decode_base64url(out.as_str(), &mut decoded[..len.max(1) - 1]).is_none(),
                        len > 0
                    );
                }
            }
        }
    }

    #[test]
    fn texts_of_two_characters_are_decoded_as_the_crate_base64_does() {
        for a in 0..=127u8 {
            for b in 0..=127u8 {
                let text = format!("AB{}{}", char::from(a), char::from(b));
                for text in [&text[..], &text[2..], &text[3..], &text[1..]] {
                    let (mut mine, mut theirs) = ([0; 4], [0; 8]);
                    let mine = decode_base64url(text, &mut mine);
                    let theirs = URL_SAFE_NO_PAD.decode_slice(text, &mut theirs).ok();
                    assert_eq!(mine.map(<[u8]>::len), theirs, "{text:?}");
                }
            }
        }
    }
}
