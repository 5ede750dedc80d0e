//! The payload types: reading and writing are inverse, each revision gets its own fields, and the
//! checks hold.

mod support;

mod dialogue;
mod documented;
mod revisions;
mod rules;
