//! `initialize` and `server/discover`.

mod capabilities;
mod discover;
mod extensions;
mod implementation;
mod initialize;

pub use capabilities::{ClientCapabilities, ServerCapabilities};
pub use discover::{DiscoverResult, SupportedVersions};
pub use extensions::DeclaredExtensions;
pub use implementation::Implementation;
pub(crate) use implementation::Info;
pub use initialize::{InitializeParams, InitializeResult};
