//! Parts that the blocking and the asynchronous client share.

pub(crate) mod child;
mod connect_error;
mod hosted;
#[cfg(feature = "http")]
mod http_error;
mod list;
mod skills;
mod stderr;
mod task;
mod task_ref;
mod typed_result;

pub use connect_error::ConnectError;
pub(crate) use hosted::{HostedReply, HostedStep, HostedTasks, TaskOutcome};
#[cfg(feature = "http")]
pub use http_error::HttpError;
#[cfg(feature = "http")]
pub(crate) use list::Cursors;
#[cfg(feature = "blocking")]
pub(crate) use list::PageParams;
pub(crate) use list::Pager;
pub use list::{
    List, ListError, ListKind, MAX_LIST, MAX_PAGES, Prompts, ResourceTemplates, Resources, Skills,
    Tools,
};
pub(crate) use skills::{check_skill, verified};
pub use stderr::{LineFn, Stderr, StderrLines};
pub use task::MAX_TASK_INPUTS;
pub(crate) use task::{FollowedTask, ToolSupport, of_task, random, server_name};
pub use task_ref::TaskRef;
pub use typed_result::{ToolCallError, TypedResult};

use std::fmt;

use mcp_sansio::{Encode, Encoder, OwnedJson, PeerError, Printable};

/// Error response of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServerError {
    /// Error code, see [`ErrorCode`](mcp_sansio::ErrorCode).
    pub code: i64,
    /// Error message.
    pub message: String,
    /// Additional data.
    pub data: Option<OwnedJson>,
}

impl From<PeerError<'_>> for ServerError {
    fn from(error: PeerError<'_>) -> Self {
        let message = error.message().map(|message| message.to_string()).unwrap_or_default();
        Self { code: error.code(), message, data: error.data().map(OwnedJson::from) }
    }
}

impl ServerError {
    /// Returns the error object.
    pub(crate) fn to_json(&self) -> OwnedJson {
        let json = OwnedJson::new(self, mcp_sansio::Revision::LATEST);
        json.unwrap_or_else(|_| mcp_sansio::RawJson::EMPTY.into())
    }
}

impl Encode for ServerError {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("code", &self.code);
        to.member("message", self.message.as_str());
        if let Some(data) = &self.data {
            to.member("data", data);
        }
        to.end_object();
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", Printable::new(&self.message), self.code)
    }
}

impl std::error::Error for ServerError {}

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
