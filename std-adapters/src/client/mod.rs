//! Parts that the blocking and the asynchronous client share.

mod list;
mod params;
mod server_error;
#[cfg(feature = "derive")]
mod typed_result;

#[cfg(feature = "http")]
pub(crate) use list::Cursors;
pub(crate) use list::Pager;
pub use list::{
    List, ListError, ListKind, MAX_LIST, MAX_PAGES, Prompts, ResourceTemplates, Resources, Tools,
};
pub(crate) use params::Named;
pub use server_error::ServerError;
#[cfg(feature = "derive")]
pub use typed_result::{ToolCallError, TypedResult};
