//! Event streams, in any chunking, against a model that follows the standard character by
//! character, without a limit for memory.

use mcp_sansio::http::sse::{EventKind, EventReader, MAX_EVENT_ID};
use mcp_sansio::{Frame, Storage};
use mcp_sansio_tests::codec::{events_survive, read_events};
use mcp_sansio_tests::random::Random;

/// An event as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Seen {
    Whole(EventKind, String),
    Oversized,
}

/// Everything read from a stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Told {
    events: Vec<Seen>,
    id: Option<String>,
    retry: Option<u128>,
}

fn read(reader: &mut EventReader<impl Storage>, stream: &[u8], sizes: &[usize]) -> Told {
    let events = read_events(reader, stream, sizes, |event| match event.data {
        Frame::Complete(data) => Seen::Whole(event.kind, String::from_utf8(data.to_vec()).unwrap()),
        Frame::Oversized { .. } => Seen::Oversized,
    });
    let id = reader.last_event_id().map(str::to_owned);
    Told { events, id, retry: reader.retry().map(|retry| retry.as_millis()) }
}

/// Reads a stream through a buffer of 256 bytes.
fn read_small(stream: &str, sizes: &[usize]) -> Told {
    read(&mut EventReader::new([0; 256]), stream.as_bytes(), sizes)
}

fn model(stream: &str) -> Told {
    let text =
        stream.strip_prefix('\u{feff}').unwrap_or(stream).replace("\r\n", "\n").replace('\r', "\n");
    let mut told = Told::default();
    let (mut data, mut kind, mut id): (Vec<&str>, _, _) = (Vec::new(), EventKind::Message, None);
    let Some(complete) = text.rfind('\n') else { return told };
    for line in text[..complete].split('\n') {
        if line.is_empty() {
            if let Some(id) = id.take() {
                told.id = Some(id).filter(|id: &String| !id.is_empty() && id.len() <= MAX_EVENT_ID);
            }
            let joined = std::mem::take(&mut data).join("\n");
            if !joined.is_empty() {
                told.events.push(Seen::Whole(kind, joined));
            }
            kind = EventKind::Message;
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => data.push(value),
            "event" => {
                kind = match value {
                    "" | "message" => EventKind::Message,
                    "endpoint" => EventKind::Endpoint,
                    _ => EventKind::Other,
                }
            }
            "id" if !value.contains('\0') => id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                told.retry = Some(value.parse::<u128>().unwrap().min(u32::MAX.into()));
            }
            _ => {}
        }
    }
    told
}

const STREAMS: [&str; 14] = [
    "data: {\"jsonrpc\":\"2.0\"}\n\n",
    "event: message\r\nid: 1\r\ndata: a\r\n\r\nid: 2\r\ndata: b\r\n\r\n",
    "event: endpoint\rdata: /messages?id=1\r\rdata: x\r\r",
    "\u{feff}data: after a mark\n\ndata:\u{feff}inside\n\n",
    "id: 7-0\nretry: 500\ndata: \n\ndata: 1\n\n",
    ": comment\n\n:\n\n: more\ndata: x\n: between\ndata: y\n\n",
    "data: one\ndata:two\ndata:  three\ndata\n\ndata:\n\ndata\ndata\n\n",
    "id: 1\ndata: a\n\nid\ndata: b\n\nid: nul\0\ndata: c\n\nid: 9\n\n",
    "event: other\ndata: x\n\nevent: other\n\ndata: y\n\nunknown: field\nwithout colon\ndata: z\n\n",
    "retry: 10\nretry: x\nretry:\nretry: -1\nretry: 99999999999999999999\ndata: a\n\n",
    "\n\n\n\r\n\r\r\ndata: a\n\r\ndata: b\r\n\n",
    "data: a\nid: late\nevent: endpoint\ndata: b\n\n",
    "data: cut\nid: 4\n",
    "data: caf\u{e9} \u{4e16}\u{754c}\n\ndata: cut off at the en",
];

#[test]
fn sse_11_http_36_sse_10_streams_mean_the_same_in_any_chunking() {
    for stream in STREAMS {
        let expected = model(stream);
        for chunk in 1..=stream.len() {
            let mut grows = EventReader::with_limit(Vec::new(), 4096);
            assert_eq!(read(&mut grows, stream.as_bytes(), &[chunk]), expected);
            for sizes in [&[chunk][..], &[chunk, usize::MAX]] {
                assert_eq!(read_small(stream, sizes), expected, "{stream:?} {chunk}");
            }
        }
    }
    // All of them in one stream. A byte order mark counts at the start only; elsewhere it belongs
    // to the line.
    let all = STREAMS.concat();
    for chunk in [1, 2, 3, 7, 64, 4096] {
        let told = read(&mut EventReader::new([0; 512]), all.as_bytes(), &[chunk]);
        assert_eq!(told, model(&all), "{chunk}");
    }
}

#[test]
fn sse_11_the_beginning_of_an_event_is_no_event() {
    for stream in STREAMS {
        for cut in (0..stream.len()).filter(|cut| stream.is_char_boundary(*cut)) {
            let told = read_small(&stream[..cut], &[usize::MAX]);
            let (expected, whole) = (model(&stream[..cut]), model(stream));
            assert_eq!(told, expected, "{stream:?} {cut}");
            assert!(whole.events.starts_with(&told.events), "{stream:?} {cut}");
        }
    }
}

#[test]
fn sse_11_an_event_that_is_too_long_is_reported_and_later_ones_are_not_lost() {
    for len in [200, 300, 1000, 5000] {
        let long = "x".repeat(len);
        for stream in [
            format!("data: {long}\n\ndata: next\n\n"),
            format!("data: a\ndata: {long}\ndata: b\n\ndata: next\n\n"),
            format!("data: {long}\ndata: {long}\nid: 5\n\ndata: next\n\n"),
            format!("\u{feff}data: {long}\n\ndata: next\n\n"),
        ] {
            for chunk in [1, 2, 5, 63, 64, 65, 10_000] {
                let told = read(&mut EventReader::new([0; 128]), stream.as_bytes(), &[chunk]);
                let expected = [Seen::Oversized, Seen::Whole(EventKind::Message, "next".into())];
                assert_eq!(told.events, expected, "{chunk} {stream}");
            }
        }
        // These lines are ignored, however long they are.
        let stream = format!(": {long}\ndata: a\nunknown: {long}\nid: {long}\ndata: b\n\n");
        for chunk in [1, 2, 5, 64, 10_000] {
            let told = read(&mut EventReader::new([0; 128]), stream.as_bytes(), &[chunk]);
            let event = Seen::Whole(EventKind::Message, "a\nb".into());
            assert_eq!((told.events, told.id), (vec![event], None), "{chunk} {len}");
        }
    }
}

#[test]
fn sse_03_ids_and_times_outlive_a_stream_and_half_an_event_does_not() {
    let mut reader = EventReader::new([0; 256]);
    let first =
        read(&mut reader, b"id: 1\nretry: 300\ndata: a\n\nid: 2\ndata: half", &[usize::MAX]);
    assert_eq!((first.id.as_deref(), first.retry, first.events.len()), (Some("1"), Some(300), 1));
    reader.restart();
    let second = read(&mut reader, b" an event\n\ndata: b\n\n", &[usize::MAX]);
    assert_eq!(second.events, [Seen::Whole(EventKind::Message, "b".into())]);
    assert_eq!((second.id.as_deref(), second.retry), (Some("1"), Some(300)));
}

#[test]
fn sse_11_noise_never_panics_and_reads_the_same_in_any_chunking() {
    let mut random = Random::new(1);
    let mut next = |n: usize| random.below(n);
    const PARTS: [&str; 14] = [
        "data: ",
        "data",
        ":",
        "\n",
        "\r",
        "\r\n",
        "id: ",
        "event: endpoint",
        "x",
        "retry: 5",
        "\u{feff}",
        " ",
        "0123456789abcdef",
        "\n\n",
    ];
    for _ in 0..3000 {
        let stream: String = (0..next(40)).map(|_| PARTS[next(PARTS.len())]).collect();
        let expected = model(&stream);
        let sizes: Vec<usize> = (0..5).map(|_| 1 + next(20)).collect();
        let told = read(&mut EventReader::new([0; 1024]), stream.as_bytes(), &sizes);
        assert_eq!(told, expected, "{stream:?} {sizes:?}");
        events_survive(&[&[next(256) as u8], stream.as_bytes()].concat());
    }
}

#[test]
fn sse_11_a_buffer_at_its_limit_still_has_room() {
    for (limit, len) in [(1024, 5000), (10_000, 50_000), (3000, 3000)] {
        for chunk in [1, 100, 4096] {
            let stream = format!("data: {}\n\ndata: next\n\n", "x".repeat(len));
            let mut reader = EventReader::with_limit(Vec::new(), limit);
            let told = read(&mut reader, stream.as_bytes(), &[chunk]);
            let expected = [Seen::Oversized, Seen::Whole(EventKind::Message, "next".into())];
            assert_eq!(told.events, expected, "{limit} {chunk}");
        }
    }
}
