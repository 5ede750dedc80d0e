//! Checks of access tokens: [`Authorizer`](super::Authorizer)s for
//! [`HttpOptions::authorize`](super::HttpOptions::authorize).

mod cache;
mod claims;
mod dpop;
mod flight;
mod gate;
mod introspection;
mod jwks;
mod jws;
mod jwt;
mod key;
mod refusal;
mod source;
#[cfg(test)]
mod tests;
mod turns;

pub use dpop::Dpop;
pub use introspection::Introspection;
pub use jwks::Jwks;
pub use jwt::Jwt;
pub use key::Algorithm;
pub use source::SourceError;
