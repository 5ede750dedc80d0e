//! Server-sent events: a reader and a writer.
