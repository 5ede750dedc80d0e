//! The head of a request, kept while its body is read.

use mcp_sansio::http::codec::IncomingRequest;
use mcp_sansio::http::{Fields, RequestHead};

pub(super) struct Head {
    method: String,
    target: String,
    fields: Vec<(String, Vec<u8>)>,
    pub(super) is_http_1_0: bool,
    pub(super) expects_continue: bool,
}

impl Head {
    pub(super) fn of(request: &IncomingRequest<'_>) -> Self {
        Self {
            method: request.method.to_owned(),
            target: request.target.to_owned(),
            fields: request.fields.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            is_http_1_0: request.is_http_1_0,
            expects_continue: request.expects_continue,
        }
    }

    pub(super) fn as_head(&self) -> RequestHead<'_> {
        RequestHead::new(&self.method, &self.target, self)
    }
}

impl Fields for Head {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        let mut values = self.fields.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        values.nth(n).map(|(_, value)| value.as_slice())
    }
}
