//! The documents: the requirement ledger, and code in the documentation.

mod ledger;
mod paths;
mod snippets;
