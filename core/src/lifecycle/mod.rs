//! Tables of revisions, methods and capabilities.

mod capability;
mod method;
mod revision;

pub use capability::{ClientFeatures, ServerFeatures};
pub use method::{Method, methods};
pub use revision::{Era, Revision, Revisions};
