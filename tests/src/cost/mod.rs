//! What the core's work costs for each collection that a peer can fill: a table of cases, each of
//! which takes in something of a peer's with `n` parts.
//!
//! Twice the work for twice as much is all that a peer may cause. `tests/cost/work.rs` counts the
//! instructions that `n` and `4n` parts take.

mod http;
mod sessions;
mod values;

/// The work of a case, done as often as it is called. What is made before is not measured.
pub type Work = Box<dyn FnMut()>;

/// A collection that a peer can fill.
pub struct Case {
    /// What it is.
    pub name: &'static str,
    /// Makes the work with `n` parts.
    pub prepare: fn(usize) -> Work,
}

/// All of them, by who fills the collection.
#[must_use]
pub fn cases() -> Vec<Case> {
    let all = sessions::CASES.iter().chain(values::CASES).chain(http::CASES);
    all.map(|(name, prepare)| Case { name, prepare: *prepare }).collect()
}

/// Does the work once. What is measured, by name: not to be inlined.
#[inline(never)]
pub fn measured(work: &mut Work) {
    work();
}

type Table = [(&'static str, fn(usize) -> Work)];

/// `n` parts with a comma between them.
fn join(n: usize, part: impl Fn(usize) -> String) -> String {
    (0..n).map(part).collect::<Vec<_>>().join(",")
}
