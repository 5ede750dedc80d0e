//! Logging in.

mod browser;
mod listener;
mod opener;

pub use browser::{Browser, BrowserNotice, LOGIN_TIME_LIMIT, MAX_PASTES, SystemBrowser};
pub use listener::{LoopbackListener, MAX_VISITS, pasted};
pub use opener::{open_in_browser, open_with};
