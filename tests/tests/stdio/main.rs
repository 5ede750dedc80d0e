//! The blocking adapter against peers that misbehave, and the streams of a process.

mod asking;
mod client;
mod memory;
mod observer;
mod scopes;
mod server;
mod shared_catalog;
mod skill_folder;
mod skills;
mod streams;
mod tools;
mod typed_calls;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures};

static CLIENT: ClientConfig =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::NONE);
