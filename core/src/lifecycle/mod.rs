//! Which revision knows what: the rules of the lifecycle, as tables.

mod capability;
mod method;
mod revision;

pub use capability::{ClientFeatures, ServerFeatures};
pub use method::Method;
pub(crate) use method::Usual;
pub use revision::{Era, Revision, Revisions};
