//! Scalars: text with and without quotes, blocks of text, numbers.

use super::{Yaml, slice};

impl Yaml<'_, '_> {
    /// Reads text without quotes, which goes on as long as lines are indented further.
    pub(super) const fn plain(&mut self, indent: usize) {
        let (start, end) = self.plain_line();
        let mut breaks = self.continuation(indent);
        if breaks == 0 {
            if self.fault.is_none() {
                self.scalar(slice(self.text, start, end));
            }
            return;
        }
        self.to.put(b"\"");
        self.to.escaped(slice(self.text, start, end));
        while breaks > 0 {
            self.fold(breaks);
            self.skip_spaces();
            let (start, end) = self.plain_line();
            self.to.escaped(slice(self.text, start, end));
            breaks = self.continuation(indent);
        }
        self.to.put(b"\"");
    }

    /// Returns where the text on this line begins and ends, and goes to its end.
    const fn plain_line(&mut self) -> (usize, usize) {
        let start = self.at;
        let mut end = start;
        while !self.ends(self.at) && !self.is_comment(self.at) {
            match self.byte(self.at) {
                b':' if self.separates(self.at + 1) => {
                    self.fail("a colon in text without quotes");
                    return (start, start);
                }
                b' ' | b'\t' => {}
                _ => end = self.at + 1,
            }
            self.at += 1;
        }
        (start, end)
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

    /// Reads what has no meaning of its own in quotes: spaces and the line breaks behind them, or
    /// a byte.
    const fn quoted(&mut self, indent: usize) {
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

    /// Reads text in single quotes. Further lines are indented by more than `indent`.
    pub(super) const fn single_quoted(&mut self, indent: usize) {
        self.at += 1;
        self.to.put(b"\"");
        loop {
            let start = self.at;
            match self.byte(start) {
                b'\'' if self.byte(start + 1) == b'\'' => {
                    self.to.put(b"'");
                    self.at += 2;
                }
                b'\'' => break,
                0 => return self.fail("the quote is not closed"),
                _ => self.quoted(indent),
            }
        }
        self.at += 1;
        self.to.put(b"\"");
    }

    /// Reads text in double quotes. Further lines are indented by more than `indent`.
    pub(super) const fn double_quoted(&mut self, indent: usize) {
        self.at += 1;
        self.to.put(b"\"");
        loop {
            let start = self.at;
            match self.byte(start) {
                b'"' => break,
                0 => return self.fail("the quote is not closed"),
                b'\\' if matches!(self.byte(start + 1), b'\n' | b'\r') => {
                    self.at += 1;
                    let breaks = self.quoted_breaks(indent);
                    self.line_breaks(breaks.saturating_sub(1));
                }
                b'\\' => self.escape(),
                _ => self.quoted(indent),
            }
        }
        self.at += 1;
        self.to.put(b"\"");
    }

    const fn escape(&mut self) {
        let code = self.byte(self.at + 1);
        self.at += 2;
        let (code, digits) = match code {
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
        let mut code = code;
        let mut at = 0;
        while at < digits {
            let digit = match self.byte(self.at) {
                digit @ b'0'..=b'9' => digit - b'0',
                digit @ b'a'..=b'f' => digit - b'a' + 10,
                digit @ b'A'..=b'F' => digit - b'A' + 10,
                _ => return self.fail("an unknown escape"),
            };
            // Eight digits fit.
            code = code << 4 | digit as u32;
            self.at += 1;
            at += 1;
        }
        if char::from_u32(code).is_none() {
            return self.fail("an unknown escape");
        }
        if code < 0x1_0000 {
            self.unit(code);
        } else {
            let code = code - 0x1_0000;
            self.unit(0xd800 | code >> 10);
            self.unit(0xdc00 | code & 0x3ff);
        }
    }

    /// Writes a UTF-16 unit.
    const fn unit(&mut self, unit: u32) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        self.to.put(b"\\u");
        let mut shift = 16;
        while shift > 0 {
            shift -= 4;
            self.to.put(&[HEX[(unit >> shift & 15) as usize]]);
        }
    }

    /// Reads the lines below, as they are or folded.
    pub(super) const fn block_scalar(&mut self, indent: usize, is_folded: bool) {
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
    pub(super) const fn begins_plain(&self, first: u8) -> bool {
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
    pub(super) const fn plain_key(&mut self, key: &[u8]) {
        let is_text = !matches!(
            key,
            b"" | b"~"
                | b"null"
                | b"Null"
                | b"NULL"
                | b"<<"
                | b"true"
                | b"True"
                | b"TRUE"
                | b"false"
                | b"False"
                | b"FALSE"
        );
        if !is_text || !matches!(number(key), Number::No) {
            return self.fail("a key that is no text: write it in quotes");
        }
        self.to.put(b"\"");
        self.to.escaped(key);
        self.to.put(b"\"");
    }

    /// Writes text without quotes as the value that it is in the core schema of YAML 1.2.
    pub(super) const fn scalar(&mut self, text: &[u8]) {
        match text {
            b"" | b"~" | b"null" | b"Null" | b"NULL" => self.to.put(b"null"),
            b"true" | b"True" | b"TRUE" => self.to.put(b"true"),
            b"false" | b"False" | b"FALSE" => self.to.put(b"false"),
            _ => match number(text) {
                Number::Json => self.to.put(text),
                Number::Other => self.fail("write this number as JSON does, or in quotes"),
                Number::No => {
                    self.to.put(b"\"");
                    self.to.escaped(text);
                    self.to.put(b"\"");
                }
            },
        }
    }
}

/// Whether text is a number in the core schema.
enum Number {
    /// As JSON writes it.
    Json,
    /// In another way.
    Other,
    No,
}

/// Whether the byte ends text without quotes in brackets.
pub(super) const fn is_bracket(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b']' | b'{' | b'}')
}

const fn number(text: &[u8]) -> Number {
    let (sign, rest) = match text {
        [sign @ (b'-' | b'+'), rest @ ..] => (*sign, rest),
        _ => (b' ', text),
    };
    if matches!(rest, b".inf" | b".Inf" | b".INF" | b".nan" | b".NaN" | b".NAN") {
        return Number::Other;
    }
    if let [b'0', b'x' | b'o', digits @ ..] = rest {
        let mut at = 0;
        while at < digits.len() && digits[at].is_ascii_hexdigit() {
            at += 1;
        }
        return if at > 0 && at == digits.len() { Number::Other } else { Number::No };
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
        return Number::No;
    }
    if at < rest.len() && matches!(rest[at], b'e' | b'E') {
        let sign = at + 1 < rest.len() && matches!(rest[at + 1], b'-' | b'+');
        let start = at + 1 + sign as usize;
        let exponent = digits(rest, start);
        if exponent == 0 {
            return Number::No;
        }
        at = start + exponent;
    }
    match (at == rest.len(), is_json) {
        (true, true) => Number::Json,
        (true, false) => Number::Other,
        (false, _) => Number::No,
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
