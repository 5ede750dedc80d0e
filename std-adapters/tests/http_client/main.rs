//! Tests of the asynchronous HTTP client against scripted servers: its requests, their order, and
//! its handling of responses. Over streams in memory, in pieces of several sizes.

mod authorization;
#[cfg(feature = "blocking")]
mod blocking;
mod cancelling;
mod heads;
mod hostile;
#[path = "../asynchronous/hostile_stream.rs"]
mod hostile_stream;
#[cfg(feature = "auth")]
mod logins;
#[cfg(feature = "auth")]
#[path = "../store/network.rs"]
mod network;
mod opening;
#[path = "../asynchronous/pipe.rs"]
mod pipe;
mod scene;
mod streams;
#[path = "../virtual_time/mod.rs"]
mod virtual_time;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, Revision, Revisions};

const BOTH: ClientConfig<'_> = ClientConfig::new(
    Implementation::new("client", "1"),
    ClientFeatures::ELICITATION_FORM.with(ClientFeatures::ROOTS),
);

static CLIENT: ClientConfig<'_> = BOTH;
static MODERN: ClientConfig<'_> = BOTH.revisions(Revisions::only(Revision::LATEST));
static LEGACY: ClientConfig<'_> = BOTH.revisions(Revisions::only(Revision::V2025_11_25));

/// Maximum number of bytes of a read or write.
const CHUNKS: [usize; 3] = [1, 7, 1 << 16];
