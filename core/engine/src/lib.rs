//! A whole client of the Model Context Protocol as a value without I/O, above [`mcp_sansio`]: what
//! all adapters would think, stands here once. The adapters export what programs name.

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod client;
mod errors;
mod hosted;
mod results;
mod tasks;

pub use client::{
    Answer, CallId, Cancelled, ClientEngine, ConnectState, Detached, Driver, Finished, InputId,
    Limits,
};
#[cfg(feature = "http")]
pub use errors::HttpError;
pub use errors::{CallError, ConnectError, Refusal, ServerError};
pub use results::{
    List, ListError, ListKind, MAX_LIST, MAX_PAGES, Prompts, ResourceTemplates, Resources, Skills,
    ToolCallError, Tools, TypedResult,
};
pub use tasks::{MAX_TASK_INPUTS, TaskRef};

/// What the adapters use and programs do not name. Not public API.
#[doc(hidden)]
pub mod internal {
    pub use crate::hosted::{HostedReply, HostedStep, HostedTasks, TaskOutcome};
    pub use crate::results::{Cursors, Named, PageParams, Pager, check_skill, verified};
    pub use crate::tasks::{FollowedTask, ToolSupport, of_task, server_name};
}
