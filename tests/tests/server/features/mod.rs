//! What a server offers and asks for, where a transcript cannot show it: typed results, catalogs,
//! schemas, handlers that ask.

mod support;

mod asking;
mod catalogs;
mod listening;
mod questions;
mod results;
mod schemas;

/// What the everything server lists.
#[path = "../../../../examples/src/everything_server/catalog.rs"]
mod everything_catalog;
/// The forms that it shows.
#[path = "../../../../examples/src/everything_server/forms.rs"]
mod everything_forms;
