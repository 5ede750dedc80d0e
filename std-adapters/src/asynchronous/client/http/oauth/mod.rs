//! Logging in.

mod listener;
mod opener;

pub use listener::{LoopbackListener, MAX_VISITS, pasted};
pub use opener::{open_in_browser, open_with};
