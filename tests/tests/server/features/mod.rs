//! Server features that transcripts cannot show: typed results, catalogs, schemas, input requests.

pub(crate) mod support;
mod typed;
mod typed_prompts;

mod apps;
mod asking;
mod catalogs;
mod changing;
mod client_features;
mod listening;
mod outcomes;
mod questions;
mod resources;
mod results;
mod schemas;
mod skills;

/// Catalog of the everything server.
#[path = "../../../../examples/programs/src/everything_server/catalog.rs"]
mod everything_catalog;
/// Forms of the everything server.
#[path = "../../../../examples/programs/src/everything_server/forms.rs"]
mod everything_forms;
