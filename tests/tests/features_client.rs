//! What a client makes of what servers offer and ask, where a transcript cannot show it: typed
//! results, pages, caches, forms, schemas.

#[path = "features_client/support.rs"]
mod support;

#[path = "features_client/asked.rs"]
mod asked;
#[path = "features_client/declared.rs"]
mod declared;
#[path = "features_client/kept.rs"]
mod kept;
#[path = "features_client/results.rs"]
mod results;
#[path = "features_client/rounds.rs"]
mod rounds;
#[path = "features_client/schemas.rs"]
mod schemas;
