//! The YAML at the beginning of a `SKILL.md`, as JSON; also while compiling.
//!
//! YAML 1.2 with its core schema, without the parts that frontmatter does not need and that parsers
//! read differently: anchors, aliases, tags, merge keys, numbers that JSON writes in another way.
//! They are refused rather than guessed, since a client compares what it reads with what the server
//! has read.

use crate::json::byte;
use crate::types::rendered::Renderer;

/// Why frontmatter was not read.
pub(super) type Fault = &'static str;

/// Writes the frontmatter of a `SKILL.md` as a JSON object, in at most one line.
pub(super) const fn render(skill_md: &[u8], to: &mut Renderer<'_>) -> Option<Fault> {
    let Some(text) = find(skill_md) else {
        return Some("SKILL.md does not begin with frontmatter between two lines of ---");
    };
    if text.len() > MAX_FRONTMATTER {
        return Some("the frontmatter is longer than 16 KiB");
    }
    let mut yaml = Yaml { text, at: 0, depth: 0, fault: None, to };
    yaml.document();
    yaml.fault
}

/// Returns the lines between the first two lines of `---`.
const fn find(text: &[u8]) -> Option<&[u8]> {
    let text = match text {
        [0xef, 0xbb, 0xbf, rest @ ..] => rest,
        _ => text,
    };
    let start = match text {
        [b'-', b'-', b'-', b'\n', ..] => 4,
        [b'-', b'-', b'-', b'\r', b'\n', ..] => 5,
        _ => return None,
    };
    let mut at = start;
    while at < text.len() {
        let mut end = at;
        while end < text.len() && text[end] != b'\n' {
            end += 1;
        }
        if is_marker(slice(text, at, end)) {
            return Some(slice(text, start, at));
        }
        at = end + 1;
    }
    None
}

const fn is_marker(line: &[u8]) -> bool {
    let [b'-', b'-', b'-', rest @ ..] = line else { return false };
    let mut at = 0;
    while at < rest.len() {
        if !matches!(rest[at], b' ' | b'\t' | b'\r') {
            return false;
        }
        at += 1;
    }
    true
}

const fn slice(text: &[u8], start: usize, end: usize) -> &[u8] {
    match text.split_at_checked(end) {
        Some((head, _)) => match head.split_at_checked(start) {
            Some((_, part)) => part,
            None => &[],
        },
        None => &[],
    }
}

/// A place in the text. After a fault it is the end, so that all loops end.
struct Yaml<'y, 'o> {
    text: &'y [u8],
    at: usize,
    /// Number of open objects and arrays.
    depth: u8,
    fault: Option<Fault>,
    to: &'y mut Renderer<'o>,
}

impl<'y> Yaml<'y, '_> {
    const fn document(&mut self) {
        let mut at = 0;
        while at < self.text.len() {
            let is_text = match self.text[at] {
                b'\n' | b'\t' => true,
                b'\r' => byte(self.text, at + 1) == b'\n',
                control => control >= b' ' && control != 0x7f,
            };
            if !is_text {
                return self.fail("a control character");
            }
            at += 1;
        }
        self.skip_lines();
        if self.indent() > 0 || self.is_at_end() {
            return self.fail("the frontmatter is not an object");
        }
        self.mapping(0, false);
        if !self.is_at_end() {
            self.fail("a line that is no member");
        }
    }

    const fn fail(&mut self, fault: Fault) {
        if self.fault.is_none() {
            self.fault = Some(fault);
        }
        self.at = self.text.len();
    }

    const fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    const fn byte(&self, at: usize) -> u8 {
        byte(self.text, at)
    }

    /// Whether a line ends here.
    const fn ends(&self, at: usize) -> bool {
        matches!(self.byte(at), 0 | b'\n' | b'\r')
    }

    /// Whether a token ends here.
    const fn separates(&self, at: usize) -> bool {
        self.ends(at) || matches!(self.byte(at), b' ' | b'\t')
    }

    /// Whether a comment begins here.
    const fn is_comment(&self, at: usize) -> bool {
        self.byte(at) == b'#' && (at == 0 || self.separates(at - 1))
    }

    const fn skip_spaces(&mut self) {
        while matches!(self.byte(self.at), b' ' | b'\t') {
            self.at += 1;
        }
    }

    /// Goes to the beginning of the next line.
    const fn next_line(&mut self) {
        while !self.is_at_end() && self.byte(self.at) != b'\n' {
            self.at += 1;
        }
        if !self.is_at_end() {
            self.at += 1;
        }
    }

    /// Goes to the next line that is neither empty nor a comment.
    const fn skip_lines(&mut self) {
        while !self.is_at_end() {
            let content = self.at + self.indent();
            match self.byte(content) {
                b'\t' => return self.fail("a tab at the beginning of a line"),
                b'#' | b'\n' | b'\r' | 0 => self.next_line(),
                _ => return,
            }
        }
    }

    /// Leaves the line, of which nothing but a comment may be left.
    const fn end_line(&mut self) {
        self.skip_spaces();
        if self.ends(self.at) || self.is_comment(self.at) {
            self.next_line();
        } else {
            self.fail("text behind a value");
        }
    }

    const fn indent(&self) -> usize {
        let mut at = self.at;
        while self.byte(at) == b' ' {
            at += 1;
        }
        at - self.at
    }

    /// Whether an element of a sequence begins here.
    const fn is_dash(&self, at: usize) -> bool {
        self.byte(at) == b'-' && self.separates(at + 1)
    }

    /// Whether the rest of the line begins with a key and its colon.
    const fn has_key(&self, mut at: usize) -> bool {
        let quote = self.byte(at);
        let is_quoted = matches!(quote, b'"' | b'\'');
        if matches!(quote, b'[' | b'{') {
            return false;
        }
        if is_quoted {
            at += 1;
            while !self.ends(at) && self.byte(at) != quote {
                at += if quote == b'"' && self.byte(at) == b'\\' { 2 } else { 1 };
            }
            at += 1;
        }
        while !self.ends(at) && !self.is_comment(at) {
            match self.byte(at) {
                b':' if self.separates(at + 1) => return true,
                b' ' | b'\t' => {}
                _ if is_quoted => return false,
                _ => {}
            }
            at += 1;
        }
        false
    }

    const fn open(&mut self, bracket: &[u8]) -> bool {
        if self.depth == MAX_DEPTH {
            self.fail("the frontmatter is nested too deeply");
            return false;
        }
        self.depth += 1;
        self.to.put(bracket);
        true
    }

    const fn close(&mut self, bracket: &[u8]) {
        self.depth -= 1;
        self.to.put(bracket);
    }

    /// Reads the members that are indented by `indent`. If `inline`, the first is behind a dash.
    const fn mapping(&mut self, indent: usize, inline: bool) {
        if !self.open(b"{") {
            return;
        }
        let mut count = 0;
        loop {
            if count > 0 || !inline {
                self.skip_lines();
                if self.is_at_end() || self.indent() < indent {
                    break;
                }
                if self.indent() > indent {
                    self.fail("a line is indented too far");
                    break;
                }
                self.at += indent;
            }
            if count == MAX_MEMBERS {
                self.fail("more than 256 members");
            }
            self.to.element(count);
            count += 1;
            self.key();
            self.value_of_key(indent);
        }
        self.close(b"}");
    }

    /// Reads a key and its colon.
    const fn key(&mut self) {
        match self.byte(self.at) {
            b'"' | b'\'' => self.quoted(usize::MAX),
            first if self.begins_plain(first) => {
                let key = self.plain_text(false);
                self.plain_key(key);
            }
            _ => return self.fail("a key may not begin like this"),
        }
        self.skip_spaces();
        if self.byte(self.at) != b':' || !self.separates(self.at + 1) {
            return self.fail("a key without a colon");
        }
        self.at += 1;
        self.to.put(b":");
    }

    /// Reads what is behind the colon of a key, or on the lines below.
    const fn value_of_key(&mut self, indent: usize) {
        self.skip_spaces();
        if !self.ends(self.at) && !self.is_comment(self.at) {
            return self.value(indent);
        }
        self.next_line();
        self.skip_lines();
        let inner = self.indent();
        if self.is_at_end() {
            self.to.put(b"null");
        } else if inner == indent && self.is_dash(self.at + inner) {
            self.sequence(inner);
        } else {
            self.value_below(indent);
        }
    }

    /// Reads a value that begins on this line, if the line belongs to it.
    const fn value_below(&mut self, outer: usize) {
        let indent = self.indent();
        if self.is_at_end() || indent <= outer {
            self.to.put(b"null");
        } else if self.is_dash(self.at + indent) {
            self.sequence(indent);
        } else if self.has_key(self.at + indent) {
            self.mapping(indent, false);
        } else {
            self.at += indent;
            self.value(outer);
        }
    }

    /// Reads the elements that are indented by `indent`.
    const fn sequence(&mut self, indent: usize) {
        if !self.open(b"[") {
            return;
        }
        let mut count = 0;
        loop {
            self.skip_lines();
            if self.is_at_end() || self.indent() != indent || !self.is_dash(self.at + indent) {
                break;
            }
            self.to.element(count);
            count += 1;
            let line = self.at;
            self.at += indent + 1;
            while self.byte(self.at) == b' ' {
                self.at += 1;
            }
            if self.byte(self.at) == b'\t' {
                return self.fail("a tab behind a dash");
            }
            if self.ends(self.at) || self.is_comment(self.at) {
                self.next_line();
                self.skip_lines();
                self.value_below(indent);
            } else if self.is_dash(self.at) {
                self.fail("a sequence in a sequence begins on a line of its own");
            } else if self.has_key(self.at) {
                self.mapping(self.at - line, true);
            } else {
                self.value(indent);
            }
        }
        self.close(b"]");
    }

    /// Reads a value that begins here, in a member or element that is indented by `indent`, and
    /// leaves its last line.
    const fn value(&mut self, indent: usize) {
        match self.byte(self.at) {
            b'|' => return self.block_scalar(indent, false),
            b'>' => return self.block_scalar(indent, true),
            b'"' | b'\'' | b'[' | b'{' => self.flow_value(indent),
            first if self.begins_plain(first) => return self.plain(indent),
            _ => return self.fail("anchors, aliases, tags and other indicators are not supported"),
        }
        self.end_line();
    }

    /// Reads values in brackets.
    const fn flow(&mut self, indent: usize) {
        let is_object = self.byte(self.at) == b'{';
        let end = if is_object { b'}' } else { b']' };
        if !self.open(if is_object { b"{" } else { b"[" }) {
            return;
        }
        self.at += 1;
        let mut count = 0;
        loop {
            self.skip_flow_space(indent);
            if self.byte(self.at) == end {
                break;
            }
            self.to.element(count);
            count += 1;
            if count > MAX_MEMBERS {
                self.fail("more than 256 members");
            }
            if is_object {
                self.flow_key(indent);
            } else {
                self.flow_value(indent);
            }
            self.skip_flow_space(indent);
            match self.byte(self.at) {
                b',' => self.at += 1,
                byte if byte == end => {}
                _ => {
                    self.fail("a list in brackets needs a comma or its end");
                    break;
                }
            }
        }
        self.at += 1;
        self.close(if is_object { b"}" } else { b"]" });
    }

    /// Goes to the next text in brackets. It is indented by more than `indent`; many do not indent
    /// the end of the brackets.
    const fn skip_flow_space(&mut self, indent: usize) {
        let mut is_inside = true;
        loop {
            self.skip_spaces();
            if self.is_comment(self.at) || matches!(self.byte(self.at), b'\n' | b'\r') {
                self.next_line();
                is_inside = self.indent() > indent;
            } else if is_inside || matches!(self.byte(self.at), b']' | b'}') {
                return;
            } else {
                return self.fail("text in brackets goes on, but is not indented");
            }
        }
    }

    const fn flow_key(&mut self, indent: usize) {
        match self.byte(self.at) {
            b'"' | b'\'' => self.quoted(indent),
            _ => {
                let key = self.flow_text();
                self.plain_key(key);
            }
        }
        self.to.put(b":");
        self.skip_flow_space(indent);
        if self.byte(self.at) != b':' {
            return self.to.put(b"null");
        }
        self.at += 1;
        self.skip_flow_space(indent);
        match self.byte(self.at) {
            b',' | b'}' => self.to.put(b"null"),
            _ => self.flow_value(indent),
        }
    }

    const fn flow_value(&mut self, indent: usize) {
        match self.byte(self.at) {
            b'"' | b'\'' => self.quoted(indent),
            b'[' | b'{' => self.flow(indent),
            _ => {
                let text = self.flow_text();
                self.scalar(text);
            }
        }
    }

    /// Reads text without quotes in brackets, on one line.
    const fn flow_text(&mut self) -> &'y [u8] {
        let first = self.byte(self.at);
        let is_alone = matches!(first, b'-' | b'?' | b':') && is_bracket(self.byte(self.at + 1));
        if is_alone || !self.begins_plain(first) {
            self.fail("a value in brackets may not begin like this");
        }
        self.plain_text(true)
    }

    /// Reads text without quotes up to the end of the line or the colon of a key, or in brackets to
    /// what ends it there.
    const fn plain_text(&mut self, in_brackets: bool) -> &'y [u8] {
        let start = self.at;
        let mut end = start;
        while !self.ends(self.at) && !self.is_comment(self.at) {
            let next = self.at + 1;
            match self.byte(self.at) {
                byte if in_brackets && is_bracket(byte) => break,
                b':' if self.separates(next) => break,
                b':' if in_brackets && is_bracket(self.byte(next)) => break,
                b' ' | b'\t' => {}
                _ => end = next,
            }
            self.at = next;
        }
        slice(self.text, start, end)
    }
}

/// Maximum length of frontmatter, in bytes.
pub(super) const MAX_FRONTMATTER: usize = 16 << 10;
const MAX_DEPTH: u8 = 8;
/// Maximum number of members of an object: comparing two takes quadratic time.
const MAX_MEMBERS: usize = 256;

// Scalars: text with and without quotes, blocks of text, numbers.

impl<'y> Yaml<'y, '_> {
    /// Reads text without quotes, which goes on as long as lines are indented further.
    const fn plain(&mut self, indent: usize) {
        let text = self.plain_line();
        let mut breaks = self.continuation(indent);
        if breaks == 0 {
            return self.scalar(text);
        }
        self.to.put(b"\"");
        self.to.escaped(text);
        while breaks > 0 {
            self.fold(breaks);
            self.skip_spaces();
            let text = self.plain_line();
            self.to.escaped(text);
            breaks = self.continuation(indent);
        }
        self.to.put(b"\"");
    }

    /// Reads the text on this line.
    const fn plain_line(&mut self) -> &'y [u8] {
        let text = self.plain_text(false);
        if self.byte(self.at) == b':' {
            self.fail("a colon in text without quotes");
        }
        text
    }

    /// Leaves the line. If text without quotes goes on below, goes there and returns the number of
    /// line breaks; otherwise it returns 0.
    const fn continuation(&mut self, indent: usize) -> usize {
        let is_cut = self.is_comment(self.at);
        self.next_line();
        let line = self.at;
        let mut breaks = 1;
        loop {
            let inner = self.indent();
            let content = self.at + inner;
            if self.byte(content) == 0 || is_cut {
                break;
            }
            if self.byte(content) == b'\t' {
                self.fail("a tab at the beginning of a line");
                return 0;
            }
            if self.ends(content) {
                self.next_line();
                breaks += 1;
                continue;
            }
            if inner <= indent || self.byte(content) == b'#' {
                break;
            }
            self.at = content;
            return breaks;
        }
        self.at = line;
        0
    }

    /// Writes line breaks: one is a space, more are one less.
    const fn fold(&mut self, breaks: usize) {
        if breaks == 1 {
            self.to.put(b" ");
        } else {
            self.line_breaks(breaks - 1);
        }
    }

    const fn line_breaks(&mut self, count: usize) {
        let mut at = 0;
        while at < count {
            self.to.put(b"\\n");
            at += 1;
        }
    }

    /// Goes over the line breaks in quoted text, and returns how many there are.
    const fn quoted_breaks(&mut self, indent: usize) -> usize {
        let mut breaks = 0;
        loop {
            self.skip_spaces();
            if !matches!(self.byte(self.at), b'\n' | b'\r') {
                return breaks;
            }
            self.next_line();
            breaks += 1;
            let content = self.indent();
            if content <= indent && !self.ends(self.at + content) {
                self.fail("quoted text goes on, but is not indented");
            }
        }
    }

    /// Reads text in quotes. Further lines are indented by more than `indent`.
    const fn quoted(&mut self, indent: usize) {
        let quote = self.byte(self.at);
        self.at += 1;
        self.to.put(b"\"");
        loop {
            match (self.byte(self.at), self.byte(self.at + 1)) {
                (0, _) => return self.fail("the quote is not closed"),
                (b'\'', b'\'') if quote == b'\'' => {
                    self.to.put(b"'");
                    self.at += 2;
                }
                (byte, _) if byte == quote => break,
                (b'\\', b'\n' | b'\r') if quote == b'"' => {
                    self.at += 1;
                    let breaks = self.quoted_breaks(indent);
                    self.line_breaks(breaks.saturating_sub(1));
                }
                (b'\\', code) if quote == b'"' => self.escape(code),
                _ => self.quoted_part(indent),
            }
        }
        self.at += 1;
        self.to.put(b"\"");
    }

    /// Reads what has no meaning of its own in quotes: spaces and the line breaks behind them, or
    /// a byte.
    const fn quoted_part(&mut self, indent: usize) {
        let start = self.at;
        self.skip_spaces();
        if matches!(self.byte(self.at), b'\n' | b'\r') {
            let breaks = self.quoted_breaks(indent);
            self.fold(breaks);
        } else {
            if self.at == start {
                self.at += 1;
            }
            self.to.escaped(slice(self.text, start, self.at));
        }
    }

    /// Reads an escape in double quotes, whose second byte is `code`.
    const fn escape(&mut self, code: u8) {
        self.at += 2;
        let (mut code, digits) = match code {
            b'0' => (0, 0),
            b'a' => (7, 0),
            b'b' => (8, 0),
            b't' | b'\t' => (9, 0),
            b'n' => (10, 0),
            b'v' => (11, 0),
            b'f' => (12, 0),
            b'r' => (13, 0),
            b'e' => (27, 0),
            b' ' | b'"' | b'/' | b'\\' => (code as u32, 0),
            b'N' => (0x85, 0),
            b'_' => (0xa0, 0),
            b'L' => (0x2028, 0),
            b'P' => (0x2029, 0),
            b'x' => (0, 2),
            b'u' => (0, 4),
            b'U' => (0, 8),
            _ => return self.fail("an unknown escape"),
        };
        let end = self.at + digits;
        while self.at < end {
            let Some(digit) = (self.byte(self.at) as char).to_digit(16) else {
                return self.fail("an unknown escape");
            };
            // Eight digits fit.
            code = code << 4 | digit;
            self.at += 1;
        }
        match char::from_u32(code) {
            Some(character) => self.to.escaped(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => self.fail("an unknown escape"),
        }
    }

    /// Reads the lines below, as they are or folded.
    const fn block_scalar(&mut self, indent: usize, is_folded: bool) {
        self.at += 1;
        let chomping = self.byte(self.at);
        if matches!(chomping, b'-' | b'+') {
            self.at += 1;
        }
        if self.byte(self.at).is_ascii_digit() {
            return self.fail("an indentation indicator is not supported");
        }
        self.end_line();
        let inner = self.block_indent(indent);
        let (mut breaks, mut was_more, mut has_text) = (0, false, false);
        self.to.put(b"\"");
        while !self.is_at_end() {
            let spaces = self.indent();
            if self.ends(self.at + spaces) && spaces <= inner {
                breaks += 1;
                self.next_line();
                continue;
            }
            if spaces < inner {
                break;
            }
            self.at += inner;
            let is_more = matches!(self.byte(self.at), b' ' | b'\t');
            if !has_text {
                self.line_breaks(breaks);
            } else if is_folded && !is_more && !was_more {
                self.fold(breaks + 1);
            } else {
                self.line_breaks(breaks + 1);
            }
            let start = self.at;
            while !self.ends(self.at) {
                self.at += 1;
            }
            self.to.escaped(slice(self.text, start, self.at));
            self.next_line();
            (breaks, was_more, has_text) = (0, is_more, true);
        }
        match chomping {
            b'-' => {}
            b'+' => self.line_breaks(breaks + has_text as usize),
            _ => self.line_breaks(has_text as usize),
        }
        self.to.put(b"\"");
    }

    /// Whether a value without quotes may begin with this byte, which is the one here.
    const fn begins_plain(&self, first: u8) -> bool {
        match first {
            b'-' | b'?' | b':' => !self.separates(self.at + 1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\''
            | b'"' | b'%' | b'@' | b'`' => false,
            _ => true,
        }
    }

    /// Returns the indentation of a block of text: that of its first line with text, if it is more
    /// than `outer`.
    const fn block_indent(&mut self, outer: usize) -> usize {
        let start = self.at;
        let mut most = 0;
        while !self.is_at_end() && self.ends(self.at + self.indent()) {
            if self.indent() > most {
                most = self.indent();
            }
            self.next_line();
        }
        let indent = self.indent();
        let is_inside = !self.is_at_end() && indent > outer;
        if is_inside && most > indent {
            self.fail("an empty line has more spaces than the text below it");
            return usize::MAX;
        }
        self.at = start;
        if is_inside { indent } else { usize::MAX }
    }

    /// Writes a key without quotes, which must be text in the core schema, too.
    const fn plain_key(&mut self, key: &[u8]) {
        if matches!(key, b"<<") || !matches!(Plain::of(key), Plain::Text) {
            return self.fail("a key that is no text: write it in quotes");
        }
        self.string(key);
    }

    /// Writes text without quotes as the value that it is in the core schema of YAML 1.2.
    const fn scalar(&mut self, text: &[u8]) {
        match Plain::of(text) {
            Plain::Json(json) => self.to.put(json),
            Plain::OtherNumber => self.fail("write this number as JSON does, or in quotes"),
            Plain::Text => self.string(text),
        }
    }

    const fn string(&mut self, text: &[u8]) {
        self.to.put(b"\"");
        self.to.escaped(text);
        self.to.put(b"\"");
    }
}

/// Text without quotes in the core schema.
enum Plain<'t> {
    /// A value as JSON writes it.
    Json(&'t [u8]),
    /// A number in another notation.
    OtherNumber,
    Text,
}

/// Whether the byte ends text without quotes in brackets.
const fn is_bracket(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b']' | b'{' | b'}')
}

impl<'t> Plain<'t> {
    const fn of(text: &'t [u8]) -> Self {
        match text {
            b"" | b"~" | b"null" | b"Null" | b"NULL" => Self::Json(b"null"),
            b"true" | b"True" | b"TRUE" => Self::Json(b"true"),
            b"false" | b"False" | b"FALSE" => Self::Json(b"false"),
            _ => number(text),
        }
    }
}

const fn number(text: &[u8]) -> Plain<'_> {
    let (sign, rest) = match text {
        [sign @ (b'-' | b'+'), rest @ ..] => (*sign, rest),
        _ => (b' ', text),
    };
    if matches!(rest, b".inf" | b".Inf" | b".INF" | b".nan" | b".NaN" | b".NAN") {
        return Plain::OtherNumber;
    }
    if let [b'0', b'x' | b'o', digits @ ..] = rest {
        let mut at = 0;
        while at < digits.len() && digits[at].is_ascii_hexdigit() {
            at += 1;
        }
        return if at > 0 && at == digits.len() { Plain::OtherNumber } else { Plain::Text };
    }
    let whole = digits(rest, 0);
    let mut at = whole;
    let mut is_json = sign != b'+' && whole > 0 && !(whole > 1 && rest[0] == b'0');
    let mut fraction = 0;
    if at < rest.len() && rest[at] == b'.' {
        fraction = digits(rest, at + 1);
        at += 1 + fraction;
        is_json = is_json && fraction > 0;
    }
    if whole + fraction == 0 {
        return Plain::Text;
    }
    if at < rest.len() && matches!(rest[at], b'e' | b'E') {
        let sign = at + 1 < rest.len() && matches!(rest[at + 1], b'-' | b'+');
        let start = at + 1 + sign as usize;
        let exponent = digits(rest, start);
        if exponent == 0 {
            return Plain::Text;
        }
        at = start + exponent;
    }
    match (at == rest.len(), is_json) {
        (true, true) => Plain::Json(text),
        (true, false) => Plain::OtherNumber,
        (false, _) => Plain::Text,
    }
}

/// Returns the number of digits at this place.
const fn digits(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < text.len() && text[at].is_ascii_digit() {
        at += 1;
    }
    at - start
}
