//! The payload types: what they read they write again, each revision gets the fields that it knows,
//! and their checks hold.

mod support;

mod dialogue;
mod documented;
mod revisions;
mod rules;
