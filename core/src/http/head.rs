//! Heads of requests and responses, independent of the HTTP library that parsed them.

/// Header fields, read from the HTTP library's own type without copying.
///
/// An implementation takes a few lines:
///
/// ```
/// use mcp_sansio::http::Fields;
///
/// struct Headers(Vec<(String, Vec<u8>)>);
///
/// impl Fields for Headers {
///     fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
///         self.0
///             .iter()
///             .filter(|(other, _)| other.eq_ignore_ascii_case(name))
///             .nth(n)
///             .map(|(_, value)| &value[..])
///     }
/// }
/// let fields = Headers(vec![("Accept".into(), b" */* ".into())]);
/// assert_eq!((&fields as &dyn Fields).get("accept"), Some("*/*"));
/// ```
pub trait Fields: Sync {
    /// Returns the value of the `n`th field with this name, counted from 0 in order of appearance.
    /// Names are case-insensitive.
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]>;

    /// Returns the values of the first two fields with this name, for fields that may appear only
    /// once: as [`nth`](Self::nth), for implementations that find both in one pass.
    fn first_two(&self, name: &str) -> [Option<&[u8]>; 2] {
        [self.nth(name, 0), self.nth(name, 1)]
    }
}

impl dyn Fields + '_ {
    /// Returns the value of the first field with this name, without surrounding white space; `None`
    /// also if it is not UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.nth(name, 0).and_then(text)
    }

    /// Returns the value of a field that may appear only once.
    pub fn single(&self, name: &str) -> SingleValue<'_> {
        match self.first_two(name) {
            [None, _] => SingleValue::Absent,
            [_, Some(_)] => SingleValue::Repeated,
            [Some(value), None] => text(value).map_or(SingleValue::NotUtf8, SingleValue::Value),
        }
    }

    /// Returns the values of all fields with this name.
    pub fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h [u8]> {
        (0..).map_while(move |n| self.nth(name, n))
    }
}

/// The value of a field that may appear only once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SingleValue<'h> {
    /// No such field.
    Absent,
    /// The value, without surrounding white space.
    Value(&'h str),
    /// The value is not UTF-8.
    NotUtf8,
    /// There are several such fields.
    Repeated,
}

impl Fields for [(&str, &str)] {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .nth(n)
            .map(|(_, value)| value.as_bytes())
    }
}

impl<const N: usize> Fields for [(&str, &str); N] {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.as_slice().nth(name, n)
    }
}

impl<F: Fields + ?Sized> Fields for &F {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        (**self).nth(name, n)
    }
}

/// The head of a request.
#[derive(Clone, Copy)]
pub struct RequestHead<'h> {
    /// `POST`, `GET`, ...; case-sensitive.
    pub method: &'h str,
    /// The request target: a path with an optional query (origin-form), or a URL (absolute-form;
    /// RFC 9112, 3.2).
    pub target: &'h str,
    /// The header fields.
    pub fields: &'h dyn Fields,
}

impl<'h> RequestHead<'h> {
    /// Creates a head of these parts.
    pub const fn new(method: &'h str, target: &'h str, fields: &'h dyn Fields) -> Self {
        Self { method, target, fields }
    }

    /// Returns the path of the target, in origin-form or absolute-form.
    pub fn path(&self) -> &'h str {
        let (authority, rest) = self.parts();
        match rest.split_once('?').map_or(rest, |(path, _)| path) {
            "" if authority.is_some() => "/",
            path => path,
        }
    }

    /// Returns the query of the target, without the question mark.
    pub fn query(&self) -> Option<&'h str> {
        self.parts().1.split_once('?').map(|(_, query)| query)
    }

    /// Returns the authority of an absolute-form target, which takes precedence over `Host` (RFC
    /// 9112, 3.2.2).
    pub fn authority(&self) -> Option<&'h str> {
        self.parts().0
    }

    /// Splits the target into its authority, if present, and the rest. Compares bytes, since a
    /// search for a string links functions that panic.
    fn parts(&self) -> (Option<&'h str>, &'h str) {
        let without = |scheme: &str| {
            let (start, rest) = self.target.split_at_checked(scheme.len())?;
            start.eq_ignore_ascii_case(scheme).then_some(rest)
        };
        let Some(rest) = without("http://").or_else(|| without("https://")) else {
            return (None, self.target);
        };
        let len =
            rest.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at_checked(len).unwrap_or((rest, ""));
        (Some(authority), rest)
    }
}

crate::text::opaque_debug!(RequestHead<'_> { method, target });

/// The head of a response.
#[derive(Clone, Copy)]
pub struct ResponseHead<'h> {
    /// 100 to 999.
    pub status: u16,
    /// The header fields.
    pub fields: &'h dyn Fields,
}

impl<'h> ResponseHead<'h> {
    /// Creates a head of these parts.
    pub const fn new(status: u16, fields: &'h dyn Fields) -> Self {
        Self { status, fields }
    }
}

crate::text::opaque_debug!(ResponseHead<'_> { status });

/// Returns a value as text, without surrounding white space (RFC 9110, 5.5).
fn text(value: &[u8]) -> Option<&str> {
    let mut value = value;
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    core::str::from_utf8(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_case_insensitive_and_repetition_is_reported() {
        let fields: &dyn Fields = &[("Host", "a"), ("ACCEPT", " x\t"), ("accept", "y")];
        assert_eq!(fields.get("accept"), Some("x"));
        assert_eq!(fields.single("accept"), SingleValue::Repeated);
        assert_eq!(fields.single("host"), SingleValue::Value("a"));
        assert_eq!(fields.single("origin"), SingleValue::Absent);
        assert!(fields.all("Accept").eq([&b" x\t"[..], b"y"]));
    }

    #[test]
    fn a_target_is_split_into_path_and_query() {
        let head = RequestHead::new("GET", "/mcp?session=1?2", &[]);
        assert_eq!((head.path(), head.query()), ("/mcp", Some("session=1?2")));
        assert_eq!(RequestHead::new("GET", "/mcp", &[]).query(), None);
    }

    #[test]
    fn s7_a_target_that_is_a_url_is_an_authority_a_path_and_a_query() {
        for (target, authority, path, query) in [
            ("http://localhost:80/mcp?a=b", Some("localhost:80"), "/mcp", Some("a=b")),
            ("HTTPS://[::1]/mcp", Some("[::1]"), "/mcp", None),
            ("http://localhost", Some("localhost"), "/", None),
            ("http://localhost?a=/b", Some("localhost"), "/", Some("a=/b")),
            ("http:///mcp", Some(""), "/mcp", None),
            ("ftp://localhost/mcp", None, "ftp://localhost/mcp", None),
            ("/mcp?to=http://localhost/", None, "/mcp", Some("to=http://localhost/")),
            ("//localhost/mcp", None, "//localhost/mcp", None),
            ("*", None, "*", None),
        ] {
            let head = RequestHead::new("GET", target, &[]);
            assert_eq!(
                (head.authority(), head.path(), head.query()),
                (authority, path, query),
                "{target}"
            );
        }
    }
}
