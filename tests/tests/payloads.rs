//! The payload types: what they read they write again, each revision gets the fields that it knows,
//! and their checks hold.

#[path = "payloads/support.rs"]
mod support;

#[path = "payloads/dialogue.rs"]
mod dialogue;
#[path = "payloads/documented.rs"]
mod documented;
#[path = "payloads/revisions.rs"]
mod revisions;
#[path = "payloads/rules.rs"]
mod rules;
