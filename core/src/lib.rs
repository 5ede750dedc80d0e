#![doc = include_str!("manual.md")]
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

mod bytes;
mod catalog;
mod client;
mod connection;
mod encode;
mod error;
mod framing;
mod handle;
#[cfg(feature = "http")]
mod head;
#[cfg(feature = "http")]
pub mod http;
mod inflight;
#[cfg(feature = "http")]
mod ip;
mod json;
mod lifecycle;
mod message;
#[cfg(feature = "oauth")]
pub mod oauth;
#[cfg(feature = "http")]
mod param_headers;
#[cfg(feature = "alloc")]
mod places;
mod printable;
mod progress;
mod rpc;
mod rx;
mod server;
#[cfg(any(feature = "oauth", feature = "skills"))]
mod sha256;
#[cfg(feature = "skills")]
mod skills;
mod storage;
#[cfg(feature = "tasks")]
pub mod tasks;
mod time;
mod tool_context;
#[cfg(feature = "alloc")]
mod tool_input;
mod tool_result;
mod trace;
mod tx;
#[cfg(feature = "derive")]
pub mod typed;
pub mod types;
mod uri_template;
mod violation;
mod words;

#[cfg(feature = "alloc")]
pub use catalog::{AddError, OwnedCatalog, TargetPlace};
pub use catalog::{Catalog, CatalogError, Entry, SchemaError, Scoped, Target};
#[cfg(feature = "alloc")]
pub use client::GrowingClientState;
pub use client::{
    CallOptions, CallOutcome, Changed, Client, ClientConfig, ClientEvent, ClientMemory,
    ClientState, ConnectError, Connected, InputRequired, InputResponseParams, ServerRequest,
};
#[cfg(feature = "tasks")]
pub use client::{PollStep, TaskGone, TaskPoll};
pub use connection::{Connection, Machine, Memory, Outcome, Pair, PairStep, Step, Turn};
#[cfg(feature = "alloc")]
pub use encode::OwnedJson;
pub use encode::{Encode, Encoder, Json, to_slice};
pub use error::{ConfigError, InvalidPayload, NotAllowed, SendError};
pub use handle::{Call, Delivery, ExchangeId, Remaining, RequestHandle};
pub use json::{Elements, JsonStr, MAX_DEPTH, Members, RawJson, ReadError, SyntaxError};
pub use lifecycle::{ClientFeatures, Era, Method, Revision, Revisions, ServerFeatures, methods};
pub use message::{Arguments, MAX_ID, Malformed, Message, MessageKind, Messages, Params};
#[cfg(feature = "alloc")]
pub use places::{NoPlace, PeerAddress, PlaceLimit, Places};
pub use printable::Printable;
pub use progress::{Amount, Progress};
#[cfg(feature = "alloc")]
pub use rpc::OwnedRpcError;
pub use rpc::{ErrorCode, PeerError, RpcError};
pub use rx::{Frame, RxBuffer, Spare};
pub use server::{
    Admission, Change, ClientRequest, LogMessage, MAX_EXTENSIONS, Request, RequestMemory, Server,
    ServerConfig, ServerEvent, ServerMemory, ServerState,
};
#[cfg(feature = "alloc")]
pub use server::{GrowingServerState, OwnedRequest, ResponseKind};
#[cfg(feature = "skills")]
#[doc(hidden)]
pub use skills::macros as skill_macros;
#[cfg(feature = "skills")]
pub use skills::{
    MAX_FRONTMATTER_JSON, MAX_SKILL_FILES, MAX_SKILL_SIZE, ServedSkill, SkillError,
    frontmatter_json,
};
pub use storage::Storage;
pub use time::Instant;
pub use tool_context::{Link, ToolContext, TurnLink};
#[cfg(feature = "alloc")]
pub use tool_input::OwnedInputResponse;
#[cfg(feature = "alloc")]
pub use tool_result::BoxedContent;
pub use tool_result::{NoOutput, OrToolError, ToolError, ToolOutput, ToolResult};
pub use tx::{STEP_OUTPUT, Tx, TxBuffer};
pub use violation::Violation;
