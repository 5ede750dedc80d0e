//! Reads a message in one pass: validates it and records its members on the way.

use super::envelope::Member;
use crate::json::{
    INDEXED, Indexed, JsonStr, RawJson, ScanError, byte, next_byte, skip_clean, skip_digits,
    skip_escapes, skip_member, skip_string, skip_value, skip_whitespace,
};
use crate::protocol::Method;

/// The members of a message. `kind` checks them and classifies the message.
pub(crate) struct Envelope<'f> {
    text: &'f str,
    found: Found,
}

/// What was found in a message, as positions in its text, to be used again with the same text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    members: [Span; Member::KEPT],
    /// The first arguments.
    index: Index,
    arguments: usize,
    duplicate: bool,
    /// Whether the version is valid and was found by the fast path.
    version: bool,
    /// The method, if it is a common one and was found by the fast path.
    method: Option<CommonMethod>,
    /// The end of the message; zero until all of it is read.
    end: u32,
}

impl<'f> Envelope<'f> {
    /// Creates an envelope without members, for the message in `text`.
    #[inline]
    pub(crate) const fn new(text: &'f str) -> Self {
        let found = Found {
            members: [Span::NONE; Member::KEPT],
            index: Index::EMPTY,
            arguments: 0,
            duplicate: false,
            version: false,
            method: None,
            end: 0,
        };
        Self { text, found }
    }

    /// Creates an envelope for a text that was read before.
    #[cfg(all(feature = "http", feature = "alloc"))]
    pub(crate) const fn again(text: &'f str, found: Found) -> Self {
        Self { text, found }
    }

    /// Returns what was found, once all of the message is read.
    #[cfg(all(feature = "http", feature = "alloc"))]
    pub(crate) fn found(&self) -> Option<Found> {
        Some(self.found).filter(|found| found.end > 0)
    }

    pub(crate) fn text(&self) -> &'f str {
        self.text
    }

    /// Reads the object at `start`, which is nested in `used` levels; returns its end.
    #[inline(always)]
    pub(crate) fn read(&mut self, start: usize, used: u32) -> Result<usize, ScanError> {
        if self.found.end == 0 {
            self.found.end = self.scan(start, used)? as u32;
        }
        Ok(self.found.end as usize)
    }

    /// One loop handles all levels: the open objects follow from the level, and from the spans that
    /// have no end yet.
    fn scan(&mut self, start: usize, used: u32) -> Result<usize, ScanError> {
        let text = self.text.as_bytes();
        if byte(text, start) != b'{' {
            return Err(ScanError::at(start));
        }
        let mut level = Level::Message;
        let (mut at, mut first) = next_byte(text, start + 1);
        if first == b'}' {
            return Ok(at + 1);
        }
        loop {
            if first != b'"' {
                return Err(ScanError::at(at));
            }
            let end = if level == Level::Arguments {
                self.argument(text, at, used)?
            } else if let Some(step) = self.match_common(text, level, at, used) {
                match step {
                    CommonStep::Skip(end) => end,
                    CommonStep::Enter(inside, at_key) => {
                        (level, at) = (inside, at_key);
                        continue;
                    }
                }
            } else {
                let ParsedKey { member, end: key_end, escaped, colon } = key(self.text, level, at)?;
                let (value, first_of_value) = next_byte(text, colon + 1);
                if first_of_value == b'{'
                    && let Some(inside) = member.inside()
                {
                    self.keep(member, Span::begun(value));
                    level = inside;
                    (at, first) = next_byte(text, value + 1);
                    if first != b'}' {
                        continue;
                    }
                    at
                } else {
                    match skip_member(text, value, first_of_value, used + level.depth()) {
                        Ok(end) if level == Level::Arguments => {
                            self.add_argument(at, key_end, escaped, end);
                            end
                        }
                        Ok(end) => {
                            self.keep(member, Span::new(value, end));
                            end
                        }
                        Err(error) => {
                            self.keep(member, Span::begun(value));
                            return Err(error);
                        }
                    }
                }
            };
            // Most members are followed by another, and most writers put no space in between.
            if text.get(end..).is_some_and(|rest| rest.starts_with(b",\"")) {
                (at, first) = (end + 1, b'"');
                continue;
            }
            (at, first) = next_byte(text, end);
            // Close every object that ends here.
            while first == b'}' {
                at += 1;
                let Some((ended, outer)) = level.outside() else { return Ok(at) };
                if let Some(span) = self.found.members.get_mut(ended as usize) {
                    span.finish(at);
                }
                level = outer;
                (at, first) = next_byte(text, at);
            }
            if first != b',' {
                return Err(ScanError::at(at));
            }
            (at, first) = next_byte(text, at + 1);
        }
    }

    /// Records the argument at `at` and returns its end. Does the same as for other members,
    /// without the steps that arguments do not need.
    #[inline(always)]
    fn argument(&mut self, text: &[u8], at: usize, used: u32) -> Result<usize, ScanError> {
        let ParsedKey { end: key_end, escaped, colon, .. } = key(self.text, Level::Arguments, at)?;
        let (value, first_of_value) = next_byte(text, colon + 1);
        let end = skip_member(text, value, first_of_value, used + Level::Arguments.depth())?;
        self.add_argument(at, key_end, escaped, end);
        Ok(end)
    }

    #[inline]
    fn add_argument(&mut self, quote: usize, key_end: usize, escaped: bool, end: usize) {
        self.found.index.add(self.found.arguments, quote, key_end, escaped, end);
        self.found.arguments += 1;
    }

    #[inline]
    pub(crate) fn keep(&mut self, member: Member, place: Span) {
        let Some(span) = self.found.members.get_mut(member as usize) else { return };
        let again = !span.is_empty() && member.bit() & Member::UNIQUE != 0;
        *span = place;
        self.found.duplicate |= again;
    }

    /// Returns `params` as the application gets them.
    #[inline]
    pub(crate) fn params(&self) -> Params<'f> {
        let mut starts = [0; Member::STARTS];
        for (start, span) in
            starts.iter_mut().zip(self.found.members.iter().skip(Member::FIRST_START as usize))
        {
            *start = span.start() as u32;
        }
        let places = ParamPositions {
            whole: self.span(Member::Params),
            arguments: self.span(Member::Arguments),
            starts,
            name_end: self.end_of(Member::Name) as u32,
            index: self.found.index,
        };
        Params { text: self.text, places }
    }

    /// Whether a member that may occur only once occurs twice.
    #[inline]
    pub(crate) fn has_duplicate(&self) -> bool {
        self.found.duplicate
    }

    #[inline]
    pub(crate) fn has_valid_version(&self) -> bool {
        self.found.version
            || self.span(Member::Version).bytes(self.text) == b"\"2.0\""
            || self.has_escaped_version()
    }

    #[cold]
    #[inline(never)]
    fn has_escaped_version(&self) -> bool {
        self.value(Member::Version)
            .and_then(RawJson::as_string)
            .is_some_and(|version| version == "2.0")
    }

    /// Returns the method, if the fast path found a common one.
    #[inline]
    pub(crate) fn common_method(&self) -> Option<Method<'f>> {
        self.found.method.map(Method::from)
    }

    fn span(&self, member: Member) -> Span {
        self.found.members.get(member as usize).copied().unwrap_or(Span::NONE)
    }

    pub(crate) fn value(&self, member: Member) -> Option<RawJson<'f>> {
        self.span(member).value(self.text)
    }

    pub(crate) fn has(&self, member: Member) -> bool {
        !self.span(member).is_empty()
    }

    /// Whether a member was found, even if the text ends within its value.
    pub(crate) fn has_begun(&self, member: Member) -> bool {
        self.span(member).is_begun()
    }

    /// Returns the first byte of a member, which shows its JSON type, or zero for a missing member.
    pub(crate) fn first_byte(&self, member: Member) -> u8 {
        let start = self.span(member).start();
        if start == 0 { 0 } else { byte(self.text.as_bytes(), start) }
    }

    /// Returns the position behind a member; zero if it is missing.
    pub(crate) fn end_of(&self, member: Member) -> usize {
        self.span(member).end()
    }
}

/// A parsed key: its member, and the positions of its closing quote and its colon.
struct ParsedKey {
    member: Member,
    end: usize,
    escaped: bool,
    colon: usize,
}

/// Reads the key at `at`.
#[inline(always)]
fn key(text: &str, level: Level, at: usize) -> Result<ParsedKey, ScanError> {
    let bytes = text.as_bytes();
    if let Some((rest, word)) = load_word(bytes, at)
        && let Some((member, len)) = level.common_member(rest, word)
    {
        return Ok(ParsedKey { member, end: at + len - 2, escaped: false, colon: at + len - 1 });
    }
    let mut end = skip_clean(bytes, at + 1);
    let escaped = byte(bytes, end) != b'"';
    let member = if !escaped {
        if level == Level::Arguments {
            Member::Other
        } else {
            level.member(bytes.get(at + 1..end).unwrap_or_default())
        }
    } else {
        end = skip_escapes(bytes, end)? - 1;
        level.member_escaped(text.get(at..end + 1).map(JsonStr::scanned))
    };
    match next_byte(bytes, end + 1) {
        (colon, b':') => Ok(ParsedKey { member, end, escaped, colon }),
        _ => Err(ScanError::at(end + 1)),
    }
}

// Fast path: compares the most common members in their most common spelling, eight bytes at a
// time; everything else falls back to `Envelope::read`.

/// Where to continue: behind a member, or at the first key in an object.
pub(crate) enum CommonStep {
    Skip(usize),
    Enter(Level, usize),
}

impl Envelope<'_> {
    /// Records the member at `at`, if it is one of these.
    #[inline(always)]
    fn match_common(
        &mut self,
        text: &[u8],
        level: Level,
        at: usize,
        used: u32,
    ) -> Option<CommonStep> {
        let (rest, word) = load_word(text, at)?;
        macro_rules! after {
            ($known:literal) => {
                if starts_with(rest, word, $known) { Some(at + $known.len()) } else { None }
            };
        }
        match level {
            Level::Message => {
                if let Some(end) = after!(b"\"jsonrpc\":\"2.0\"") {
                    self.found.version = true;
                    return Some(self.skip(Member::Version, end - 5, end));
                }
                if let Some(value) = after!(b"\"method\":") {
                    let (method, len) = CommonMethod::from_prefix(rest.get(9..)?)?;
                    self.found.method = Some(method);
                    return Some(self.skip(Member::Method, value, value + len));
                }
                if let Some(value) = after!(b"\"id\":") {
                    let end = skip_digits(text, value);
                    let is_number = end > value
                        && byte(text, value) != b'0'
                        && matches!(byte(text, end), b',' | b'}');
                    return if is_number { Some(self.skip(Member::Id, value, end)) } else { None };
                }
                let inner = after!(b"\"params\":{\"")?;
                Some(self.enter(Level::Params, Member::Params, inner - 1))
            }
            Level::Params => {
                if let Some(inner) = after!(b"\"name\":\"") {
                    let end = skip_clean(text, inner);
                    return if byte(text, end) == b'"' {
                        Some(self.skip(Member::Name, inner - 1, end + 1))
                    } else {
                        None
                    };
                }
                if let Some(inner) = after!(b"\"arguments\":{\"") {
                    return Some(self.enter(Level::Arguments, Member::Arguments, inner - 1));
                }
                let inner = after!(b"\"_meta\":{\"")?;
                Some(self.enter(Level::Meta, Member::Meta, inner - 1))
            }
            Level::Meta => {
                let (member, len) = level.common_member(rest, word)?;
                let value = at + len;
                let end = skip_member(text, value, byte(text, value), used + level.depth()).ok()?;
                Some(self.skip(member, value, end))
            }
            Level::Arguments => None,
        }
    }

    #[inline(always)]
    fn skip(&mut self, member: Member, value: usize, end: usize) -> CommonStep {
        self.keep(member, Span::new(value, end));
        CommonStep::Skip(end)
    }

    /// Enters the object whose first key starts at `key`.
    #[inline(always)]
    fn enter(&mut self, level: Level, member: Member, key: usize) -> CommonStep {
        self.keep(member, Span::begun(key - 1));
        CommonStep::Enter(level, key)
    }
}

#[cfg(all(feature = "http", feature = "alloc"))]
impl Found {
    /// Returns whether it calls one of the most frequent methods.
    pub(crate) const fn is_common(&self) -> bool {
        self.method.is_some()
    }
}

/// The most frequent methods.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CommonMethod {
    ToolsCall,
    ResourcesRead,
    PromptsGet,
}

impl CommonMethod {
    /// Returns the method whose name `text` begins with, and the length of the name: quotes
    /// included, without escapes.
    #[inline(always)]
    fn from_prefix(text: &[u8]) -> Option<(Self, usize)> {
        macro_rules! among {
            ($($name:literal $method:ident),*) => {
                $(if text.starts_with($name) { Some((Self::$method, $name.len())) } else)* { None }
            };
        }
        among!(b"\"tools/call\"" ToolsCall, b"\"resources/read\"" ResourcesRead, b"\"prompts/get\"" PromptsGet)
    }
}

impl From<CommonMethod> for Method<'_> {
    #[inline]
    fn from(method: CommonMethod) -> Self {
        match method {
            CommonMethod::ToolsCall => Self::ToolsCall,
            CommonMethod::ResourcesRead => Self::ResourcesRead,
            CommonMethod::PromptsGet => Self::PromptsGet,
        }
    }
}

/// Returns the text from `at` on, and its first eight bytes as a word; `None` if there are fewer.
#[inline(always)]
fn load_word(text: &[u8], at: usize) -> Option<(&[u8], u64)> {
    let rest = text.get(at..)?;
    Some((rest, u64::from_le_bytes(*rest.first_chunk()?)))
}

/// Returns whether `text`, whose first eight bytes are `word`, starts with `known`.
#[inline(always)]
pub(crate) fn starts_with<const L: usize>(text: &[u8], word: u64, known: &[u8; L]) -> bool {
    match known.split_first_chunk() {
        Some((first, rest)) => {
            word == u64::from_le_bytes(*first)
                && text.get(8..).is_some_and(|text| text.starts_with(rest))
        }
        None => {
            let known = known.iter().rev().fold(0, |known, byte| known << 8 | u64::from(*byte));
            word << (8 * (8 - L)) == known << (8 * (8 - L))
        }
    }
}

/// The first members of an object, up to [`INDEXED`], which are found without a search: each as two
/// positions of four bytes. `end` is zero in unused entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index([Entry; INDEXED]);

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Position of the first character of the key. If the key is empty or contains an escape,
    /// position of its opening quote, which no character of a key can be.
    key: u32,
    /// End of the value.
    end: u32,
}

impl Index {
    pub(crate) const EMPTY: Self = Self([Entry { key: 0, end: 0 }; INDEXED]);

    /// Records a member as entry `at`, if there is room. `quote` is the position of its opening
    /// quote, `key_end` the end of its key, `escaped` whether the key contains an escape, and `end`
    /// the end of its value.
    #[inline]
    pub(crate) fn add(
        &mut self,
        at: usize,
        quote: usize,
        key_end: usize,
        escaped: bool,
        end: usize,
    ) {
        if let Some(entry) = self.0.get_mut(at) {
            let key = if escaped || key_end == quote + 1 { quote } else { quote + 1 };
            *entry = Entry { key: key as u32, end: end as u32 };
        }
    }

    /// Returns the index for a text whose first `by` bytes were removed.
    pub(crate) fn moved_down(self, by: usize) -> Self {
        let by = by as u32;
        Self(self.0.map(|entry| Entry {
            key: entry.key.saturating_sub(by),
            end: entry.end.saturating_sub(by),
        }))
    }

    /// Returns whether the object may have more members than the index.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.0.last().is_some_and(|entry| entry.end != 0)
    }

    /// Returns the value of the member with this key.
    #[inline]
    pub(crate) fn find(&self, text: &str, key: &str) -> Option<Span> {
        let bytes = text.as_bytes();
        let entry = self
            .0
            .iter()
            .take_while(|entry| entry.end != 0)
            .find(|entry| entry.matches(text, key))?;
        // Only a colon stands between the closing quote of the key, which is the next quote, and
        // the value.
        let mut quote = entry.key as usize + key.len();
        if byte(bytes, entry.key as usize) == b'"' {
            quote = skip_string(bytes, entry.key as usize).ok()? - 1;
        }
        let colon = skip_whitespace(bytes, quote + 1);
        Some(Span::new(skip_whitespace(bytes, colon + 1), entry.end as usize))
    }
}

impl Entry {
    #[inline]
    fn matches(self, text: &str, key: &str) -> bool {
        let start = self.key as usize;
        match text.as_bytes().get(start..) {
            Some([b'"', ..]) => self.matches_escaped(text, key),
            // A searched key with a quote could match beyond the end of the key in the text.
            Some(rest) => {
                rest.starts_with(key.as_bytes())
                    && rest.get(key.len()) == Some(&b'"')
                    && !key.as_bytes().contains(&b'"')
            }
            None => false,
        }
    }

    /// Compares a key that is empty or contains an escape.
    #[cold]
    #[inline(never)]
    fn matches_escaped(self, text: &str, key: &str) -> bool {
        let start = self.key as usize;
        let end = skip_string(text.as_bytes(), start);
        end.ok()
            .and_then(|end| text.get(start..end))
            .is_some_and(|written| JsonStr::scanned(written) == key)
    }
}

/// The beginning of the keys of the protocol in `_meta`.
const PREFIX: &[u8; 25] = b"\"io.modelcontextprotocol/";

/// The objects whose members are distinguished: the message, its `params`, and two objects in
/// `params`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Message,
    Params,
    Arguments,
    Meta,
}

impl Member {
    /// Number of recorded members.
    pub(crate) const KEPT: usize = Self::Other as usize;
    /// The first of the members of which [`Params`](super::Params) has only the start.
    pub(crate) const FIRST_START: Self = Self::Meta;
    pub(crate) const STARTS: usize = Self::KEPT - Self::FIRST_START as usize;

    /// Returns the level of its members, if it is an object whose members are distinguished.
    #[inline]
    pub(crate) const fn inside(self) -> Option<Level> {
        match self {
            Self::Params => Some(Level::Params),
            Self::Arguments => Some(Level::Arguments),
            Self::Meta => Some(Level::Meta),
            _ => None,
        }
    }
}

impl Level {
    /// Returns the number of objects around its members.
    #[inline]
    pub(crate) const fn depth(self) -> u32 {
        match self {
            Self::Message => 1,
            Self::Params => 2,
            Self::Arguments | Self::Meta => 3,
        }
    }

    /// Returns the member that is this object, and the level of that member.
    #[inline]
    const fn outside(self) -> Option<(Member, Self)> {
        match self {
            Self::Message => None,
            Self::Params => Some((Member::Params, Self::Message)),
            Self::Arguments => Some((Member::Arguments, Self::Params)),
            Self::Meta => Some((Member::Meta, Self::Params)),
        }
    }

    /// Returns the member whose key `text` starts with, and the length of the key with its colon.
    /// Finds only the most common members in their most common spelling, by comparing whole keys a
    /// word at a time, which is much faster than searching for their ends. [`member`](Self::member)
    /// finds the others.
    #[inline(always)]
    fn common_member(self, text: &[u8], word: u64) -> Option<(Member, usize)> {
        macro_rules! first_match {
            ($text:ident $word:ident $($known:literal $member:ident),*) => {
                $(if starts_with($text, $word, $known) {
                    Some((Member::$member, $known.len()))
                } else)* {
                    None
                }
            };
        }
        match self {
            Self::Message => {
                first_match!(text word b"\"id\":" Id, b"\"method\":" Method, b"\"params\":" Params)
            }
            Self::Params => {
                first_match!(text word b"\"name\":" Name, b"\"arguments\":" Arguments, b"\"_meta\":" Meta)
            }
            Self::Arguments => None,
            // The beginning of most keys is compared once.
            Self::Meta if starts_with(text, word, PREFIX) => {
                let (rest, word) = load_word(text, PREFIX.len())?;
                let (member, len) = first_match!(
                    rest word
                    b"protocolVersion\":" ProtocolVersion,
                    b"clientInfo\":" Other,
                    b"clientCapabilities\":" ClientCapabilities
                )?;
                Some((member, PREFIX.len() + len))
            }
            Self::Meta => first_match!(text word b"\"progressToken\":" ProgressToken),
        }
    }

    /// Returns the member whose key is this string, which contains a backslash.
    #[cold]
    #[inline(never)]
    fn member_escaped(self, string: Option<JsonStr<'_>>) -> Member {
        let mut decoded = [0; 48];
        // A key that does not fit is not one of the known keys.
        string
            .and_then(|string| string.copy_to(&mut decoded))
            .map_or(Member::Other, |name| self.member(name.as_bytes()))
    }

    /// Returns the member with this key. Uses comparisons, since a `match` compares byte by byte.
    pub(crate) fn member(self, name: &[u8]) -> Member {
        macro_rules! first_match {
            ($($known:literal $member:ident),*) => {
                $(if name == $known { Member::$member } else)* { Member::Other }
            };
        }
        match self {
            Self::Message => {
                first_match!(b"jsonrpc" Version, b"id" Id, b"method" Method, b"params" Params, b"result" Result, b"error" Error)
            }
            Self::Params => first_match!(
                b"name" Name, b"arguments" Arguments, b"_meta" Meta, b"uri" Uri, b"cursor" Cursor, b"inputResponses" InputResponses,
                b"requestState" RequestState
            ),
            Self::Arguments => Member::Other,
            Self::Meta => first_match!(
                b"progressToken" ProgressToken,
                b"io.modelcontextprotocol/protocolVersion" ProtocolVersion,
                b"io.modelcontextprotocol/clientCapabilities" ClientCapabilities,
                b"io.modelcontextprotocol/logLevel" LogLevel
            ),
        }
    }
}

/// The `params` of a request or notification.
#[derive(Clone, Copy, Debug)]
pub struct Params<'f> {
    text: &'f str,
    places: ParamPositions,
}

/// Places of the members of [`Params`] in their text, or in a copy of it.
// Kept small, since an event is moved a few times before its handler gets it: members that may be
// large have a start and an end, the others only a start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParamPositions {
    whole: Span,
    arguments: Span,
    /// Start of each of the other recorded members; zero for a missing one.
    starts: [u32; Member::STARTS],
    /// End of `name`, which each call looks for.
    name_end: u32,
    index: Index,
}

/// The `arguments` of a request, the first of which are found without a search.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'f> {
    text: &'f str,
    whole: Span,
    index: Index,
}

impl<'f> Params<'f> {
    /// Returns the value of `params` as received, even if it is not an object.
    #[inline]
    pub(crate) fn given(&self) -> Option<RawJson<'f>> {
        self.places.whole.value(self.text)
    }

    /// Inlined, so that a constant key is compared while compiling.
    #[inline(always)]
    pub(crate) fn find(&self, key: &str) -> Option<RawJson<'f>> {
        let member = match key {
            "name" => return self.given_name(),
            "uri" => Member::Uri,
            "cursor" => Member::Cursor,
            "inputResponses" => Member::InputResponses,
            "requestState" => Member::RequestState,
            "arguments" => return self.places.arguments.value(self.text),
            "_meta" => Member::Meta,
            _ => return self.given()?.get(key),
        };
        self.member(member)
    }

    #[inline]
    pub(crate) fn given_name(&self) -> Option<RawJson<'f>> {
        let ParamPositions { starts, name_end, .. } = &self.places;
        let start = starts.get(Member::Name as usize - Member::FIRST_START as usize)?;
        Span { start: *start, end: *name_end }.value(self.text)
    }

    /// Returns one of the members of which only the start is recorded.
    #[inline]
    fn member(&self, member: Member) -> Option<RawJson<'f>> {
        let at = (member as usize).wrapping_sub(Member::FIRST_START as usize);
        let start = self.places.starts.get(at).copied().filter(|start| *start > 0)?;
        self.value_at(start as usize)
    }

    #[inline]
    pub(crate) fn given_arguments(&self) -> Arguments<'f> {
        let ParamPositions { arguments: whole, index, .. } = self.places;
        Arguments { text: self.text, whole, index }
    }

    /// Returns the value that starts at `start`. It has been scanned, so it is valid.
    #[inline(never)]
    fn value_at(&self, start: usize) -> Option<RawJson<'f>> {
        let bytes = self.text.as_bytes();
        let end = if byte(bytes, start) == b'"' {
            skip_string(bytes, start)
        } else {
            skip_value(bytes, start, 0)
        };
        let end = end.ok()?;
        self.text.get(start..end).map(RawJson::scanned)
    }
}

impl<'f> Arguments<'f> {
    #[inline]
    pub(crate) fn indexed(&self) -> Indexed<'f> {
        let ends = self.index.moved_down(self.whole.start()).0.map(|entry| entry.end);
        Indexed { json: self.as_json(), ends }
    }

    #[inline]
    pub(crate) fn given(&self) -> Option<RawJson<'f>> {
        self.whole.value(self.text)
    }

    pub(crate) fn find(&self, key: &str) -> Option<RawJson<'f>> {
        match self.index.find(self.text, key) {
            Some(value) => value.value(self.text),
            None if self.index.is_full() => self.given()?.get(key),
            None => None,
        }
    }
}

impl ParamPositions {
    /// Returns the parameters. The text has one byte before them.
    pub(crate) const fn params<'a>(&self, text: &'a str) -> Params<'a> {
        Params { text, places: *self }
    }
}

impl Params<'_> {
    /// Returns the positions in a text that has one byte before the parameters, since position 0
    /// means "missing".
    pub(crate) fn positions(&self) -> ParamPositions {
        let ParamPositions { whole, arguments, starts, name_end, index } = self.places;
        let by = whole.start().saturating_sub(1);
        ParamPositions {
            whole: whole.moved_down(by),
            arguments: arguments.moved_down(by),
            starts: starts.map(|start| start.saturating_sub(by as u32)),
            name_end: name_end.saturating_sub(by as u32),
            index: index.moved_down(by),
        }
    }
}

/// A byte range of a frame. Half the size of `&str`; UTF-8 boundaries are checked on access. An
/// empty one stands for a missing value, since values are never empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) const NONE: Self = Self { start: 0, end: 0 };

    /// Creates a span. The positions fit 32 bits: [`Messages`](super::Messages) rejects frames of 4
    /// GiB or more.
    #[inline]
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// Creates a span without an end: empty until it is [finished](Self::finish).
    #[inline]
    pub(crate) fn begun(start: usize) -> Self {
        Self { start: start as u32, end: 0 }
    }

    #[inline]
    pub(crate) fn finish(&mut self, end: usize) {
        self.end = end as u32;
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.end == 0
    }

    /// Returns whether a value, or its start, was found. No value stands at position 0.
    pub(crate) fn is_begun(self) -> bool {
        self.start != 0
    }

    /// Returns the start.
    #[inline]
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    /// Returns the position behind the value.
    pub(crate) fn end(self) -> usize {
        self.end as usize
    }

    #[cfg_attr(not(small), inline)]
    pub(crate) fn bytes(self, text: &str) -> &[u8] {
        text.as_bytes().get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Returns the span for a text whose first `by` bytes were removed.
    pub(crate) fn moved_down(self, by: usize) -> Self {
        Self {
            start: self.start.saturating_sub(by as u32),
            end: self.end.saturating_sub(by as u32),
        }
    }

    /// Returns the text, or `None` if the span is empty.
    #[cfg_attr(not(small), inline)]
    pub(crate) fn of(self, text: &str) -> Option<&str> {
        if self.is_empty() { None } else { text.get(self.start as usize..self.end as usize) }
    }

    /// Returns the scanned value.
    #[inline]
    pub(crate) fn value(self, text: &str) -> Option<RawJson<'_>> {
        self.of(text).map(RawJson::scanned)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::json::RawJson;

    /// Indexes an object as `Envelope::read` does.
    fn index(text: &str) -> Index {
        let mut index = Index::EMPTY;
        for (at, (key, value)) in RawJson::scanned(text).members().enumerate() {
            let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
            let (quote, end) =
                (place(key.as_json().as_str()), place(value.as_str()) + value.as_str().len());
            index.add(
                at,
                quote,
                quote + key.as_json().as_str().len() - 1,
                key.as_json().as_str().contains('\\'),
                end,
            );
        }
        index
    }

    #[test]
    fn keys_are_compared_by_value() {
        let text = r#"{"a" : 1,"":[2],"\u0061b":"3", "ab\"":{} }"#;
        let index = index(text);
        let find = |key| index.find(text, key).and_then(|span| span.of(text));
        assert_eq!(
            (find("a"), find(""), find("ab"), find("ab\"")),
            (Some("1"), Some("[2]"), Some("\"3\""), Some("{}"))
        );
        for other in ["b", "a\"", "aa", "a\" : 1,\"", "\"", "ab\\\""] {
            assert_eq!(find(other), None, "{other}");
        }
        assert!(index.is_full());
    }

    #[test]
    fn the_first_of_equal_keys_is_found_and_later_members_are_left_out() {
        let text = r#"{"a":1,"a":2,"b":3,"c":4,"d":5}"#;
        let index = index(text);
        let find = |key| index.find(text, key).and_then(|span| span.of(text));
        assert_eq!((find("a"), find("c"), find("d")), (Some("1"), Some("4"), None));
        assert!(index.is_full() && !Index::EMPTY.is_full());
        assert_eq!(Index::EMPTY.find(text, ""), None);
    }
}
