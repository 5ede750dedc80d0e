//! Authorization (2025-03-26 and later, basic/authorization) without I/O: OAuth 2.1 and its
//! extensions that MCP uses.

mod address;
pub mod form;
mod metadata;
mod redirect;
pub mod scope;
mod token;
mod url;
mod writer;

pub use address::AddressKind;
pub use form::{Encoded, Form};
pub use metadata::{DocumentError, List, ResourceMetadata, ServerMetadata};
pub use redirect::{RedirectAnswer, RedirectError, RedirectOutcome};
pub use token::{OAuthError, TokenResponse, TokenType};
pub use url::{Host, Place, Url, UrlRules, WellKnown, resource_matches};
pub use writer::{Full, Writer};
