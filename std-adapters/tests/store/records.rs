//! Records of tasks: what is written is read, in the format of the last release, too.

use std::sync::Arc;

use mcp_sansio::types::TaskStatus;
use mcp_sansio_adapters::store::{
    MemoryStore, RecordError, Seal, Store as _, TaskInput, TaskOutcome, TaskRecord, TaskStore,
};

/// A record with every member, as version 1 of the format was written, and sealed under
/// `task/0123456789abcdef0123456789abcdef` with 32 bytes of 7. It stays as it is: when the format
/// changes, a later version gets a file of its own, and this one must still be read.
const VERSION_1: &[u8] = include_bytes!("task-record-1.bin");

const KEY: &str = "task/0123456789abcdef0123456789abcdef";

fn complete() -> TaskRecord {
    let arguments = r#"{"sector":3,"big":12345678901234567890123,"text":"é\n"}"#;
    let id = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
    let mut record = TaskRecord::new(id, "erase", arguments, 1_795_000_000_000);
    record.owner = Some("https://as.example.com alice".to_owned());
    record.status = TaskStatus::Completed;
    record.last_updated_ms = 1_795_000_003_500;
    record.ttl_ms = Some(3_600_000);
    record.poll_interval_ms = Some(1_000);
    record.status_message = Some("3 of 3".to_owned());
    let result = r#"{"content":[{"type":"text","text":"erased"}],"isError":false}"#;
    record.outcome = Some(TaskOutcome::Result(result.to_owned()));
    let request = r#"{"method":"elicitation/create","params":{"message":"Erase?"}}"#;
    let answer = Some(r#"{"action":"accept"}"#.to_owned());
    record.inputs = vec![
        TaskInput { key: 1, request: request.to_owned(), answer },
        TaskInput { key: 2, request: request.to_owned(), answer: None },
    ];
    record
}

#[test]
fn the_format_is_that_of_the_last_release() {
    let seal = Seal::new([7; 32]);
    let written = seal.seal(KEY, complete().encode().unwrap());
    assert_eq!(TaskRecord::decode(seal.open(KEY, VERSION_1).unwrap()).unwrap(), complete());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&written), text(VERSION_1), "the format has changed: it needs a new version");
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
        let record = TaskRecord::new(1, "a", text, 0);
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
fn changed_records_never_panic() {
    let mut random = Random(2);
    let bytes = complete().encode().unwrap();
    for _ in 0..20_000 {
        let mut changed = bytes.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(changed.len());
            match random.below(3) {
                0 => changed[at] = random.below(256) as u8,
                1 => drop(changed.splice(at..at, *b"[{\"")),
                _ => drop(changed.remove(at)),
            }
        }
        if let Ok(record) = TaskRecord::decode(&changed) {
            assert_eq!(TaskRecord::decode(&record.encode().unwrap()), Ok(record));
        }
    }
}

#[test]
fn a_damaged_record_is_reported_and_the_others_are_loaded() {
    let store = Arc::new(MemoryStore::new(1 << 20));
    let seal = Seal::new([7; 32]);
    let tasks = TaskStore::new(Arc::clone(&store), seal.clone());
    let good = TaskRecord::new(3, "a", "{}", 1_795_000_000_000);
    tasks.save(&good).unwrap();
    let key = |number: u8| format!("task/{number:032x}");
    // Another secret, another key, a later version, no JSON, and nothing at all.
    let sealed = |record: &[u8], for_key: u8| seal.seal(&key(for_key), record.to_vec());
    let other = Seal::new([8; 32]).seal(&key(0), good.encode().unwrap());
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
        let expected = format!("the record {:?} is skipped: {reason}", key(number));
        assert!(skipped.starts_with(&expected), "{skipped}");
    }
    assert_eq!(skipped.len(), reasons.len());
    assert_eq!(store.keys("").unwrap().len(), 6, "what cannot be read is left where it is");
}

struct Random(u64);

impl Random {
    /// Marsaglia's xorshift.
    fn next(&mut self) -> u64 {
        for shift in [13, -7, 17] {
            self.0 ^= if shift > 0 { self.0 << shift } else { self.0 >> -shift };
        }
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end
    }

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
        let id = u128::from(self.next()) << 64 | u128::from(self.next());
        let (tool, arguments, created) = (self.text(), self.json(), self.next());
        let mut record = TaskRecord::new(id >> self.below(128), tool, arguments, created);
        record.status = [
            TaskStatus::Working,
            TaskStatus::InputRequired,
            TaskStatus::Completed,
            TaskStatus::Failed,
            TaskStatus::Cancelled,
        ][self.below(5)];
        record.owner = self.maybe(Self::text);
        record.last_updated_ms = self.next();
        record.ttl_ms = self.maybe(Self::next);
        record.poll_interval_ms = self.maybe(Self::next);
        record.status_message = self.maybe(Self::text);
        record.outcome = self.maybe(|random| match random.below(2) {
            0 => TaskOutcome::Result(random.json()),
            _ => TaskOutcome::Error(random.json()),
        });
        record.inputs = (0..self.below(3))
            .map(|_| TaskInput {
                key: self.next() as u32,
                request: self.json(),
                answer: self.maybe(Self::json),
            })
            .collect();
        record
    }
}
