//! Cases of the benchmarks. Each handles one message, from the bytes that the transport received to
//! the bytes that it can send.

mod app;
mod authorization;
mod client;
mod messages;
mod ours;
mod peer;
mod site;
mod stream;
pub mod threads;
mod typed;

/// A case, which can be repeated.
pub struct Case {
    pub name: String,
    /// Bytes of the message.
    pub bytes: usize,
    /// Handles the message once; returns the length of the response in bytes.
    pub run: Box<dyn FnMut() -> usize>,
}

impl Case {
    fn new(name: impl Into<String>, bytes: usize, run: impl FnMut() -> usize + 'static) -> Self {
        Self { name: name.into(), bytes, run: Box::new(run) }
    }
}

/// Returns the case of this name among others, or all of them. Those named `serde_json` are the
/// baseline: they only read one envelope and write one.
pub fn cases(wanted: Option<&str>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (era, legacy) in [("legacy", true), ("modern", false)] {
        for (size, text) in messages::TEXTS {
            let line = messages::call(legacy, text);
            cases.push(ours::through_buffers(format!("call-{era}-{size}"), &line, ours::LARGE));
            cases.push(ours::frame_to_answer(format!("call-{era}-{size}-frame"), &line));
            cases.push(peer::envelope(format!("serde_json-{era}-{size}"), line));
        }
        let list = messages::list(legacy);
        cases.push(ours::through_buffers(format!("list40-{era}"), &list, ours::LARGE));
        cases.push(ours::through_buffers(format!("list40-{era}-256"), &list, 256));
    }
    cases.push(ours::through_buffers("ping".into(), messages::PING, ours::LARGE));
    cases.extend(typed::cases());
    cases.extend(app::cases());
    cases.extend(client::cases());
    cases.extend(site::cases());
    cases.push(site::envelope());
    cases.extend(authorization::cases(wanted));
    cases
}

/// Returns the cases of which each run opens one more session or stream, which stays open: what it
/// allocates and does not free is its memory.
pub fn open_cases() -> Vec<Case> {
    site::open_cases().into()
}
