//! The part of the tasks of 2025-11-25 that shows in other requests.

use super::encode::macros::payload;

payload! {
    /// That a request is to be run as a task. 2025-11-25 only, schema type `TaskMetadata`.
    pub struct TaskMetadata {
        new {}
        with {
            /// For how many milliseconds its result is to be kept.
            "ttl" ttl: millis;
        }
    }
}
