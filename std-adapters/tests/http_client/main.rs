//! The client over HTTP, against servers whose answers are written down: what it says, in which
//! order, and what it makes of what it is told. Over streams in memory, in pieces of several sizes.

mod cancelling;
mod heads;
mod hostile;
mod older;
mod opening;
#[path = "../asynchronous/pipe.rs"]
mod pipe;
mod refusals;
mod scene;
mod sessions;
mod streams;
mod tools;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, Revision, Revisions};

const BOTH: ClientConfig<'_> = ClientConfig::new(
    Implementation::new("client", "1"),
    ClientFeatures::ELICITATION_FORM.with(ClientFeatures::ROOTS),
);

static CLIENT: ClientConfig<'_> = BOTH;
static MODERN: ClientConfig<'_> = BOTH.revisions(Revisions::only(Revision::LATEST));
static LEGACY: ClientConfig<'_> = BOTH.revisions(Revisions::only(Revision::V2025_11_25));

/// What a call moves at most.
const CHUNKS: [usize; 3] = [1, 7, 1 << 16];
