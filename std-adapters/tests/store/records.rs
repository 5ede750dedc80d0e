//! Records of tasks: what is written is read, in the format of the last release, too.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::tasks::{TaskEnd, TaskId, TaskInfo, TaskOwner, TaskTime, TasksConfig, TasksState};
use mcp_sansio::{ClientFeatures, Instant, Revision};
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::store::{
    MemoryStore, RecordError, Store as _, TaskCall, TaskInput, TaskOutcome, TaskRecord, TaskStore,
};

use crate::random::Random;

/// A record with every member, as version 1 of the format was written, and sealed under
/// `task/0123456789abcdef0123456789abcdef` with 32 bytes of 7. It stays as it is: when the format
/// changes, a later version gets a file of its own, and this one must still be read.
const VERSION_1: &[u8] = include_bytes!("task-record-1.bin");

const KEY: &str = "task/0123456789abcdef0123456789abcdef";

fn complete() -> TaskRecord {
    let arguments = r#"{"sector":3,"big":12345678901234567890123,"text":"é\n"}"#;
    let id = TaskId::parse("0123456789abcdef0123456789abcdef").unwrap();
    let mut record = TaskRecord::new(id, "erase", arguments, 1_795_000_000_000, 3_600_000);
    record.owner = Some("https://as.example.com alice".to_owned());
    record.updated_unix_ms = 1_795_000_003_500;
    record.message = "3 of 3".to_owned();
    let result = r#"{"content":[{"type":"text","text":"erased"}],"isError":false}"#;
    record.outcome = Some(TaskOutcome::Completed(result.to_owned()));
    let request = r#"{"method":"elicitation/create","params":{"message":"Erase?"}}"#;
    let answer = Some(r#"{"action":"accept"}"#.to_owned());
    record.inputs = vec![TaskInput::new(1, request), TaskInput::new(2, request)];
    record.inputs[0].answer = answer;
    record
}

#[test]
fn the_format_is_that_of_the_last_release() {
    let keys = KeyRing::new([7; 32]);
    let written = keys.seal_record(KEY, complete().encode().unwrap());
    assert_eq!(TaskRecord::decode(keys.open_record(KEY, VERSION_1).unwrap()).unwrap(), complete());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&written), text(VERSION_1), "the format has changed: it needs a new version");
}

#[test]
fn a_task_goes_on_in_the_next_process_as_its_record_says() {
    let config = TasksConfig::new().ttl(Duration::from_secs(60));
    let at = |ms| TaskTime::new(Instant::from_millis(ms), 1_795_000_000_000 + ms);
    let failed = TaskOutcome::ToolFailed("{}".into());
    let ends = [(failed, TaskEnd::ToolFailed), (TaskOutcome::Cancelled, TaskEnd::Cancelled)];
    for end in [None].into_iter().chain(ends.map(Some)) {
        let mut state = TasksState::<4>::new();
        let mut tasks = state.tasks(&config);
        let task = tasks.create(at(1_000), id(1), TaskOwner(1), None).unwrap();
        assert_eq!(tasks.ask(at(2_000), task), Some(1));
        tasks.set_message(at(3_000), task, &"half");
        if let Some((_, end)) = &end {
            tasks.end(at(4_000), task, *end);
        }
        let before = tasks.info(task).unwrap();
        let mut record = TaskRecord::new(before.id(), "erase", "{}", 0, 0);
        record.update(&before);
        record.outcome = end.map(|(outcome, _)| outcome);
        record.inputs = vec![TaskInput::new(1, "{}")];
        let record = TaskRecord::decode(&record.encode().unwrap()).unwrap();

        // The clock of the next process begins anew, that of the calendar goes on.
        let mut state = TasksState::<4>::new();
        let mut tasks = state.tasks(&config);
        let now = TaskTime::new(Instant::from_millis(5), 1_795_000_010_000);
        let task = tasks.restore(now, record.id, TaskOwner(2), &record.stored()).unwrap().unwrap();
        let after = tasks.info(task).unwrap();
        let shown = |info: &TaskInfo| {
            let times = (info.created_unix_ms(), info.updated_unix_ms(), info.ttl_ms());
            (info.id(), info.end(), info.message().to_owned(), times)
        };
        assert_eq!(shown(&after), shown(&before));
        assert_eq!(tasks.poll_timeout(), Some(Instant::from_millis(5 + 51_000)));
        let asked = tasks.ask(now, task);
        assert_eq!(asked, after.is_live().then_some(2), "no number is used twice");
    }
}

#[test]
fn any_record_is_read_as_it_was_written() {
    let mut random = Random(1);
    for _ in 0..2_000 {
        let record = random.record();
        let bytes = record.encode().unwrap();
        assert_eq!(TaskRecord::decode(&bytes).unwrap(), record);
    }
}

#[test]
fn text_that_is_not_json_is_not_written() {
    for text in ["", "{", "{}}", "nul", "\u{0}"] {
        let record = TaskRecord::new(TaskId::new([1; 16]), "a", text, 0, 0);
        assert!(matches!(record.encode(), Err(RecordError::Invalid(_))), "{text:?}");
    }
}

#[test]
fn bytes_that_are_no_record_are_refused_with_a_reason() {
    let read = TaskRecord::decode;
    assert_eq!(read(b"").unwrap_err().to_string(), "the form is not valid: it is empty");
    assert_eq!(read(b"\x02{}"), Err(RecordError::Version(2)));
    assert_eq!(read(b"\x00{}"), Err(RecordError::Version(0)));
    let bytes = complete().encode().unwrap();
    for at in 1..bytes.len() {
        assert!(read(&bytes[..at]).is_err(), "cut at {at}");
    }
    assert!(read(&[&bytes[..], b"{}"].concat()).is_err());
    // A later program may have added a member.
    let added = String::from_utf8(bytes).unwrap().replace("\"tool\"", "\"more\":[1],\"tool\"");
    assert_eq!(read(added.as_bytes()), Ok(complete()));
}

#[test]
fn a_damaged_record_is_reported_and_the_others_are_loaded() {
    let store = Arc::new(MemoryStore::new(1 << 20));
    let keys = KeyRing::new([7; 32]);
    let tasks = TaskStore::new(Arc::clone(&store), keys.clone());
    let good = TaskRecord::new(id(3), "a", "{}", 1_795_000_000_000, 1_000);
    tasks.save(&good).unwrap();
    let key = |number: u8| format!("task/{}", id(number));
    // Another secret, another key, a later version, no JSON, and nothing at all.
    let sealed = |record: &[u8], for_key: u8| keys.seal_record(&key(for_key), record.to_vec());
    let other = KeyRing::new([8; 32]).seal_record(&key(0), good.encode().unwrap());
    store.put(&key(0), &other, None).unwrap();
    store.put(&key(1), &store.get(&key(3)).unwrap().unwrap(), None).unwrap();
    store.put(&key(2), &sealed(b"\x02{}", 2), None).unwrap();
    store.put(&key(4), &sealed(b"\x01[]", 4), None).unwrap();
    store.put(&key(5), b"", None).unwrap();

    let (mut loaded, mut skipped) = (Vec::new(), Vec::new());
    tasks
        .load(|task| match task {
            Ok(task) => loaded.push(task),
            Err(damaged) => skipped.push(damaged.to_string()),
        })
        .unwrap();
    assert_eq!(loaded, [good]);
    let reasons = [
        (0, "the seal is not valid"),
        (1, "the seal is not valid"),
        (2, "version 2 is not known"),
        (4, "the form is not valid"),
        (5, "the seal is not valid"),
    ];
    for (skipped, (number, reason)) in skipped.iter().zip(reasons) {
        // Not the whole id, which is a secret.
        let expected = format!("the record \"task/0{number}0{number}..\" is skipped: {reason}");
        assert!(skipped.starts_with(&expected), "{skipped}");
    }
    assert_eq!(skipped.len(), reasons.len());
    assert_eq!(store.keys("").unwrap().len(), 6, "what cannot be read is left where it is");
}

fn id(number: u8) -> TaskId {
    TaskId::new([number; 16])
}

impl Random {
    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| make(self))
    }

    fn text(&mut self) -> String {
        let parts = ["", "a", "\"", "\\", "\n", "\u{0}", "é", "\u{1F600}", "{}", " "];
        (0..self.below(6)).map(|_| parts[self.below(parts.len())]).collect()
    }

    /// JSON in any spelling, which must come back byte for byte.
    fn json(&mut self) -> String {
        let text = serde_json::to_string(&self.text()).unwrap();
        let values = ["1e400", "-0.0", "[ ]", "{\"a\" : null,\n\"a\":2}", "\"\\u00e9\""];
        let value = [values[self.below(values.len())], &text][self.below(2)];
        format!("{{{text}:[{value}]}}")
    }

    fn record(&mut self) -> TaskRecord {
        let id = TaskId::new(std::array::from_fn(|_| self.below(256) as u8));
        let (tool, arguments, created, ttl) = (self.text(), self.json(), self.next(), self.next());
        let mut record = TaskRecord::new(id, tool, arguments, created, ttl);
        record.owner = self.maybe(Self::text);
        record.updated_unix_ms = self.next();
        record.message = self.text();
        record.outcome = self.maybe(|random| match random.below(4) {
            0 => TaskOutcome::Completed(random.json()),
            1 => TaskOutcome::ToolFailed(random.json()),
            2 => TaskOutcome::Failed(random.json()),
            _ => TaskOutcome::Cancelled,
        });
        record.inputs = (0..self.below(3))
            .map(|_| {
                let mut input = TaskInput::new(self.next() as u32, self.json());
                input.answer = self.maybe(Self::json);
                input.needs = self.next() as u32;
                input.is_closed = self.below(2) == 0;
                input
            })
            .collect();
        record.progress = self.maybe(|random| (random.text(), random.maybe(Self::text)));
        record.node = self.maybe(Self::text);
        record.call = self.maybe(|random| {
            let mut call = TaskCall::new(Revision::LATEST, ClientFeatures::SAMPLING, true);
            call.session = random.maybe(Self::next);
            call.agreed = random.maybe(|random| [random.next() as u8; 7]);
            call.meta = random.maybe(Self::json);
            call.runs = random.next() as u8;
            call
        });
        record.saved = self.maybe(Self::json);
        record
    }
}
