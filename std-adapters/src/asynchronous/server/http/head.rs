//! Head of a request, kept while its body is read.

use std::ops::Range;

use mcp_sansio::http::Fields;
use mcp_sansio::http::codec::IncomingRequest;

pub(super) struct Head {
    /// Method, target and fields, concatenated.
    bytes: Vec<u8>,
    method: Range<usize>,
    target: Range<usize>,
    fields: Vec<Field>,
    pub(super) is_http_1_0: bool,
    pub(super) expects_continue: bool,
    /// Length of the body, if known.
    pub(super) content_length: Option<usize>,
}

/// Position of a field.
struct Field {
    name: Range<usize>,
    value: Range<usize>,
}

impl Head {
    pub(super) fn of(request: &IncomingRequest<'_>) -> Self {
        let mut bytes = Vec::with_capacity(512);
        let mut keep = |part: &[u8]| {
            let start = bytes.len();
            bytes.extend_from_slice(part);
            start..bytes.len()
        };
        let (method, target) = (keep(request.method.as_bytes()), keep(request.target.as_bytes()));
        let mut fields = Vec::with_capacity(16);
        fields.extend(
            request
                .fields
                .iter()
                .map(|(name, value)| Field { name: keep(name.as_bytes()), value: keep(value) }),
        );
        Self {
            bytes,
            method,
            target,
            fields,
            is_http_1_0: request.is_http_1_0,
            expects_continue: request.expects_continue,
            content_length: request
                .content_length
                .map(|length| usize::try_from(length).unwrap_or(usize::MAX)),
        }
    }

    pub(super) fn method(&self) -> &str {
        self.text(&self.method)
    }

    pub(super) fn target(&self) -> &str {
        self.text(&self.target)
    }

    fn text(&self, range: &Range<usize>) -> &str {
        std::str::from_utf8(self.part(range)).unwrap_or_default()
    }

    fn part(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }
}

impl Fields for Head {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        let is_it = |field: &&Field| {
            field.name.len() == name.len()
                && self.part(&field.name).eq_ignore_ascii_case(name.as_bytes())
        };
        self.fields.iter().filter(is_it).nth(n).map(|field| self.part(&field.value))
    }
}
