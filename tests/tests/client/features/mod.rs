//! What a client makes of what servers offer and ask, where a transcript cannot show it: typed
//! results, pages, caches, forms, schemas.

mod support;

mod asked;
mod declared;
mod kept;
mod results;
mod rounds;
mod schemas;
