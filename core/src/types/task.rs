//! Task metadata in other requests. 2025-11-25 only.

use super::macros::payload;

payload! {
    /// Request for execution as a task. 2025-11-25 only, schema type `TaskMetadata`.
    pub struct TaskMetadata {
        new {}
        with {
            /// Time that the receiver should keep the task, in milliseconds from its creation.
            "ttl" ttl: millis;
        }
    }
}
