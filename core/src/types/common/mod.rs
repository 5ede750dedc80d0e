//! Types that several sections of the schema use.

mod blob;
mod cache;
mod error;
mod icon;
mod list;
pub mod meta;
mod number;
mod pagination;
mod source;
mod text;

pub use blob::{Blob, BlobError};
pub use cache::CacheHint;
pub use error::{
    ErrorObject, MissingRequiredClientCapabilityData, ResourceErrorData,
    UnsupportedProtocolVersionData, UrlElicitationRequiredData,
};
pub use icon::{Icon, IconTheme, Icons};
pub use list::{List, ListIter, Map, MapIter};
pub use number::Number;
pub use pagination::{CacheScope, PaginatedParams};
pub(in crate::types) use source::Source;
pub use text::Text;
