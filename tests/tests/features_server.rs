//! What a server offers and asks for, where a transcript cannot show it: typed results, catalogs,
//! schemas, handlers that ask.

#[path = "features_server/support.rs"]
mod support;

#[path = "features_server/asking.rs"]
mod asking;
#[path = "features_server/catalogs.rs"]
mod catalogs;
#[path = "features_server/listening.rs"]
mod listening;
#[path = "features_server/questions.rs"]
mod questions;
#[path = "features_server/results.rs"]
mod results;
#[path = "features_server/schemas.rs"]
mod schemas;

/// What the everything server lists.
#[path = "../../examples/src/everything_server/catalog.rs"]
mod everything_catalog;
/// The forms that it shows.
#[path = "../../examples/src/everything_server/forms.rs"]
mod everything_forms;
