//! Client features that transcripts cannot show: typed results, pagination, caching, forms,
//! schemas.

mod support;

mod asked;
mod declared;
mod kept;
mod results;
mod rounds;
mod skills;
mod task_poll;
mod tasks;
