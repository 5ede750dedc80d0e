//! The documents: the requirement ledger, the layers, and code in the documentation.

mod api;
mod layers;
mod ledger;
mod paths;
mod snippets;
