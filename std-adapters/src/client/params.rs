//! Parameters of requests.

use mcp_sansio::{Encode, Encoder};

/// Parameters of `tools/call` and `prompts/get`. The arguments are any value that serializes as an
/// object.
pub(crate) struct Named<'a, A: ?Sized> {
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a A,
}

impl<A: Encode + ?Sized> Encode for Named<'_, A> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("name", self.name);
        to.member("arguments", self.arguments);
        to.end_object();
    }
}
