//! The work of the core for each collection that a peer can fill: a table of cases, each of which
//! handles input with `n` parts.
//!
//! The work must be proportional to the length of that input. `tests/cost/work.rs` counts the
//! instructions for several `n`.

mod connection;
mod engine;
mod http;
mod oauth;
mod pieces;
mod sessions;
mod tasks;
mod values;

/// The work of a case, done once a call. Preparation is not measured.
pub struct Work {
    /// Length of the input in bytes; of a message that is written, that of its value.
    pub bytes: usize,
    run: Box<dyn FnMut()>,
}

impl Work {
    fn new(bytes: usize, run: impl FnMut() + 'static) -> Self {
        Self { bytes, run: Box::new(run) }
    }
}

/// A collection that a peer can fill.
pub struct Case {
    pub name: &'static str,
    /// Prepares the work with `n` parts.
    pub prepare: fn(usize) -> Work,
}

/// All cases, by the role that fills the collection.
pub fn cases() -> Vec<Case> {
    let all = sessions::CASES
        .iter()
        .chain(connection::CASES)
        .chain(values::CASES)
        .chain(pieces::CASES)
        .chain(http::CASES)
        .chain(oauth::CASES)
        .chain(tasks::CASES)
        .chain(engine::CASES);
    all.map(|(name, prepare)| Case { name, prepare: *prepare }).collect()
}

/// Does the work once. Callgrind measures this function by its name, so it is not inlined.
#[inline(never)]
pub fn measured(work: &mut Work) {
    (work.run)();
}

type Table = [(&'static str, fn(usize) -> Work)];

/// Joins `n` parts with commas.
fn join(n: usize, part: impl Fn(usize) -> String) -> String {
    (0..n).map(part).collect::<Vec<_>>().join(",")
}
