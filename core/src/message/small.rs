//! Reads a message where code is scarce: validates it, then walks its objects like any other JSON.

use super::envelope::Member;
use crate::json::{RawJson, ScanError, byte, skip_value};
use crate::protocol::Method;
use crate::text::{Words, words};

/// The members of a message. `kind` checks them and classifies the message.
pub(crate) struct Envelope<'f> {
    text: &'f str,
    members: [Option<RawJson<'f>>; KEPT],
    /// A bit for each member that was found.
    seen: u32,
    duplicate: bool,
}

/// A message is read again, which costs no code.
#[cfg(all(feature = "http", feature = "alloc"))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {}

#[cfg(all(feature = "http", feature = "alloc"))]
impl Found {
    pub(crate) fn is_common(&self) -> bool {
        match *self {}
    }
}

impl<'f> Envelope<'f> {
    /// Creates an envelope without members, for the message in `text`.
    pub(crate) fn new(text: &'f str) -> Self {
        Self { text, members: Default::default(), seen: 0, duplicate: false }
    }

    #[cfg(all(feature = "http", feature = "alloc"))]
    pub(crate) fn again(_: &'f str, found: Found) -> Self {
        match found {}
    }

    #[cfg(all(feature = "http", feature = "alloc"))]
    pub(crate) fn found(&self) -> Option<Found> {
        None
    }

    pub(crate) fn text(&self) -> &'f str {
        self.text
    }

    /// Reads the object at `start`, which is nested in `used` levels; returns its end. After an
    /// error, the members before it are recorded.
    pub(crate) fn read(&mut self, start: usize, used: u32) -> Result<usize, ScanError> {
        let text = self.text.as_bytes();
        if byte(text, start) != b'{' {
            return Err(ScanError::at(start));
        }
        let read = skip_value(text, start, used);
        let end = read.unwrap_or_else(ScanError::position);
        let message = self.text.get(start..end).map(RawJson::scanned);
        self.walk(message, Member::Version, MESSAGE);
        let (params, meta) = (Member::Params, Member::Meta);
        self.walk(self.value(params), Member::Arguments, PARAMS);
        self.walk(self.value(meta), Member::ProgressToken, META);
        read
    }

    /// Records the members of an object. `names` are those of the members from `first` on.
    #[inline(never)]
    fn walk(&mut self, object: Option<RawJson<'f>>, first: Member, names: Words) {
        let Some(object) = object else { return };
        let mut members = object.members();
        while let Some(key) = members.next_key() {
            let at = names.position(&key);
            let place = at.map_or(Member::Other as usize, |at| first as usize + at);
            let bit = 1 << place;
            self.duplicate |= self.seen & bit & Member::UNIQUE != 0;
            self.seen |= bit;
            let Some(value) = members.next_value() else { return };
            if let Some(member) = self.members.get_mut(place) {
                *member = Some(value);
            }
        }
    }

    /// Returns `params` as the application gets them.
    pub(crate) fn params(&self) -> Params<'f> {
        Params(self.value(Member::Params))
    }

    /// Whether a member that may occur only once occurs twice.
    pub(crate) fn has_duplicate(&self) -> bool {
        self.duplicate
    }

    pub(crate) fn has_valid_version(&self) -> bool {
        let version = self.value(Member::Version).and_then(RawJson::as_string);
        version.is_some_and(|version| version == "2.0")
    }

    /// There is no fast path that finds common methods.
    pub(crate) fn common_method(&self) -> Option<Method<'f>> {
        None
    }

    pub(crate) fn value(&self, member: Member) -> Option<RawJson<'f>> {
        self.members.get(member as usize).copied().flatten()
    }

    pub(crate) fn has(&self, member: Member) -> bool {
        self.value(member).is_some()
    }

    /// Whether a member was found, even if the text ends within its value.
    pub(crate) fn has_begun(&self, member: Member) -> bool {
        self.seen & member.bit() != 0
    }

    /// Returns the first byte of a member, which shows its JSON type, or zero for a missing member.
    pub(crate) fn first_byte(&self, member: Member) -> u8 {
        self.value(member).map_or(0, |value| byte(value.as_str().as_bytes(), 0))
    }

    /// Returns the position behind a member; zero if it is missing.
    pub(crate) fn end_of(&self, member: Member) -> usize {
        self.value(member).map_or(0, |value| {
            let start = value.as_str().as_ptr() as usize - self.text.as_ptr() as usize;
            start + value.as_str().len()
        })
    }
}

/// The `params` of a request or notification: their text, which is searched for each member.
#[derive(Clone, Copy, Debug)]
pub struct Params<'f>(Option<RawJson<'f>>);

/// The `arguments` of a request.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'f>(Option<RawJson<'f>>);

impl<'f> Params<'f> {
    /// Returns the value of `params` as received, even if it is not an object.
    pub(crate) fn given(&self) -> Option<RawJson<'f>> {
        self.0
    }

    #[inline(never)]
    pub(crate) fn find(&self, key: &str) -> Option<RawJson<'f>> {
        self.0?.get(key)
    }

    pub(crate) fn given_name(&self) -> Option<RawJson<'f>> {
        self.find("name")
    }

    pub(crate) fn given_arguments(&self) -> Arguments<'f> {
        Arguments(self.find("arguments"))
    }
}

impl<'f> Arguments<'f> {
    pub(crate) fn indexed(&self) -> crate::json::Indexed<'f> {
        self.as_json().into()
    }

    pub(crate) fn given(&self) -> Option<RawJson<'f>> {
        self.0
    }

    pub(crate) fn find(&self, key: &str) -> Option<RawJson<'f>> {
        self.0?.get(key)
    }
}

/// Part of a copy of [`Params`] that is not in their text.
#[derive(Clone, Debug)]
pub(crate) struct ParamPositions;

impl ParamPositions {
    /// Returns the parameters. The text has one byte before them.
    pub(crate) fn params<'a>(&self, text: &'a str) -> Params<'a> {
        Params(text.get(1..).filter(|params| !params.is_empty()).map(RawJson::scanned))
    }
}

impl Params<'_> {
    #[expect(clippy::unused_self, reason = "on large processors the positions are recorded")]
    pub(crate) const fn positions(&self) -> ParamPositions {
        ParamPositions
    }
}

const MESSAGE: Words = words!["jsonrpc", "id", "method", "result", "error", "params"];
const PARAMS: Words =
    words!["arguments", "_meta", "name", "uri", "cursor", "inputResponses", "requestState"];
const META: Words = words![
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
];

/// Number of recorded members: the others of `params` are only looked at for duplicates.
const KEPT: usize = Member::Meta as usize + 1;
