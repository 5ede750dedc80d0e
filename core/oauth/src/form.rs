//! `application/x-www-form-urlencoded`: bodies of token requests, and queries of URLs.

use core::fmt;

use super::arena::{Base64, Writer};
use mcp_sansio::internal::{split, split_once};

/// Writes pairs of names and values, percent-encoded, with `&` between them.
///
/// ```
/// # use mcp_sansio_oauth::{Writer, form::Form};
/// let mut memory = [0; 64];
/// let mut out = Writer::new(&mut memory);
/// Form::new(&mut out).pair("scope", "files:read files:write").pair("state", "1&2");
/// assert_eq!(out.finish(), Ok("scope=files%3Aread+files%3Awrite&state=1%262"));
/// ```
#[derive(Debug)]
pub struct Form<'w, 'b> {
    out: &'w mut Writer<'b>,
    is_empty: bool,
}

impl<'w, 'b> Form<'w, 'b> {
    /// Begins a body.
    pub const fn new(out: &'w mut Writer<'b>) -> Self {
        Self { out, is_empty: true }
    }

    /// Begins behind a URL, which may have a query already.
    pub fn query_of(out: &'w mut Writer<'b>, url: &str) -> Self {
        out.put(url);
        match split_once(url, '?') {
            None => out.put("?"),
            Some((_, query)) if query.is_empty() || query.ends_with('&') => {}
            Some(_) => return Self { out, is_empty: false },
        }
        Self { out, is_empty: true }
    }

    /// Adds a pair.
    pub fn pair(&mut self, name: &str, value: &str) -> &mut Self {
        if !core::mem::take(&mut self.is_empty) {
            self.out.put("&");
        }
        encode(name, self.out);
        self.out.put("=");
        encode(value, self.out);
        self
    }

    /// Adds a pair if there is a value.
    pub fn pair_if(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.pair(name, value),
            None => self,
        }
    }
}

/// Writes a text percent-encoded; a space becomes `+`. Only letters, digits and `-._~` are kept, so
/// the result is also good inside of a URL's query.
pub fn encode(text: &str, out: &mut dyn fmt::Write) {
    const HEX: &str = "0123456789ABCDEF";
    let digit = |bits: u8| HEX.get(usize::from(bits)..usize::from(bits) + 1).unwrap_or_default();
    // The sink handles a text that does not fit.
    let mut put = |text: &str| {
        let _: fmt::Result = out.write_str(text);
    };
    let mut rest = text;
    loop {
        let kept = rest.bytes().take_while(|byte| is_unreserved(*byte)).count();
        let (plain, behind) = rest.split_at_checked(kept).unwrap_or_default();
        put(plain);
        let Some(c) = behind.chars().next() else { return };
        let (encoded, behind) = behind.split_at_checked(c.len_utf8()).unwrap_or_default();
        for byte in encoded.bytes() {
            match byte {
                b' ' => put("+"),
                _ => {
                    put("%");
                    put(digit(byte >> 4));
                    put(digit(byte & 15));
                }
            }
        }
        rest = behind;
    }
}

/// Writes the value of `Authorization` by which a client authenticates with its secret: both are
/// encoded as in a form before they are joined (RFC 6749, 2.3.1).
///
/// ```
/// # use mcp_sansio_oauth::{Writer, form};
/// let mut memory = [0; 64];
/// let mut out = Writer::new(&mut memory);
/// form::put_basic("s6BhdRkqt3", "7Fjfp0ZBr1KtDRbnfVdmIw", &mut out);
/// assert_eq!(out.finish(), Ok("Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3"));
/// ```
pub fn put_basic(client_id: &str, secret: &str, out: &mut Writer<'_>) {
    out.put("Basic ");
    let mut base64 = Base64::standard(out);
    encode(client_id, &mut base64);
    base64.put(b":");
    encode(secret, &mut base64);
    base64.finish();
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Returns the pairs of a query or body, in order. Empty parts between `&` are left out.
pub fn pairs(query: &str) -> impl Iterator<Item = (Encoded<'_>, Encoded<'_>)> + Clone {
    split(query, '&').filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = split_once(part, '=').unwrap_or((part, ""));
        (Encoded(name), Encoded(value))
    })
}

/// Text as it stands in a form: percent-encoded, with `+` for a space. `%` without two hexadecimal
/// digits stands for itself.
///
/// It is compared with other text by its decoded bytes. Its `Debug` output is its length alone, as
/// it may be a secret.
#[derive(Clone, Copy)]
pub struct Encoded<'q>(&'q str);

impl<'q> Encoded<'q> {
    /// Wraps a text that is encoded.
    pub const fn new(text: &'q str) -> Self {
        Self(text)
    }

    /// Returns the decoded bytes.
    pub fn bytes(self) -> impl Iterator<Item = u8> + Clone + 'q {
        let mut rest = self.0.as_bytes();
        core::iter::from_fn(move || {
            let (byte, behind) = match *rest {
                [b'%', high, low, ref behind @ ..]
                    if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
                {
                    (hex_value(high) << 4 | hex_value(low), behind)
                }
                [b'+', ref behind @ ..] => (b' ', behind),
                [byte, ref behind @ ..] => (byte, behind),
                [] => return None,
            };
            rest = behind;
            Some(byte)
        })
    }

    /// Whether there is nothing.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Copies the decoded text into `out` and returns it; `None` if it does not fit, or is not
    /// UTF-8.
    pub fn copy_to(self, out: &mut [u8]) -> Option<&str> {
        let mut len = 0;
        for byte in self.bytes() {
            *out.get_mut(len)? = byte;
            len += 1;
        }
        core::str::from_utf8(out.get(..len)?).ok()
    }

    /// Compares in a time that depends on the lengths alone, so that a secret cannot be guessed
    /// byte by byte.
    pub fn equals_secret(self, secret: &str) -> bool {
        let (mut differs, mut len) = (0, 0);
        let mut expected = secret.bytes();
        for byte in self.bytes() {
            differs |= byte ^ expected.next().unwrap_or(!byte);
            len += 1;
        }
        core::hint::black_box(differs) == 0 && len == secret.len()
    }
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a').wrapping_add(10),
    }
}

impl PartialEq<str> for Encoded<'_> {
    fn eq(&self, other: &str) -> bool {
        self.bytes().eq(other.bytes())
    }
}

/// Formats the decoded text; what is not UTF-8 becomes U+FFFD.
impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        // A character has at most four bytes.
        let (mut bytes, mut held, mut len) = (self.bytes(), [0; 4], 0);
        loop {
            while let Some(place) = held.get_mut(len)
                && let Some(byte) = bytes.next()
            {
                *place = byte;
                len += 1;
            }
            let held_now = held.get(..len).unwrap_or_default();
            let Some(chunk) = held_now.utf8_chunks().next() else { return Ok(()) };
            let used = match chunk.valid().chars().next() {
                Some(c) => {
                    f.write_char(c)?;
                    c.len_utf8()
                }
                None => {
                    f.write_char(char::REPLACEMENT_CHARACTER)?;
                    chunk.invalid().len()
                }
            };
            held.copy_within(used.min(4).., 0);
            len = len.saturating_sub(used);
        }
    }
}

impl fmt::Debug for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoded({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn auth_71_auth_114_parameters_are_encoded_behind_the_query_of_a_url() {
        for (url, expected) in [
            ("https://a/b", "https://a/b?s=a+b%0D%0A%26%3D%23%25%C3%A9-._~"),
            ("https://a/b?", "https://a/b?s=a+b%0D%0A%26%3D%23%25%C3%A9-._~"),
            ("https://a/b?c=d", "https://a/b?c=d&s=a+b%0D%0A%26%3D%23%25%C3%A9-._~"),
            ("https://a/b?c=d&", "https://a/b?c=d&s=a+b%0D%0A%26%3D%23%25%C3%A9-._~"),
        ] {
            let mut memory = [0; 128];
            let mut out = Writer::new(&mut memory);
            Form::query_of(&mut out, url).pair("s", "a b\r\n&=#%\u{e9}-._~").pair_if("n", None);
            assert_eq!(out.finish(), Ok(expected));
        }
    }

    #[test]
    fn auth_78_auth_93_secrets_are_compared_whole_and_not_shown() {
        for (text, secret, is_equal) in [
            ("abc", "abc", true),
            ("%61bc", "abc", true),
            ("abd", "abc", false),
            ("ab", "abc", false),
            ("abcd", "abc", false),
            ("", "abc", false),
            ("abc", "", false),
            ("", "", true),
        ] {
            let text = Encoded::new(text);
            assert_eq!(text.equals_secret(secret), is_equal, "{text} {secret}");
            assert_eq!(text == *secret, is_equal);
        }
        assert_eq!(std::format!("{:?}", Encoded::new("secret")), "Encoded(6 bytes)");
    }
}
