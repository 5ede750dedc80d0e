//! The client on a stream: opening, requests, capabilities.

mod cut_off;
mod features;
mod frames;
mod openings;
mod peer;
mod races;
