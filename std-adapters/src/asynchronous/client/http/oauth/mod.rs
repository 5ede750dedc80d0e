//! Logging in.

mod browser;
mod flight;
mod flow;
mod listener;
pub(crate) mod login;
mod opener;
mod settings;

pub use browser::{
    Browser, BrowserNotice, LOGIN_TIME_LIMIT, MAX_LOGINS, MAX_PASTES, SystemBrowser,
};
pub use listener::{LoopbackListener, MAX_VISITS, pasted};
pub use opener::{open_in_browser, open_with};
pub use settings::{OAuth, OAuthClient};
