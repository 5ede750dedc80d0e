#![doc = include_str!("manual.md")]
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

mod buffers;
mod catalog;
mod client;
mod connection;
mod encode;
#[cfg(feature = "http")]
pub mod http;
mod json;
mod message;
mod progress;
mod protocol;
mod rpc;
mod server;
mod sha256;
#[cfg(feature = "skills")]
mod skills;
#[cfg(feature = "tasks")]
pub mod tasks;
mod text;
mod time;
mod tools;
mod trace;
pub mod typed;
pub mod types;
mod uri_template;

pub use buffers::Storage;
pub use buffers::checksum::{CheckedByte, LineChecker, LineChecksum};
pub use buffers::rx::{Frame, RxBuffer, Spare};
pub use buffers::tx::{STEP_OUTPUT, Tx, TxBuffer};
#[cfg(feature = "alloc")]
pub use catalog::{AddError, CatalogResponse, OwnedCatalog, TargetPlace};
pub use catalog::{Catalog, CatalogError, Entry, SchemaError, Scoped, Target};
#[cfg(feature = "alloc")]
pub use client::GrowingClientState;
pub use client::{
    CallOptions, CallOutcome, Changed, Client, ClientConfig, ClientEvent, ClientState,
    ConnectError, Connected, InputRequired, InputResponseParams, ServerRequest,
};
#[cfg(feature = "tasks")]
pub use client::{PollStep, TaskGone, TaskPoll};
pub use connection::{Connection, Machine, Memory, Outcome, Pair, PairStep, Step, Turn};
#[cfg(feature = "alloc")]
pub use encode::OwnedJson;
pub use encode::{Encode, Encoder, Json, to_slice};
pub use json::{Elements, JsonStr, MAX_DEPTH, Members, RawJson, ReadError, SyntaxError};
pub use message::{
    Arguments, MAX_ID, Malformed, Message, MessageKind, Messages, Params, PeerViolation,
};
pub use progress::{Amount, Progress};
pub use protocol::error::{
    ConfigError, ErrorCode, InvalidPayload, NotAllowed, SendError, SendResult, Violation,
};
pub use protocol::{ClientFeatures, Era, Method, Revision, Revisions, ServerFeatures, methods};
#[cfg(feature = "alloc")]
pub use rpc::OwnedRpcError;
pub use rpc::inflight::{Call, Delivery, ExchangeId, Remaining, RequestHandle};
pub use rpc::{PeerError, RpcError};
#[cfg(any(feature = "http", feature = "tasks"))]
pub use server::SESSION_LEN;
pub use server::{
    Admission, Change, ClientRequest, LogMessage, MAX_EXTENSIONS, Request, RequestMemory, Server,
    ServerConfig, ServerEvent, ServerState,
};
#[cfg(feature = "alloc")]
pub use server::{GrowingServerState, OwnedRequest, ResponseKind};
#[cfg(feature = "skills")]
pub use skills::{
    MAX_FRONTMATTER_JSON, MAX_SKILL_FILES, MAX_SKILL_SIZE, ServedSkill, SkillError,
    frontmatter_json,
};
pub use text::Printable;
pub use time::Instant;
#[cfg(feature = "alloc")]
pub use tools::BoxedContent;
#[cfg(feature = "alloc")]
pub use tools::context::InputLink;
#[cfg(feature = "alloc")]
pub use tools::context::OwnedInputResponse;
pub use tools::context::{Link, ToolContext, TurnLink};
pub use tools::{IntoToolError, NoOutput, OrToolError, ToolError, ToolOutput, ToolResult};

/// Functions for the crates above this one, which depend on exactly this version. Not public API.
#[doc(hidden)]
pub mod internal {
    pub use crate::buffers::rx::newline;
    pub use crate::buffers::{grow, move_down};
    pub use crate::catalog::SchemaRow;
    pub use crate::catalog::constant as entries;
    pub use crate::connection::{Outbox, PendingOutcome};
    pub use crate::encode::With;
    #[cfg(feature = "http")]
    pub use crate::http::origin::v6;
    pub use crate::json::{Decimal, Indexed};
    #[cfg(all(feature = "http", feature = "alloc"))]
    pub use crate::message::BodyPosition;
    pub use crate::rpc::inflight::{bits_of_call, bits_of_request, call_of_bits, request_of_bits};
    #[cfg(feature = "http")]
    pub use crate::server::MessageKind;
    #[cfg(any(feature = "http", feature = "tasks"))]
    pub use crate::server::SessionSetting;
    pub use crate::server::declare;
    pub use crate::sha256::{Sha256, sha256};
    #[cfg(feature = "skills")]
    pub use crate::skills::macros as skills;
    pub use crate::text::{copy, split, split_once};
    pub use crate::types::tool::Named;
    pub use crate::types::utilities::LEVELS;

    pub mod typed {
        pub use crate::tools::typed::{
            ReadAt, assert_distinct, checked, count_members, hash, integer, join, prompt,
            prompt_arguments, read_found, write_member,
        };
        pub use crate::typed::rules::{check_members, find_members, find_name, find_variant};
        pub use crate::typed::schema::{schema, schema_bytes, schema_len};
    }
}
