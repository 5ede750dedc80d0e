//! What a login needs of this machine: the place where the browser returns to, and the browser.

mod browser;
mod listener;
mod opener;
