//! Whole clients and HTTP servers of the Model Context Protocol as values without I/O, above
//! [`mcp_sansio`].
//!
//! | | |
//! | --- | --- |
//! | a client | [`ClientEngine`] with a [`Driver`], [`Limits`], [`Question`] and [`Middleware`] |
//! | what a client gets | [`List`], [`TypedResult`], [`TaskRef`], [`CallError`] and its parts |
//! | over HTTP, beside the client (feature `http`) | `HttpClient`: takes posts, and says by `HttpStep` and `HttpRequest` what to send |
//! | an HTTP server (feature `http`) | `site` |
//! | tasks that outlive the process (feature `store`) | `TaskRecord` |
//! | shares of a place among clients | [`Places`], [`PlaceLimit`], [`PeerAddress`] |
//! | what servers report | [`observer`] |
//!
//! The adapters drive them, and export what programs name.
//!
//! ```
//! use mcp_sansio::types::Implementation;
//! use mcp_sansio::{CallOptions, ClientConfig, ClientFeatures, Era, Instant, RawJson};
//! use mcp_sansio_engine::{ClientEngine, Driver, InputResponse, Limits, Question};
//!
//! static CONFIG: ClientConfig =
//!     ClientConfig::new(Implementation::new("panel", "1.0.0"), ClientFeatures::NONE);
//!
//! struct Panel;
//!
//! impl Driver for Panel {
//!     fn unix_ms(&mut self) -> u64 {
//!         1_800_000_000_000 // of the calendar
//!     }
//!     fn random(&mut self) -> u32 {
//!         4 // of the system
//!     }
//!     fn asked(&mut self, _: Question<'_>) -> Option<InputResponse> {
//!         None // it will be answered later
//!     }
//! }
//!
//! let (mut client, mut panel) = (ClientEngine::new(&CONFIG, Limits::new()), Panel);
//! let now = Instant::from_millis(0);
//! client.core().set_era(Some(Era::Modern));
//! client.connect(now, &mut panel)?;
//! let params = RawJson::from_static(r#"{"name":"echo"}"#);
//! let call = client.call(now, "tools/call", &params, CallOptions::new(), &mut panel)?;
//! // The transport: it writes all, and reads the response.
//! let (written, read) = client.io(|output, input| {
//!     let result = r#"{"content":[],"resultType":"complete"}"#;
//!     let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n");
//!     input[..line.len()].copy_from_slice(line.as_bytes());
//!     (output.len(), line.len())
//! });
//! client.written(written);
//! client.received(read);
//! while client.step(now, &mut panel) {}
//! client.handle_timeout(now, true, &mut panel)?;
//! let result = client.take(call).unwrap().result.unwrap();
//! assert!(result.as_json().get("content").is_some());
//! # Ok::<(), mcp_sansio::SendError>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod asking;
mod cache;
mod client;
mod errors;
mod expiring;
mod handler_results;
mod hosted;
#[cfg(feature = "http")]
mod http_client;
mod input_requests;
mod key_ring;
pub mod observer;
mod places;
#[cfg(feature = "store")]
mod record;
mod records_in_memory;
mod results;
mod rounds;
#[cfg(feature = "http")]
mod seen_tokens;
#[cfg(feature = "http")]
pub mod site;
mod task_hub;
mod tasks;
mod waker_set;

pub use cache::Cache;
pub use client::{
    Before, CallId, Cancelled, Change, ClientEngine, ConnectState, Connected, Detached, Driver,
    Finished, InputId, Layers, Limits, Middleware, OutgoingCall, OwnedInputRequest, Question,
};
#[cfg(feature = "http")]
pub use errors::HttpError;
pub use errors::{CallError, ConnectError, InputRefusal, InputResponse, ServerError};
#[cfg(feature = "http")]
pub use http_client::{
    AUTHORIZATION_LIMIT, Diagnostic, HttpClient, HttpExchangeId, HttpLimits, HttpRequest, HttpStep,
    MAX_ONE_WAY_POSTS, Reading, Received,
};
pub use key_ring::KeyRing;
pub use places::{CountPlaces, NoPlace, PeerAddress, PlaceLimit, Places};
#[cfg(feature = "store")]
pub use record::{RecordError, TaskCall, TaskInput, TaskOutcome, TaskRecord};
pub use results::{
    List, ListError, ListKind, MAX_LIST, MAX_PAGES, Prompts, ResourceTemplates, Resources, Skills,
    ToolCallError, Tools, TypedResult,
};
pub use rounds::MAX_INPUT_RESPONSES;
pub use tasks::{MAX_TASK_INPUTS, TaskRef};

/// What the adapters use and programs do not name. Not public API.
#[doc(hidden)]
pub mod internal {
    pub use crate::asking::{Answered, AskedInput, Asking};
    pub use crate::client::{CallEvent, CallEvents, ClientApplication, Command, End, SharedClient};
    pub use crate::handler_results::{
        HandlerJson, completion_of, method_not_found, nothing_found, result_of, text_of,
    };
    pub use crate::input_requests::{Attempt, Destination, InputRequests, Outputs};
    pub use crate::records_in_memory::{ENTRY_COST, NoRoom, Records};
    pub use crate::results::{PageParams, Pager, check_skill, verified};
    pub use crate::rounds::{
        Missing, NextRound, Response, Round, Shared, StateSeal, response, send_input_required,
    };
    #[cfg(feature = "http")]
    pub use crate::seen_tokens::{RefusedTokens, SeenProof, SeenProofs};
    pub use crate::task_hub::{
        CLIENT_SHARE, TaskAnswer, TaskClient, TaskHub, TaskLimits, TaskQuestion, TaskResponse,
        TaskResult, TaskView, failure, is_error, listened_ids,
    };
    #[cfg(feature = "store")]
    pub use crate::task_hub::{Claim, FleetStep, LEASE};
    pub use crate::waker_set::WakerSet;
}
