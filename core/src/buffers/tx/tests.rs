use core::cell::Cell;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use super::*;
use crate::encode::{Addition, Additions, Base64, DisplayText, Encode, Json, With};
use crate::json::RawJson;
use crate::protocol::error::InvalidPayload;

extern crate std;

const WRITER: WriterId = WriterId::response(3, 7);
const OTHER_WRITER: WriterId = WriterId::response(3, 8);

/// Writes a frame with every kind of value that has code of its own.
fn body(writer: &mut Encoder<'_>) {
    writer.put(b"[");
    writer.string("text with \"escapes\" and \u{e9}\n");
    writer.put(b",");
    writer.put_raw("{ \"raw\" :\r\n[ 1 ] }");
    writer.put(b",\"");
    writer.put_base64(
        b"some bytes, more than one chunk of them, so that they are encoded piece by piece",
    );
    writer.put(b"\",");
    writer.unsigned(18_446_744_073_709_551_615);
    writer.put(b",");
    writer.signed(i64::MIN);
    writer.put(b",");
    writer.put_display(&1.5e-300);
    writer.put(b",\"");
    writer.display(&"\u{1f}\\");
    writer.put(b"\"]")
}

fn whole() -> Vec<u8> {
    let tx: &mut Tx<'_> = &mut TxBuffer::new([0; 1024]);
    assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Ok(()));
    tx.pending().to_vec()
}

/// Sends pending bytes, at most `most` at a time, until the call succeeds.
fn in_parts(tx: &mut Tx<'_>, most: usize) -> Vec<u8> {
    let mut sent = Vec::new();
    for _ in 0..10_000 {
        let result = tx.frame(WRITER, Revision::LATEST, &mut body);
        let n = most.min(tx.pending().len());
        sent.extend_from_slice(&tx.pending()[..n]);
        tx.advance(n);
        match result {
            Ok(()) => {
                sent.extend_from_slice(tx.pending());
                tx.advance(usize::MAX);
                assert!(tx.is_idle());
                return sent;
            }
            Err(e) => assert_eq!(e, SendError::Full),
        }
    }
    panic!("no end");
}

#[test]
fn a_frame_has_the_same_bytes_in_parts_of_any_size() {
    let whole = whole();
    assert_eq!(whole.iter().filter(|b| matches!(b, b'\n' | b'\r')).count(), 1);
    assert_eq!(whole.last(), Some(&b'\n'));
    for size in (1..=whole.len() + 1)
        .filter(|size| *size < 70 || size % 9 == 0 || size.abs_diff(whole.len()) < 3)
    {
        for most in [1, 64, usize::MAX] {
            assert_eq!(
                in_parts(&mut TxBuffer::new(&mut vec![0; size][..]), most),
                whole,
                "{size} {most}"
            );
            #[cfg(feature = "alloc")]
            assert_eq!(
                in_parts(&mut TxBuffer::with_limit(Vec::new(), size), most),
                whole,
                "{size} {most}"
            );
        }
    }
}

#[test]
fn a_frame_begins_behind_pending_bytes_or_waits_if_it_does_not_fit() {
    let whole = whole();
    for room in 0..=whole.len() {
        let mut storage = vec![0; whole.len() + 4];
        let tx: &mut Tx<'_> = &mut TxBuffer::new(&mut storage[..]);
        let before = format!("\"{}\"", "x".repeat(whole.len() + 1 - room));
        assert_eq!(tx.whole_frame(Revision::LATEST, &mut |w| w.put_raw(&before)), Ok(()));
        let taken = before.len() + 1;
        let expected = if room == whole.len() { Ok(()) } else { Err(SendError::Full) };
        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), expected, "{room}");
        assert_eq!(tx.pending().len(), taken + if expected.is_ok() { whole.len() } else { 0 });
        tx.advance(taken);
        if expected.is_err() {
            assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Ok(()));
        }
        assert_eq!(tx.pending(), whole);
    }
}

#[test]
fn other_writers_wait_while_a_frame_is_open() {
    let tx: &mut Tx<'_> = &mut TxBuffer::new([0; 16]);
    assert_eq!(tx.whole_frame(Revision::LATEST, &mut body), Err(SendError::TooLarge));
    assert!(tx.is_idle());
    assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
    assert!(tx.is_mid_frame());
    tx.advance(16);
    assert_eq!(tx.frame(OTHER_WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
    assert_eq!(tx.whole_frame(Revision::LATEST, &mut |w| w.put(b"1")), Err(SendError::Full));
    assert!(
        tx.is_open(WRITER)
            && !tx.is_open(OTHER_WRITER)
            && tx.is_mid_frame()
            && tx.pending().is_empty()
    );
    assert_eq!(in_parts(tx, 16), whole()[16..]);
    assert!(!tx.is_mid_frame());
}

/// Storage that records the sizes to which it has grown.
#[derive(Default)]
struct Growing {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

impl Storage for Growing {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
    fn try_grow(&mut self, len: usize) -> bool {
        self.sizes.push(len);
        self.bytes.resize(len, 0);
        true
    }
    fn can_grow(&self) -> bool {
        true
    }
}

#[test]
fn storage_grows_once_to_the_size_needed_and_at_least_doubles() {
    let frame = |tx: &mut Tx<'_>, len: usize| {
        let text = "x".repeat(len - 3);
        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut |w| w.string(&text)), Ok(()));
    };
    for (frames, limit, sizes) in [
        (&[1000][..], 10_000, &[1024][..]),
        (&[1000, 24], 10_000, &[1024]),
        (&[1000, 25], 10_000, &[1024, 2048]),
        (&[1000, 3000], 10_000, &[1024, 4000]),
        (&[5000, 4000, 1000], 10_000, &[5000, 10_000]),
        (&[900], 900, &[900]),
    ] {
        let mut tx = TxBuffer::with_limit(Growing::default(), limit);
        for len in frames {
            frame(&mut tx, *len);
        }
        assert_eq!(tx.storage.sizes, sizes, "{frames:?}");
        assert_eq!(
            (tx.pending().len(), tx.room()),
            (frames.iter().sum(), limit - frames.iter().sum::<usize>())
        );
    }
}

#[test]
fn storage_grows_for_streamed_parts_up_to_its_limit() {
    let mut tx = TxBuffer::with_limit(Growing { bytes: vec![0; 16], sizes: vec![] }, 10_000);
    let begin: &mut Tx<'_> = &mut tx;
    assert_eq!(begin.begin(WRITER, Revision::LATEST, &mut |w| w.put(b"[")), Ok(()));
    // Pending bytes are sent before some of the parts.
    for (len, is_sent, written, sizes) in [
        (15, false, Ok(15), &[][..]),
        (1, false, Ok(1), &[1024]),
        (5000, true, Ok(5000), &[1024, 5000]),
        (6000, false, Ok(5000), &[1024, 5000, 10_000]),
        (6000, false, Err(SendError::Full), &[1024, 5000, 10_000]),
        (6000, true, Ok(6000), &[1024, 5000, 10_000]),
    ] {
        if is_sent {
            tx.advance(usize::MAX);
        }
        let part: &mut Tx<'_> = &mut tx;
        assert_eq!(part.write_part(WRITER, &vec![b'1'; len]), written);
        assert_eq!(tx.storage.sizes, sizes, "{len}");
    }
}

#[test]
fn an_open_frame_is_abandoned_or_continued() {
    let tx: &mut Tx<'_> = &mut TxBuffer::new([0; 16]);
    assert_eq!(tx.abandon(WRITER), Ok(()));
    assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
    assert!(tx.is_mid_frame());
    // There is no room for the end of the line: nothing has changed, and the frame can still be
    // finished.
    assert_eq!(tx.abandon(WRITER), Err(SendError::Full));
    assert_eq!(tx.abandon(OTHER_WRITER), Ok(()));
    assert!(tx.is_open(WRITER));
    let first: Vec<u8> = tx.pending().into();
    tx.advance(16);
    assert_eq!([first, in_parts(tx, 16)].concat(), whole());

    assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
    assert!(tx.is_mid_frame());
    tx.advance(16);
    assert_eq!(tx.abandon(WRITER), Ok(()));
    assert_eq!(tx.pending(), b"\n");
    assert!(!tx.is_open(WRITER));
}

#[test]
fn an_invalid_value_writes_nothing_even_if_bytes_are_pending() {
    let mut failing = |writer: &mut Encoder<'_>| {
        writer.put(b"beginning");
        writer.invalid(InvalidPayload::Serialize);
    };
    for (size, pending) in [(64, &b""[..]), (16, b"1\n"), (64, b"1\n")] {
        let mut storage = [0; 64];
        let tx: &mut Tx<'_> = &mut TxBuffer::new(&mut storage[..size]);
        if !pending.is_empty() {
            assert_eq!(tx.whole_frame(Revision::LATEST, &mut |w| w.put(b"1")), Ok(()));
        }
        assert_eq!(
            tx.frame(WRITER, Revision::LATEST, &mut failing),
            Err(SendError::Invalid(InvalidPayload::Serialize))
        );
        assert!(tx.pending() == pending && !tx.is_mid_frame());
    }
}

#[test]
fn room_is_the_rest_of_the_buffer_or_of_its_limit() {
    let mut fixed = TxBuffer::new([0; 16]);
    assert!(fixed.room() == 16 && !fixed.is_mid_frame() && fixed.is_idle());
    let tx: &mut Tx<'_> = &mut fixed;
    for _ in 0..2 {
        assert_eq!(tx.whole_frame(Revision::LATEST, &mut |w| w.put(b"123")), Ok(()));
    }
    assert_eq!(tx.room(), 8);
    // Sent bytes count as room, although the rest has not been moved yet.
    tx.advance(4);
    assert_eq!((tx.room(), tx.pending()), (12, &b"123\n"[..]));
    tx.advance(usize::MAX);
    assert_eq!(tx.room(), 16);
    // Storage that grows has room up to its limit, or up to its length if that is greater.
    #[cfg(feature = "alloc")]
    for (len, limit, room) in [(0, 100, 100), (30, 100, 100), (30, 20, 30)] {
        assert_eq!(TxBuffer::with_limit(vec![0; len], limit).room(), room);
    }
}

#[test]
fn parts_are_accepted_from_the_writer_that_began_the_frame_until_its_end() {
    let (mut begin, mut end) =
        (|w: &mut Encoder<'_>| w.put(b"["), |w: &mut Encoder<'_>| w.put(b"] and a long end"));
    let tx: &mut Tx<'_> = &mut TxBuffer::new([0; 8]);
    assert_eq!(tx.write_part(WRITER, b"1"), Err(SendError::NotAllowed(NotAllowed::OutOfOrder)));
    assert_eq!(
        tx.finish(WRITER, Revision::LATEST, &mut end),
        Err(SendError::NotAllowed(NotAllowed::OutOfOrder))
    );
    assert_eq!(tx.begin(WRITER, Revision::LATEST, &mut begin), Ok(()));
    assert_eq!(
        tx.begin(WRITER, Revision::LATEST, &mut begin),
        Err(SendError::NotAllowed(NotAllowed::OutOfOrder))
    );
    assert_eq!(
        tx.write_part(OTHER_WRITER, b"1"),
        Err(SendError::NotAllowed(NotAllowed::OutOfOrder))
    );
    assert_eq!(tx.write_part(WRITER, b""), Ok(0));
    // Writes as much as fits, with line breaks as spaces.
    assert_eq!(tx.write_part(WRITER, b"1,\r\n2,3,4"), Ok(7));
    assert_eq!(tx.pending(), b"[1,  2,3");
    assert_eq!(
        (tx.write_part(WRITER, b",4"), tx.write_part(WRITER, b"")),
        (Err(SendError::Full), Ok(0))
    );
    tx.advance(6);
    assert_eq!((tx.write_part(WRITER, b",4,5"), tx.pending()), (Ok(4), &b",3,4,5"[..]));
    tx.advance(2);
    // This part fits exactly, behind pending bytes, after others were sent.
    assert_eq!((tx.write_part(WRITER, b",6,7"), tx.pending()), (Ok(4), &b",4,5,6,7"[..]));
    tx.advance(usize::MAX);
    // The end is longer than the buffer: once it has begun, no more parts are accepted.
    assert_eq!(tx.finish(WRITER, Revision::LATEST, &mut end), Err(SendError::Full));
    assert!(tx.is_mid_frame());
    assert_eq!(tx.write_part(WRITER, b"8"), Err(SendError::NotAllowed(NotAllowed::OutOfOrder)));
    tx.advance(usize::MAX);
    assert_eq!(tx.finish(WRITER, Revision::LATEST, &mut end), Err(SendError::Full));
    assert!(tx.is_mid_frame());
    tx.advance(usize::MAX);
    assert_eq!((tx.finish(WRITER, Revision::LATEST, &mut end), tx.pending()), (Ok(()), &b"\n"[..]));
    // A frame that is not streamed accepts no parts.
    tx.advance(usize::MAX);
    assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
    assert!(tx.is_mid_frame());
    tx.advance(usize::MAX);
    assert_eq!(tx.write_part(WRITER, b"1"), Err(SendError::NotAllowed(NotAllowed::OutOfOrder)));
}

#[test]
fn writer_ids_are_distinct_and_show_responses_and_application_messages() {
    let (most, last) = (u32::MAX, u16::MAX - 1);
    let mut writers = vec![
        (WriterId::UNKEYED, false, false),
        (WriterId::AUTOMATIC_RESPONSE, false, true),
        (WriterId::PING, false, false),
    ];
    writers.push((WriterId::CONNECT, false, false));
    for number in [0, 1, most] {
        writers.extend([
            (WriterId::application(number), true, false),
            (WriterId::cancel(number), false, false),
        ]);
        writers.push((WriterId::timeout_cancel(number), false, false));
        for slot in [0, 1, last] {
            writers.extend([
                (WriterId::subscription(slot, number), false, false),
                (WriterId::timeout_error(slot, number), false, true),
            ]);
            writers.extend([(WriterId::response(slot, number), false, true)]);
            writers.extend([(WriterId::replacement(slot, number), false, true)]);
        }
    }
    for (at, (writer_id, sent, response)) in writers.iter().enumerate() {
        assert_eq!(
            (writer_id.is_application(), writer_id.is_response()),
            (*sent, *response),
            "{writer_id:?}"
        );
        assert!(writers.iter().skip(at + 1).all(|(other, ..)| other != writer_id), "{writer_id:?}");
    }
}

#[test]
fn every_frame_is_too_large_for_an_empty_buffer() {
    let tx: &mut Tx<'_> = &mut TxBuffer::new([0; 0]);
    assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::TooLarge));
    assert_eq!(tx.abandon(WRITER), Ok(()));
    assert!(tx.is_idle() && String::from_utf8_lossy(tx.pending()).is_empty());
}

/// A value with everything that a path goes through, deeper than its levels.
struct Deep;

impl Encode for Deep {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("text \"1\"", &"a\u{1}b\n\u{e9}".repeat(90));
        to.member("lists", &[vec![1_u16, 22, 333], vec![], vec![4444; 70]]);
        to.member("json", &RawJson::parse(&"[1,\r\n 2]".replace('2', &"2".repeat(500))).unwrap());
        to.member("iterator", &With(|to: &mut Encoder<'_>| to.array((0..60_u16).map(|n| n * n))));
        to.member("serde", &Json((vec![vec![5; 30]; 4], Some("\t".repeat(260)), [1.5, 2.5])));
        to.member("bytes", &Base64(&[9; 500]));
        to.member(
            "formatted",
            &DisplayText(&format_args!("{}{:?}", "\u{1f}".repeat(290), [7; 99])),
        );
        if to.key("nested") {
            (0..12).for_each(|_| {
                to.begin_array();
                let _ = to.element(0);
            });
            [("\"".repeat(300)), String::from("b")].encode(to);
            (0..12).for_each(|_| to.end_array());
        }
        to.member("empty", &[0_u8; 0]);
        to.end_object();
    }
}

fn frame<T: Encode>(tx: &mut Tx<'_>, value: &T) -> SendResult {
    tx.frame(WRITER, Revision::LATEST, &mut |to| {
        let added = [Addition { name: "resultType", value: &"x", is_reserved: false }; 1];
        to.put(b"{\"result\":");
        to.completed(value, &Additions { members: &added, meta: &added, ..Additions::NONE });
        to.put(b"}");
    })
}

/// Sends a value through a buffer of `size` bytes; `between` is called between two pieces.
fn sent<T: Encode>(size: usize, value: &T, mut between: impl FnMut()) -> SendResult<Vec<u8>> {
    let mut storage = vec![0; size];
    let tx: &mut Tx<'_> = &mut TxBuffer::new(&mut storage[..]);
    let mut sent = Vec::new();
    loop {
        let result = frame(tx, value);
        sent.extend_from_slice(tx.pending());
        tx.advance(usize::MAX);
        match result {
            Err(SendError::Full) => between(),
            result => return result.map(|()| sent),
        }
    }
}

/// Sends a value through buffers of many sizes. Returns the frame.
fn sent_by_all<T: Encode>(value: &T) -> String {
    let whole = sent(1 << 14, value, || {}).unwrap();
    for size in (1..=300).chain((301..whole.len() + 2).step_by(37)) {
        assert_eq!(sent(size, value, || {}).unwrap(), whole, "{size}");
    }
    String::from_utf8(whole).unwrap()
}

#[test]
fn a_value_goes_on_at_its_element_in_pieces_of_any_size() {
    assert!(RawJson::parse(&sent_by_all(&Deep)).is_ok());
}

#[test]
fn a_value_of_serde_goes_on_at_its_element_in_pieces_of_any_size() {
    #[derive(serde::Serialize)]
    enum Variant {
        One(Vec<u16>),
        Two(&'static str, [u8; 9]),
        Struct { list: Vec<u16> },
    }
    #[derive(serde::Serialize)]
    struct Found {
        list: Vec<Vec<u16>>,
        _meta: Variant,
        variants: Vec<Variant>,
        last: u8,
    }
    let list = || (1000..1030).collect::<Vec<u16>>();
    let found = |meta| Found {
        list: vec![list(); 3],
        _meta: meta,
        variants: vec![Variant::One(list()), Variant::Two("two", [7; 9])],
        last: 1,
    };
    for variant in [
        || Variant::One((0..90).collect()),
        || Variant::Two("a long text".repeat(9).leak(), [255; 9]),
        || Variant::Struct { list: (0..90).collect() },
    ] {
        for text in [sent_by_all(&Json(variant())), sent_by_all(&Json(found(variant())))] {
            let result = RawJson::parse(&text).unwrap().get("result").unwrap();
            // Members that the server adds come behind.
            assert!(result.get("resultType").is_some(), "{text}");
            assert!(result.get("_meta").is_some_and(|meta| meta.get("resultType").is_some()));
        }
    }
    for size in [1, 10, 1 << 14] {
        let refused = Err(SendError::Invalid(InvalidPayload::NotAnObject));
        assert_eq!(sent(size, &Json(list()), || panic!("a part was sent")), refused, "{size}");
    }
}

/// Sends a value that changes after `change` pieces. Returns whether it was noticed; otherwise what
/// was sent is JSON.
fn is_noticed<T: Encode>(size: usize, value: &T, counter: &Cell<usize>, change: usize) -> bool {
    let mut pieces = 0;
    counter.set(0);
    let result = sent(size, value, || {
        pieces += 1;
        counter.set(usize::from(pieces >= change));
    });
    match result {
        Err(error) => assert_eq!(error, SendError::Invalid(InvalidPayload::Changed)),
        Ok(ref sent) => {
            let text = std::str::from_utf8(sent).expect("UTF-8");
            assert!(RawJson::parse(text).is_ok(), "{size} {change}");
        }
    }
    result.is_err()
}

#[test]
fn a_text_that_is_formatted_differently_between_two_pieces_is_noticed() {
    /// The first bytes of it change, its last ones, or its length.
    struct Formatted<'x>(&'x Cell<usize>, fn(usize) -> String);
    impl Encode for Formatted<'_> {
        fn encode(&self, to: &mut Encoder<'_>) {
            to.begin_object();
            to.member("text", &DisplayText(&format_args!("{}é", (self.1)(self.0.get()))));
            to.end_object();
        }
    }
    let counter = Cell::new(0);
    for size in (1..300).step_by(7) {
        // More than the shorter text has been sent, and less than the longer one.
        for change in (60 / size + 1..900 / size).step_by(1 + 60 / size) {
            let shorter = Formatted(&counter, |n| "é".repeat(500 - n * 490));
            assert!(is_noticed(size, &shorter, &counter, change), "{size} {change}");
            let other = Formatted(&counter, |n| if n == 0 { "\\" } else { "7" }.repeat(500));
            assert!(is_noticed(size, &other, &counter, change), "{size} {change}");
            let shifted = Formatted(&counter, |n| "x".repeat(n) + &"€\n".repeat(200));
            is_noticed(size, &shifted, &counter, change);
        }
    }
}

#[test]
fn a_value_that_changes_between_two_pieces_is_noticed() {
    struct Sensor<'x>(&'x Cell<usize>);
    impl Encode for Sensor<'_> {
        fn encode(&self, to: &mut Encoder<'_>) {
            let n = self.0.get();
            let list: Vec<_> = (0..40 - n).map(|at| format!("{at}-{}", n * 17)).collect();
            to.begin_object();
            to.member("list", &list);
            to.member("text", &"\n".repeat(800 - n));
            to.member("digits", &"7".repeat(90 - n));
            to.end_object();
        }
    }
    let counter = Cell::new(0);
    for size in (8..200).step_by(11) {
        for change in 1..30 {
            // Between two elements a value may change.
            is_noticed(size, &Sensor(&counter), &counter, change);
        }
    }
}
