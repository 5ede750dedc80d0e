//! Tests of the asynchronous client: over pipes in memory against the core's server in a loop of a
//! few lines, where every order of events can be arranged; against the asynchronous server; and
//! over sockets.

mod asking;
mod calls;
mod changes;
mod closing;
mod ends;
mod flow;
#[path = "../asynchronous/hooked.rs"]
mod hooked;
mod hostile;
#[path = "../asynchronous/hostile_stream.rs"]
mod hostile_stream;
mod limits;
mod opening;
mod pages;
#[path = "../asynchronous/pipe.rs"]
mod pipe;
mod script;
mod servers;
mod task_script;
mod tasks;
#[path = "../virtual_time/mod.rs"]
mod virtual_time;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, Revision, Revisions, ServerConfig, ServerFeatures};

/// All capabilities.
const SERVER: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("server", "1"),
    ServerFeatures::TOOLS_LIST_CHANGED
        .with(ServerFeatures::PROMPTS)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::RESOURCES_LIST_CHANGED)
        .with(ServerFeatures::LOGGING),
);

static MODERN: ServerConfig<'_> = SERVER.revisions(Revisions::only(Revision::LATEST));
static LEGACY: ServerConfig<'_> = SERVER.revisions(Revisions::only(Revision::V2025_11_25));

static CLIENT: ClientConfig<'_> = ClientConfig::new(
    Implementation::new("client", "1"),
    ClientFeatures::ELICITATION_FORM.with(ClientFeatures::ROOTS),
);
