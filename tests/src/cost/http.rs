//! Heads, bodies and event streams.

use std::hint::black_box;

use mcp_sansio::RawJson;
use mcp_sansio::http::ResponseHead;
use mcp_sansio::http::client::{Origin, challenges};
use mcp_sansio::http::param_headers::header_params;
use mcp_sansio::http::server::{ReplayBuffer, StreamRecorder};
use mcp_sansio::http::sse::EventReader;
use mcp_sansio_http1::{RequestReader, ResponseReader};

use super::{Table, Work, join};
use crate::codec::{events, requests, responses};

const ALL: &[usize] = &[usize::MAX];
const SINGLY: &[usize] = &[1];
const BY_64: &[usize] = &[64];

pub(super) const CASES: &Table = &[
    ("request: bytes of a field, one by one", |n| {
        request(format!("GET / HTTP/1.1\r\nHost: a\r\nx: {}\r\n\r\n", "a".repeat(10 * n)), SINGLY)
    }),
    ("request: bytes of a target, one by one", |n| {
        request(format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(10 * n)), SINGLY)
    }),
    ("request: fields, one byte at a time", |n| {
        request(format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(n)), SINGLY)
    }),
    ("request: fields", |n| {
        request(format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(n)), ALL)
    }),
    ("request: commas of a field", |n| {
        request(
            format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: {}\r\n\r\n", "x, ".repeat(n)),
            ALL,
        )
    }),
    ("request: empty lines in front", |n| request("\r\n".repeat(10 * n), ALL)),
    ("request: empty lines in front, one byte at a time", |n| {
        request("\r\n".repeat(10 * n), SINGLY)
    }),
    ("request: bytes of a body, one by one", |n| {
        request(
            format!(
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}",
                10 * n,
                "a".repeat(10 * n)
            ),
            SINGLY,
        )
    }),
    ("request: chunks", |n| request(chunked(n), ALL)),
    ("request: chunks, one byte at a time", |n| request(chunked(n), SINGLY)),
    ("request: requests behind each other", |n| {
        request("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(n), ALL)
    }),
    ("response: bytes of a field, one by one", |n| {
        response(format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "a".repeat(10 * n)), SINGLY)
    }),
    ("response: interim responses", |n| response("HTTP/1.1 100 Continue\r\n\r\n".repeat(n), ALL)),
    ("response: a body up to the end", |n| {
        response(format!("HTTP/1.1 200 OK\r\n\r\n{}", "a".repeat(10 * n)), SINGLY)
    }),
    ("events: lines of data", |n| event_stream(format!("{}\n", "data: x\n".repeat(n)), ALL)),
    ("events: lines of data, one byte at a time", |n| {
        event_stream(format!("{}\n", "data: x\n".repeat(n)), SINGLY)
    }),
    ("events: bytes of a line, one by one", |n| {
        event_stream(format!("data: {}\n\n", "x".repeat(10 * n)), SINGLY)
    }),
    ("events: comments", |n| event_stream(":\n".repeat(10 * n), BY_64)),
    ("events: empty lines", |n| event_stream("\n".repeat(10 * n), BY_64)),
    ("events: ids and times", |n| {
        event_stream("id: 1\nretry: 5\nevent: x\nother\n".repeat(n), BY_64)
    }),
    ("events: events", |n| event_stream("data: x\n\n".repeat(n), BY_64)),
    ("events: an event longer than the buffer", |n| {
        event_stream(format!("data: {}\n\n", "x".repeat(70_000 + 10 * n)), BY_64)
    }),
    ("replay: an event", |n| {
        let event = format!("data: {}\n\n", "x".repeat(64 * n)).into_bytes();
        Work::new(event.len(), move || {
            ReplayBuffer::with_limit(Vec::new(), 1 << 20)
                .record(&mut StreamRecorder::new(1), &event)
        })
    }),
    ("replay: an event, one byte at a time", |n| {
        let event = format!("data: {}\n\n", "x".repeat(10 * n)).into_bytes();
        Work::new(event.len(), move || {
            let (mut replay, mut recording) =
                (ReplayBuffer::with_limit(Vec::new(), 1 << 12), StreamRecorder::new(1));
            event.chunks(1).for_each(|byte| replay.record(&mut recording, byte));
        })
    }),
    ("replay: events, and all of them again", |n| {
        let all = "data: x\n\n".repeat(n).into_bytes();
        Work::new(all.len(), move || {
            let (mut replay, mut recording) =
                (ReplayBuffer::with_limit(Vec::new(), 1 << 30), StreamRecorder::new(1));
            replay.record(&mut recording, &all);
            let mut cursor = replay.read_stream(1);
            while let Ok(Some(parts)) = replay.next_part(&mut cursor) {
                black_box(parts);
            }
        })
    }),
    ("arguments: none of them in a field", |n| {
        let properties = join(n, |at| format!(r#""p{at}":{{"type":"string"}}"#));
        let schema = format!(r#"{{"type":"object","properties":{{{properties}}}}}"#);
        let arguments = format!("{{{}}}", join(n, |at| format!(r#""p{at}":"a""#)));
        Work::new(schema.len() + arguments.len(), move || {
            let [schema, arguments] = [&schema, &arguments].map(|text| RawJson::parse(text));
            assert_eq!(header_params(schema.unwrap(), arguments.unwrap()).count(), 0);
        })
    }),
    ("challenge: parameters", |n| {
        challenge(format!("Bearer {}", join(n, |at| format!("p{at}=\"v\""))))
    }),
    ("challenge: challenges", |n| challenge(join(n, |at| format!("Scheme{at} a=b")))),
    ("challenge: an open quote", |n| challenge(format!("Bearer {}\"", "a=b,".repeat(n)))),
    ("url: segments of a path", |n| {
        let url = format!("http://localhost/{}", "a/../".repeat(n));
        let reference = "../".repeat(n);
        Work::new(url.len() + reference.len(), move || {
            let (origin, target) = Origin::parse(&url).unwrap();
            black_box(origin.resolve(target, &reference).is_ok());
        })
    }),
];

fn chunked(n: usize) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        "1\r\na\r\n".repeat(n)
    )
}

fn request(text: String, sizes: &'static [usize]) -> Work {
    Work::new(text.len(), move || {
        black_box(requests(RequestReader::with_limit(Vec::new(), 1 << 30), text.as_bytes(), sizes));
    })
}

fn response(text: String, sizes: &'static [usize]) -> Work {
    Work::new(text.len(), move || {
        black_box(responses(
            ResponseReader::with_limit(Vec::new(), 1 << 30),
            &["GET"],
            text.as_bytes(),
            sizes,
        ));
    })
}

fn event_stream(text: String, sizes: &'static [usize]) -> Work {
    Work::new(text.len(), move || {
        let limit = if text.len() > 70_000 && sizes == BY_64 { 4096 } else { 1 << 30 };
        black_box(events(EventReader::with_limit(Vec::new(), limit), text.as_bytes(), sizes));
    })
}

fn challenge(value: String) -> Work {
    Work::new(value.len(), move || {
        let fields = [("www-authenticate", value.as_str())];
        let head = ResponseHead::new(401, &fields);
        black_box(
            challenges(&head)
                .map(|challenge| challenge.get("zz").is_some() as usize + challenge.iter().count())
                .sum::<usize>(),
        );
    })
}
