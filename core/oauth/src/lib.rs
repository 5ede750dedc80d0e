//! Authorization (2025-03-26 and later, basic/authorization) without I/O: OAuth 2.1 and its
//! extensions that MCP uses.
//!
//! A client has an [`AuthorizationState`] and a [`Setup`] for each MCP server, and opens a view for
//! its calls:
//!
//! | what happens | what to do |
//! | --- | --- |
//! | the program starts | [`load`](Authorization::load) the record that was kept |
//! | a request is to be sent | if [`is_due`](Authorization::is_due), take steps; then add its [`fields`](Authorization::fields), and remember the [`generation`](Authorization::generation) |
//! | a response with status 401 or 403 arrives | [`challenged`](Authorization::challenged) says whether to send the request again, to take steps before that, or to report it |
//! | another response arrives | [`observed`](Authorization::observed) |
//! | steps are to be taken, and other programs use the store | [`load_newer`](Authorization::load_newer) takes their tokens, which may save the steps |
//! | steps are to be taken | do what [`step`](Authorization::step) says, and answer it, until [`Step::Ready`] or [`Step::Failed`] |
//!
//! A flow takes at most 12 requests and 2 pages for a person. What it asks of servers, and refuses,
//! is the same for all revisions: that of 2026-07-28, and the fallback of 2025-03-26.
//!
//! A server has [`TokenRules`], which check access tokens in memory that it lends, with keys that
//! it has got ([`Jwk::read_set`]) and a function that verifies signatures. If the token is bound to
//! a key, a [`ProvenRequest`](dpop::ProvenRequest) checks the proof.
//!
//! ```
//! use mcp_sansio_oauth::{Jwk, Refusal, Signature, TokenRules, UnixTime};
//!
//! fn subject(token: &str, key_set: &[u8], now: UnixTime) -> Result<String, Refusal> {
//!     let rules = TokenRules::new("https://auth.example.com", "https://mcp.example.com/mcp");
//!     let mut memory = vec![0; 2 * token.len()];
//!     let signed = rules.check_jwt(token, now, &mut memory)?;
//!     let (mut memory, mut keys) = (vec![0; 2 * key_set.len()], Vec::new());
//!     let read = Jwk::read_set(key_set, &mut memory, |key| keys.push(key));
//!     read.map_err(|_| Refusal::Unavailable)?;
//!     Ok(signed.verify(&keys, is_valid)?.subject.to_string())
//! }
//!
//! fn is_valid(signature: &Signature<'_>) -> bool {
//!     false // what the cryptography of the program says
//! }
//! # assert_eq!(subject("a.b.c", b"", UnixTime::from_secs(0)), Err(Refusal::Malformed));
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod access_token;
mod arena;
pub mod dpop;
#[cfg(feature = "eddsa")]
mod eddsa;
#[cfg(feature = "es256")]
mod es256;
mod flow;
mod flow_grant;
mod flow_start;
pub mod form;
mod jwk;
pub mod jws;
mod metadata;
pub mod pkce;
#[cfg(any(feature = "eddsa", feature = "es256"))]
mod pkcs8;
pub mod scope;
mod setup;
mod token;
mod url;

pub use access_token::{AccessToken, Refusal, SignedToken, Subject, TokenRules};
pub use arena::{Full, Writer, decode_base64url, put_base64url};
#[cfg(feature = "eddsa")]
pub use eddsa::Ed25519;
#[cfg(feature = "es256")]
pub use es256::Es256;
pub use flow::{
    Attempts, Authorization, AuthorizationState, NotReady, Purpose, Reaction, Request, Step,
};
pub use jwk::{Algorithm, Jwk, KeySetError, PublicKey, Signature};
pub use metadata::{
    ClientMetadata, DocumentError, List, RedirectAnswer, RedirectError, RedirectOutcome,
    RegistrationResponse, ResourceMetadata, ServerMetadata,
};
pub use setup::{
    Failure, Grant, IdentityProvider, KeyError, Lost, MAX_SIGNATURE, Policy, Reason,
    RegisteredClient, Setup, SignError, Signer, TokenEndpointAuth,
};
pub use token::{OAuthError, RecordError, TokenResponse, TokenType, UnixTime};
pub use url::{AddressKind, Host, Url, UrlRules, WellKnown, WellKnownPath, resource_matches};
