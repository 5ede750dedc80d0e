//! The buffer of an event stream: the parts kept when it is too small, and its room.

use mcp_sansio::http::sse::EventReader;
use mcp_sansio::{Frame, Storage};
use mcp_sansio_tests::codec::read_events;

fn put(reader: &mut EventReader<impl Storage>, bytes: &[u8]) {
    reader.spare()[..bytes.len()].copy_from_slice(bytes);
    reader.commit(bytes.len());
}

/// Data as it is lent: whole, or its beginning and its end.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Lent {
    Whole(String),
    Ends(String, String),
}

fn read(reader: &mut EventReader<impl Storage>, bytes: &[u8], chunk: usize) -> Vec<Lent> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    read_events(reader, bytes, &[chunk], |event| match event.data {
        Frame::Complete(data) => Lent::Whole(text(data)),
        Frame::Oversized { prefix, tail } => Lent::Ends(text(prefix), text(tail)),
    })
}

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

#[test]
fn a_buffer_of_any_size_keeps_the_ends_of_data() {
    for cap in 32..130 {
        for (first, chunk) in
            (0..LETTERS.len()).flat_map(|first| [(first, 1), (first, 3), (first, 1000)])
        {
            let (first, second) = (&LETTERS[..first], &LETTERS[..first / 2]);
            let stream = format!("data: {first}\nid: 5\ndata: {second}!\n\ndata: next\n\n");
            let whole = format!("{first}\n{second}!");
            let mut storage = vec![0; cap];
            let lent = read(&mut EventReader::new(&mut storage[..]), stream.as_bytes(), chunk);
            assert_eq!(lent[1..], [Lent::Whole("next".to_owned())], "{cap} {first}");
            match &lent[0] {
                Lent::Whole(data) => assert_eq!(*data, whole),
                Lent::Ends(prefix, tail) => {
                    let (prefix, tail) = (prefix.as_str(), tail.as_str());
                    let are_ends = whole.starts_with(prefix) && whole.ends_with(tail);
                    assert!(are_ends, "{cap} {first} {lent:?}");
                    let fits = tail.len() + prefix.len() <= whole.len();
                    assert!(prefix.len() == cap / 2 && fits, "{cap} {first} {lent:?}");
                }
            }
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_fills_up_without_a_panic() {
    for cap in 0..32 {
        let mut storage = vec![0; cap];
        let mut reader = EventReader::new(&mut storage[..]);
        for byte in format!("data: {LETTERS}\nid: 5\nevent: x\ndata: {LETTERS}\n\n").bytes() {
            let Some(place) = reader.spare().first_mut() else { break };
            *place = byte;
            reader.commit(1);
            while reader.next_event().is_some() {}
        }
    }
}

#[test]
fn data_that_fills_three_quarters_of_a_full_buffer_does_not_fit() {
    for len in 1..58 {
        let data = &LETTERS[..len];
        let stream = format!("data: {data}\n:{}\n\n", "x".repeat(70));
        let expected = match len {
            ..48 => Lent::Whole(data.to_owned()),
            _ => {
                Lent::Ends(data[..32].to_owned(), data[len.saturating_sub(16).max(32)..].to_owned())
            }
        };
        let lent = read(&mut EventReader::new([0; 64]), stream.as_bytes(), usize::MAX);
        assert_eq!(lent, [expected], "{len}");
    }
}

#[test]
fn half_of_the_buffer_is_kept_of_the_beginning_of_data_and_a_quarter_of_its_end() {
    let mut reader = EventReader::new([0; 64]);
    let data = LETTERS.repeat(5);
    let mut rest = data.as_bytes();
    put(&mut reader, b"data: ");
    for room in [58, 16, 16, 16, 16, 16] {
        assert_eq!(reader.spare().len(), room);
        put(&mut reader, &rest[..room]);
        rest = &rest[room..];
        assert!(reader.next_event().is_none());
    }
    assert_eq!(reader.spare().len(), 16);
    put(&mut reader, b"\n\n");
    let (data, taken) = (data.as_bytes(), data.len() - rest.len());
    let ends = Frame::Oversized { prefix: &data[..32], tail: &data[taken - 16..taken] };
    assert_eq!(reader.next_event().unwrap().data, ends);
}

#[test]
fn an_ignored_line_frees_its_room() {
    let mut reader = EventReader::new([0; 64]);
    for _ in 0..3 {
        put(&mut reader, &[b':'; 64]);
        assert!(reader.next_event().is_none());
        assert_eq!(reader.spare().len(), 64);
    }
    assert_eq!(read(&mut reader, b"\ndata: a\n\n", 64), [Lent::Whole("a".to_owned())]);
}

/// Returns the room behind the bytes read, and the bytes read but not parsed.
fn room<S: Storage>(mut reader: EventReader<S>, read: usize, waiting: usize) -> usize {
    // A comment, and a line that has no end.
    let line = format!(":{}\n", "c".repeat(read.saturating_sub(2)));
    let event = format!("data: {}\n\n", "e".repeat(read.saturating_sub(8)));
    if waiting == 0 {
        put(&mut reader, line.as_bytes());
        assert!(reader.next_event().is_none());
    } else {
        put(&mut reader, &[event.as_bytes(), &b"w".repeat(waiting)].concat());
        assert!(reader.next_event().is_some());
    }
    reader.spare().len()
}

#[test]
fn waiting_bytes_move_when_as_many_are_consumed_and_half_the_room_is_used() {
    for (read, waiting, expected) in [
        (31, 0, 33),
        (32, 0, 64),
        (64, 0, 64),
        // At most as many bytes were consumed as are waiting.
        (24, 24, 40),
        (24, 25, 15),
        (30, 10, 54),
        (20, 10, 34),
        (9, 30, 25),
        // Moving the bytes would cost too much: the event must be taken first.
        (9, 55, 0),
    ] {
        assert_eq!(room(EventReader::new([0; 64]), read, waiting), expected, "{read} {waiting}");
    }
    // Data of an unfinished event is not consumed.
    for (waiting, expected) in [(7, 22), (8, 14)] {
        let mut reader = EventReader::new([0; 32]);
        put(&mut reader, b"data: aaa\n");
        assert!(reader.next_event().is_none());
        put(&mut reader, &b"w".repeat(waiting));
        assert_eq!(reader.spare().len(), expected, "{waiting}");
    }
    // One consumed byte gives room, too.
    let mut reader = EventReader::new([0; 64]);
    put(&mut reader, format!("\n{LETTERS}").as_bytes());
    assert!(reader.next_event().is_none());
    assert_eq!(reader.spare().len(), 64 - LETTERS.len());
}

#[test]
fn storage_grows_when_a_quarter_is_left_and_up_to_its_limit() {
    let growing = |len: usize, limit: usize, filled: usize| {
        let mut reader = EventReader::with_limit(vec![0; len], limit);
        put(&mut reader, &b"x".repeat(filled));
        assert!(reader.next_event().is_none());
        reader.spare().len()
    };
    assert!(EventReader::new(Vec::new()).spare().is_empty());
    for (len, limit, filled, expected) in [
        (0, 5000, 0, 1024),
        (64, 256, 47, 17),
        (64, 256, 48, 208),
        (64, 256, 64, 192),
        (64, 65, 64, 1),
        (64, 64, 63, 1),
    ] {
        assert_eq!(growing(len, limit, filled), expected, "{len} {limit} {filled}");
    }
    // The waiting bytes need no more room until there is none.
    assert_eq!(room(EventReader::with_limit(vec![0; 64], 256), 9, 43), 12);
    assert_eq!(room(EventReader::with_limit(vec![0; 64], 256), 9, 55), 192);
}

#[test]
fn a_new_stream_starts_without_state_of_the_previous_one() {
    for half in [
        "data: half\n",
        "data: half",
        "da",
        "event: endpoint\ndata: x\n",
        "id: 7\n",
        "data: x\r",
        "data: x\n\ndata: y\n\n",
        &format!(":{}", LETTERS.repeat(2)),
        &format!("data: {}", LETTERS.repeat(2)),
        &format!("data: {}\n", LETTERS.repeat(2)),
    ] {
        for stream in ["data: a\n\n", "\ndata: a\n\n", "\n\ndata: a\n\n", "\u{feff}data: a\n\n"] {
            let mut reader = EventReader::new([0; 64]);
            let _ = read(&mut reader, half.as_bytes(), 64);
            reader.restart();
            assert_eq!(reader.spare().len(), 64);
            let lent = read(&mut reader, stream.as_bytes(), 64);
            assert_eq!(lent, [Lent::Whole("a".to_owned())], "{half:?} {stream:?}");
            assert_eq!(reader.last_event_id(), None);
        }
    }
}
