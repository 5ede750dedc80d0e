//! The HTTP/1.1 codec: every split, every truncation, and every ambiguous message.

use mcp_sansio::http::Fields;
use mcp_sansio::http::server::HostPolicy;
use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    ErrorCode, Instant, InvalidPayload, NotAllowed, RpcError, SendError, ServerConfig, ServerEvent,
    ServerFeatures,
};
use mcp_sansio_http1::{
    Access, BodyLength, ChunkHeader, Collected, Exchange, HeadWriter, LAST_CHUNK,
    MAX_CHUNK_OVERHEAD, MAX_EMPTY_LINES, MAX_HEAD, OwnedFields, Part, RequestReader,
    ResponseReader,
};
use mcp_sansio_tests::codec::{Read, fill, put, requests, responses, survives};
use mcp_sansio_tests::random::Random;

const ALL: &[usize] = &[usize::MAX];

fn read_requests(bytes: &str, sizes: &[usize]) -> Read {
    requests(RequestReader::with_limit(Vec::new(), 4096), bytes.as_bytes(), sizes)
}

fn read_responses(methods: &[&str], bytes: &str, sizes: &[usize]) -> Read {
    responses(ResponseReader::with_limit(Vec::new(), 4096), methods, bytes.as_bytes(), sizes)
}

/// Input with requests, and the head and body of each.
const REQUESTS: [(&str, &[(&str, &str)]); 12] = [
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", &[("GET / (false, false, None)", "")]),
    ("GET /a?b=c HTTP/1.0\r\n\r\n", &[("GET /a?b=c (true, false, None)", "")]),
    (
        "POST /mcp HTTP/1.1\r\nHost: a:80\r\nContent-Length: 5\r\n\r\nhello",
        &[("POST /mcp (false, false, Some(5))", "hello")],
    ),
    (
        "POST / HTTP/1.1\r\nhost:\r\ncontent-length:   0  \r\n\r\n",
        &[("POST / (false, false, Some(0))", "")],
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n6;x=\"y\"\r\n world\r\n0\r\n\r\n",
        &[("POST / (false, false, None)", "hello world")],
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0000A\r\n0123456789\r\n000\r\nX-Sum: 1\r\nY:\r\n\r\n",
        &[("POST / (false, false, None)", "0123456789")],
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\nok",
        &[("POST / (false, true, Some(2))", "ok")],
    ),
    // Pipelined.
    (
        "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n2\r\n0\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
        &[
            ("POST /1 (false, false, Some(1))", "1"),
            ("POST /2 (false, false, None)", "2"),
            ("GET /3 (false, false, None)", ""),
        ],
    ),
    // The bytes after the last request are not a request.
    (
        "GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
        &[("GET /1 (false, false, None)", "")],
    ),
    ("GET /1 HTTP/1.0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n", &[("GET /1 (true, false, None)", "")]),
    (
        "GET /1 HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\nHEAD /2 HTTP/1.0\r\n\r\n",
        &[("GET /1 (true, false, None)", ""), ("HEAD /2 (true, false, None)", "")],
    ),
    (
        "\r\n\r\nDELETE * HTTP/1.1\r\nHost: [::1]:8080\r\nX: caf\u{e9}\t\r\n\r\n",
        &[("DELETE * (false, false, None)", "")],
    ),
];

/// Asserts that bytes are these messages, in pieces of all sizes.
fn mean_the_same(bytes: &str, expected: &[(&str, &str)], read: impl Fn(&[usize]) -> Read) {
    let whole = read(ALL);
    let messages = whole.messages.iter();
    let seen: Vec<_> = messages.map(|it| (&*it.head, str::from_utf8(&it.body).unwrap())).collect();
    assert_eq!(seen, expected, "{bytes:?}");
    assert!(whole.good_end && whole.error.is_none(), "{bytes:?} {whole:?}");
    assert_eq!(whole.complete().len(), seen.len(), "{bytes:?}");
    for split in 1..bytes.len() {
        assert_eq!(read(&[split, usize::MAX]), whole, "{bytes:?} {split}");
        assert_eq!(read(&[split]), whole, "{bytes:?} {split}");
    }
}

#[test]
fn requests_mean_the_same_at_every_split_point() {
    for (bytes, expected) in REQUESTS {
        mean_the_same(bytes, expected, |sizes| read_requests(bytes, sizes));
    }
    // All that keep the connection open, on one connection.
    let all = REQUESTS.iter().map(|(bytes, _)| *bytes);
    let all: String = all.filter(|it| !it.contains("1.0") && !it.contains("close")).collect();
    let whole = read_requests(&all, ALL);
    assert_eq!(whole.messages.len(), 10);
    for size in [1, 2, 3, 7, 64, 1000] {
        assert_eq!(read_requests(&all, &[size]), whole);
        assert_eq!(requests(RequestReader::new([0; 128]), all.as_bytes(), &[size]), whole);
    }
}

#[test]
fn a_truncated_request_is_never_complete() {
    for (bytes, _) in REQUESTS {
        let whole = read_requests(bytes, ALL);
        for cut in (0..bytes.len()).filter(|cut| bytes.is_char_boundary(*cut)) {
            let read = read_requests(&bytes[..cut], ALL);
            assert_eq!(read.error, None, "{bytes:?} {cut}");
            let complete = read.complete();
            let is_equal = complete.iter().zip(&whole.messages).all(|(read, whole)| *read == whole);
            assert!(is_equal, "{bytes:?} {cut}");
            // Either nothing is missing, or the end is reported as premature.
            if read.good_end {
                assert_eq!(complete.len(), read.messages.len(), "{bytes:?} {cut}");
            }
        }
    }
}

/// Rejected requests, with their status.
const REFUSED: [(&str, u16); 72] = [
    // Two lengths.
    (
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        400,
    ),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\nhello", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello", 400),
    // Invalid lengths.
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n1", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n1", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 1\r\n\r\n1", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1.0\r\n\r\n1", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999999\r\n\r\n", 400),
    // Codings.
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", 501),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        400,
    ),
    ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    // Lines.
    ("GET / HTTP/1.1\nHost: a\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
    ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n\tX: b\r\n\r\n", 400),
    // Fields.
    ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX(y): b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\u{e9}: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", 400),
    // Host.
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: user@a/b\r\n\r\n", 400),
    // Request lines.
    ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ("GET / http/1.1\r\nHost: a\r\n\r\n", 505),
    ("GET /\r\n\r\n", 400),
    ("x\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("xy\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (":\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nExpect: something\r\n\r\n", 417),
    // Chunks.
    ("\r\n5 \r\nhello\r\n0\r\n\r\n", 400),
    ("\r\n 5\r\nhello\r\n0\r\n\r\n", 400),
    ("\r\n-5\r\nhello\r\n0\r\n\r\n", 400),
    ("\r\n5\r\nhello!\r\n0\r\n\r\n", 400),
    ("\r\n5\nhello\r\n0\r\n\r\n", 400),
    ("\r\n5;a\rb\r\nhello\r\n0\r\n\r\n", 400),
    ("\r\n00000000000000005\r\nhello\r\n0\r\n\r\n", 400),
    ("\r\n5\r\nhello\r\n0\r\n X: folded\r\n\r\n", 400),
    // Sizes that overflow or are none, a line feed as extension, and NUL.
    ("\r\nfffffffffffffffff\r\n", 400),
    ("\r\ng\r\n", 400),
    ("\r\n\r\n", 400),
    ("\r\n;x\r\n", 400),
    ("\r\n5\0\r\n", 400),
    ("\r\n5;\x7f\r\n", 400),
    ("\r\n0x5\r\n", 400),
];

#[test]
fn ambiguous_messages_are_refused() {
    for (bytes, status) in REFUSED {
        let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n";
        let bytes =
            if bytes.starts_with("\r\n") { format!("{chunked}{bytes}") } else { bytes.to_owned() };
        for sizes in [ALL, &[1], &[3]] {
            let read = read_requests(&bytes, sizes);
            assert_eq!(read.status(), Some(status), "{bytes:?} {read:?}");
            assert!(read.complete().is_empty(), "{bytes:?}");
        }
    }
}

#[test]
fn limits_are_kept() {
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let long = "x".repeat(5000);
    let many: String = (0..65).map(|n| format!("X-{n}: y\r\n")).collect();
    let (extension, trailer) = (&long[..300], "X: yyyyyyyyyyyyyyyyyy\r\n".repeat(300));
    for (bytes, status) in [
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), 431),
        (format!("{chunked}5;{extension}\r\nhello\r\n0\r\n\r\n"), 400),
        (format!("{chunked}0\r\n{trailer}"), 431),
    ] {
        for sizes in [ALL, &[100], &[7]] {
            assert_eq!(read_requests(&bytes, sizes).status(), Some(status), "{bytes}");
        }
    }
    for (bytes, status) in [
        (format!("{chunked}8\r\n12345678\r\n0\r\n\r\n"), None),
        (format!("{chunked}4\r\n1234\r\n5\r\n12345\r\n0\r\n\r\n"), Some(413)),
    ] {
        let limited = RequestReader::with_limit(Vec::new(), 4096).max_body(8);
        assert_eq!(requests(limited, bytes.as_bytes(), &[3]).status(), status, "{bytes}");
    }
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let with = |n: usize| format!("{}HTTP/1.1 204 No Content\r\n\r\n", interim.repeat(n));
    assert_eq!(read_responses(&["POST"], &with(16), &[9]).status(), None);
    assert_eq!(read_responses(&["POST"], &with(17), &[9]).status(), Some(400));
}

#[test]
fn s2_few_empty_lines_stand_in_front_of_a_message() {
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let response = "HTTP/1.1 204 No Content\r\n\r\n";
    let few = "\r\n".repeat(MAX_EMPTY_LINES.into());
    for sizes in [ALL, &[1], &[3]] {
        // Before each request.
        let read = read_requests(&format!("{few}{request}{few}{request}"), sizes);
        assert_eq!((read.status(), read.complete().len()), (None, 2));
        let read = read_responses(&["GET"], &format!("{few}{response}"), sizes);
        assert_eq!((read.status(), read.complete().len()), (None, 1));
        let read = read_requests(&format!("{few}{request}\r\n{few}{request}"), sizes);
        assert_eq!((read.status(), read.complete().len()), (Some(400), 1));
        let read = read_responses(&["GET"], &format!("\r\n{few}{response}"), sizes);
        assert_eq!((read.status(), read.complete().len()), (Some(400), 0));
    }
}

#[test]
fn s2_chunk_overhead_is_limited() {
    let limit = 100_000;
    let read = |chunk: &str, times: usize| {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let reader = RequestReader::with_limit(Vec::new(), 4096).max_body(limit);
        requests(reader, format!("{head}{}0\r\n\r\n", chunk.repeat(times)).as_bytes(), &[4096])
    };
    let extended = format!("1;{}\r\nx\r\n", "a".repeat(240));
    // Of each, 5 and 246 bytes do not belong to the body.
    let room = (limit + MAX_CHUNK_OVERHEAD) as usize;
    for (chunk, around) in [("1\r\nx\r\n", 5), (&extended, 246)] {
        let times = (room - 5) / around;
        let good = read(chunk, times);
        assert_eq!((good.error, good.complete().len()), (None, 1));
        assert_eq!(good.messages[0].body.len(), times);
        assert_eq!(read(chunk, times + 1).status(), Some(413));
    }
}

#[test]
fn s4_a_head_request_is_known_even_where_it_is_refused() {
    for (bytes, expected) in [
        ("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", true),
        ("HEAD / HTTP/1.1\r\n\r\n", true),
        ("HEAD / HTTP/1.1\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("head / HTTP/1.1\r\n\r\n", false),
    ] {
        let mut reader = RequestReader::new([0; 128]);
        put(&mut reader, bytes.as_bytes());
        let _ = reader.next_part();
        assert_eq!(reader.is_head(), expected, "{bytes:?}");
    }
}

/// Responses to requests with these methods, and the head and body of each.
type Responses = (&'static [&'static str], &'static str, &'static [(&'static str, &'static str)]);
const RESPONSES: [Responses; 11] = [
    (&["GET"], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", &[("200 Some(2)", "ok")]),
    (
        &["GET"],
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        &[("200 None", "ok")],
    ),
    (&["GET"], "HTTP/1.1 200 OK\r\n\r\nuntil the end", &[("200 None", "until the end")]),
    (&["GET"], "HTTP/1.1 200 OK\r\n\r\n", &[("200 None", "")]),
    (&["GET"], "HTTP/1.0 200\r\nContent-Length: 1\r\n\r\n1", &[("200 Some(1)", "1")]),
    (&["POST"], "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", &[("202 Some(0)", "")]),
    (&["DELETE"], "HTTP/1.1 204 No Content\r\n\r\n", &[("204 None", "")]),
    (&["GET"], "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", &[("304 Some(99)", "")]),
    (&["HEAD"], "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", &[("200 Some(99)", "")]),
    (
        &["POST"],
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        &[("404 Some(2)", "no")],
    ),
    (&["POST"], "HTTP/1.1 999 \u{e9}\r\nContent-Length: 0\r\n\r\n", &[("999 Some(0)", "")]),
];

#[test]
fn responses_mean_the_same_at_every_split_point() {
    for (methods, bytes, expected) in RESPONSES {
        mean_the_same(bytes, expected, |sizes| read_responses(methods, bytes, sizes));
    }
}

#[test]
fn a_truncated_response_is_never_complete() {
    for (methods, bytes, _) in RESPONSES {
        // A body delimited by the end of the connection cannot be told from a truncated one.
        if bytes.starts_with("HTTP/1.1 200 OK\r\n\r\n") {
            continue;
        }
        for cut in (0..bytes.len()).filter(|cut| bytes.is_char_boundary(*cut)) {
            let read = read_responses(methods, &bytes[..cut], ALL);
            assert!(read.error.is_some() && read.complete().is_empty(), "{bytes:?} {cut} {read:?}");
        }
    }
}

#[test]
fn invalid_responses_are_refused() {
    for bytes in [
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n1",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n1",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1",
        "HTTP/1.1 200 OK\nContent-Length: 1\n\n1",
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n\r\n",
    ] {
        for sizes in [ALL, &[1]] {
            let read = read_responses(&["GET"], bytes, sizes);
            assert!(read.error.is_some() && read.messages.is_empty(), "{bytes:?} {read:?}");
        }
    }
}

#[test]
fn a_connection_is_not_reused_after_unrequested_bytes() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let two = [ok, ok].concat();
    // The second response came before its request.
    assert_eq!(read_responses(&["GET", "GET"], &two, ALL).messages.len(), 1);
    // The request was sent first.
    let mut reader = ResponseReader::new([0; 256]);
    for _ in 0..3 {
        assert!(reader.expect_response("GET") && !reader.has_begun());
        assert!(!reader.expect_response("GET"), "one is awaited");
        reader.spare()[..ok.len()].copy_from_slice(ok.as_bytes());
        reader.commit(ok.len());
        assert!(reader.has_begun());
        let mut parts = 0;
        while reader.next_part().unwrap().is_some() {
            parts += 1;
        }
        assert_eq!(parts, 3);
    }
    assert!(reader.is_reusable());
    for last in [
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    ] {
        let mut reader = ResponseReader::new([0; 256]);
        assert!(reader.expect_response("GET"));
        reader.spare()[..last.len()].copy_from_slice(last.as_bytes());
        reader.commit(last.len());
        while reader.next_part().unwrap().is_some() {}
        assert!(!reader.is_reusable() && !reader.expect_response("GET"));
    }
}

#[test]
fn written_values_are_read_back() {
    let mut out = [0; 512];
    let head = HeadWriter::request(&mut out, "POST", "/mcp?x=y")
        .field("host", "localhost:80")
        .field_parts("x", &[b"a", b"b"]);
    let n = head.finish(BodyLength::Chunked).unwrap();
    let mut bytes = out[..n].to_vec();
    let body: Vec<u8> = (0..1000u32).map(|n| n as u8).collect();
    for piece in [&body[..1], &body[1..17], &body[17..]] {
        bytes.extend(ChunkHeader::new(piece.len()).as_bytes());
        bytes.extend(piece);
        bytes.extend(ChunkHeader::END);
    }
    bytes.extend(LAST_CHUNK);
    for sizes in [ALL, &[1], &[64]] {
        let read = requests(RequestReader::with_limit(Vec::new(), 4096), &bytes, sizes);
        assert_eq!((read.messages.len(), read.error), (1, None));
        assert_eq!(read.messages[0].head, "POST /mcp?x=y (false, false, None)");
        assert_eq!(read.messages[0].fields[1], ("x".to_owned(), b"ab".to_vec()));
        assert_eq!(read.messages[0].body, body);
    }
    for size in [1, 15, 16, 255, 65_536, usize::MAX] {
        assert_eq!(ChunkHeader::new(size).as_bytes(), format!("{size:x}\r\n").as_bytes());
    }
    for status in 200..600 {
        let head = HeadWriter::response(&mut out, status).field("x", "");
        let n = head.finish(BodyLength::Known(0)).unwrap();
        let read = responses(ResponseReader::new([0; 512]), &["GET"], &out[..n], &[5]);
        assert_eq!(read.messages.len(), 1, "{status} {read:?}");
    }
}

#[test]
fn invalid_first_lines_are_not_written_and_no_part_of_a_head() {
    for (method, target) in
        [("GET", "/a b"), ("GET", "/\r\nX: y"), ("GET", ""), ("G T", "/"), ("GET", "/\u{e9}")]
    {
        let head = HeadWriter::request(&mut [0; 256], method, target).finish(BodyLength::Absent);
        let invalid = Err(SendError::Invalid(InvalidPayload::HttpHead));
        assert_eq!(head, invalid, "{method:?} {target:?}");
    }
    let written = |room: usize| {
        let mut out = vec![0; room];
        HeadWriter::response(&mut out, 200).field("a", "b").finish(BodyLength::Known(10))
    };
    for room in 0..written(256).unwrap() {
        assert_eq!(written(room), Err(SendError::TooLarge), "{room}");
    }
}

#[test]
fn noise_never_panics_and_chunking_changes_nothing() {
    let mut random = Random::new(7);
    let mut next = |n: usize| random.below(n);
    let corpus: Vec<&str> = REQUESTS
        .iter()
        .map(|(bytes, _)| *bytes)
        .chain(RESPONSES.iter().map(|(_, bytes, _)| *bytes))
        .chain(REFUSED.iter().map(|(bytes, _)| *bytes))
        .collect();
    for _ in 0..6000 {
        let mut bytes = vec![next(256) as u8];
        for _ in 0..1 + next(3) {
            bytes.extend(corpus[next(corpus.len())].as_bytes());
        }
        for _ in 0..next(4) {
            let at = 1 + next((bytes.len() - 1).max(1));
            match next(4) {
                0 => drop(bytes.get_mut(at).map(|byte| *byte = b"\r\n :0;a\0"[next(8)])),
                1 => bytes.truncate(at),
                2 => bytes.insert(at.min(bytes.len()), b"\r\n :5;x\xff"[next(8)]),
                _ => drop((at < bytes.len()).then(|| bytes.remove(at))),
            }
        }
        survives(&bytes);
    }
}

#[test]
fn what_is_incomplete_moves_to_other_storage() {
    let bytes = post("a", "hello")
        + "GET / HTTP/1.1\r\nHost: b\r\n\r\n"
        + "POST / HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nworld\r\n0\r\nA: b\r\n\r\n";
    let whole = requests(RequestReader::with_limit(Vec::new(), 4096), bytes.as_bytes(), &[4096]);
    for size in 1..bytes.len() {
        let mut reader = RequestReader::with_limit(Vec::new(), 4096);
        let (mut heads, mut body) = (0, Vec::new());
        for piece in bytes.as_bytes().chunks(size) {
            let before = reader.replace_storage(vec![0; 512]);
            assert!(before.len() < 512, "only what is incomplete is kept");
            put(&mut reader, piece);
            while let Some(part) = reader.next_part().unwrap() {
                match part {
                    Part::Head(_) => heads += 1,
                    Part::Body(piece) => body.extend_from_slice(piece),
                    Part::End => assert!(reader.next_request()),
                }
            }
            assert_eq!(reader.replace_storage(Vec::new()).len(), 512);
            assert_eq!(reader.is_empty(), reader.replace_storage(Vec::new()).is_empty());
        }
        assert_eq!(heads, whole.messages.len());
        assert!(reader.is_between_requests());
        assert!(whole.messages.iter().flat_map(|message| &message.body).eq(&body));
    }
}

#[test]
fn copied_fields_are_those_of_the_head() {
    let head = "GET / HTTP/1.1\r\nHost: a\r\nX-Two:\t b: c \r\nAccept:\r\nx-two: d\r\n\r\n";
    let mut reader = RequestReader::with_limit(Vec::new(), 4096);
    reader.reserve(head.len());
    put(&mut reader, head.as_bytes());
    let Ok(Some(Part::Head(request))) = reader.next_part() else { panic!("no head") };
    let owned = OwnedFields::from(request.fields);
    for fields in [&request.fields as &dyn Fields, &owned] {
        assert_eq!((fields.get("HOST"), fields.get("accept")), (Some("a"), Some("")));
        assert!(fields.all("x-two").eq([&b"b: c"[..], b"d"]));
        assert_eq!(fields.first_two("X-two"), [Some(&b"b: c"[..]), Some(b"d")]);
        assert_eq!(fields.first_two("host"), [Some(&b"a"[..]), None]);
        assert_eq!((fields.get("x-tw"), fields.get("GET / HTTP/1.1\r\nHost")), (None, None));
    }
    assert_eq!(format!("{owned:?}"), format!("{:?}", request.fields));
}

/// A POST with its body.
fn post(host: &str, body: &str) -> String {
    let len = body.len();
    format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length:  {len}\r\nX: y\r\n\r\n{body}")
}

/// A reader that has read a request, and the copy of its head. `next` has been received, too.
fn after_one(one: &str, next: &str) -> (RequestReader<Vec<u8>>, OwnedFields) {
    let mut reader = RequestReader::with_limit(Vec::new(), 4096).max_body(500);
    let bytes = [one, next].concat();
    reader.reserve(4096);
    put(&mut reader, bytes.as_bytes());
    let mut owned = OwnedFields::default();
    assert_eq!(reader.next_same_head(&mut owned), None, "there was none before");
    let Ok(Some(Part::Head(head))) = reader.next_part() else { panic!("no head") };
    owned.copy(head.fields);
    while !reader.next_request() {
        assert!(reader.next_part().is_ok());
    }
    (reader, owned)
}

#[test]
fn a_head_that_comes_again_is_known() {
    for body in ["ab", "abcdefghi"] {
        let (mut reader, mut owned) =
            after_one(&post("a", "xy"), &(post("a", body) + &post("a", "z")));
        assert_eq!(reader.next_same_head(&mut owned), Some(body.len() as u64));
        let fields: &dyn Fields = &owned;
        assert_eq!(fields.get("content-length"), Some(&*body.len().to_string()));
        assert_eq!((fields.get("host"), fields.get("x")), (Some("a"), Some("y")));
        assert!(reader.has_whole_body());
        assert_eq!(reader.next_same_head(&mut owned), None, "the body comes first");
        assert_eq!(reader.next_part(), Ok(Some(Part::Body(body.as_bytes()))));
        assert_eq!(reader.next_part(), Ok(Some(Part::End)));
        assert!(reader.next_request());
        assert_eq!(reader.next_same_head(&mut owned), Some(1));
    }
}

#[test]
fn another_head_is_parsed() {
    let (same, long) = (post("a", "xy"), "x".repeat(501));
    for (next, length) in [
        (post("b", "xy"), Some(2)),
        (post("a", "abcdefghij"), Some(10)),
        (post("a", ""), Some(0)),
        (same.replace("POST", "PUT"), Some(2)),
        (same.replace("1.1", "1.0"), Some(2)),
        (same.replace("X: y", "X: z"), Some(2)),
        (same.replace("X: y", "X: y\r\nZ: z"), Some(2)),
        (format!("\r\n{same}"), Some(2)),
        (same.replace("  2", " +2"), None),
        (same.replace("  2", "  a"), None),
        (same.replace("X: y\r\n", "X: y\n"), None),
        (post("a", &long), None),
    ] {
        let (mut reader, mut owned) = after_one(&same, &next);
        assert_eq!(reader.next_same_head(&mut owned), None, "{next}");
        let found = match reader.next_part() {
            Ok(Some(Part::Head(head))) => head.content_length,
            _ => None,
        };
        assert_eq!(found, length, "{next}");
    }
    // A body is too long although its length has as many digits.
    let (mut reader, mut owned) = after_one(&post("a", &long[..500]), &post("a", &long));
    assert_eq!(reader.next_same_head(&mut owned), None);
    assert_eq!(reader.next_part().map_err(|error| error.status()), Err(413));
    // Whether the client waits for 100 depends on the length.
    let expects = same.replace("X: y", "Expect: 100-continue");
    let (mut reader, mut owned) = after_one(&expects, &expects);
    assert_eq!(reader.next_same_head(&mut owned), None);
    // A head that has begun to arrive is searched once, not compared again for each byte.
    let (begin, rest) = same.split_at(20);
    let (mut reader, mut owned) = after_one(&same, begin);
    assert_eq!(reader.next_same_head(&mut owned), None);
    assert_eq!(reader.next_part(), Ok(None));
    put(&mut reader, rest.as_bytes());
    assert_eq!(reader.next_same_head(&mut owned), None);
    assert!(matches!(reader.next_part(), Ok(Some(Part::Head(_)))));
}

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS);
static ACCESS: Access = Access::new().host_policy(HostPolicy::ANY_HOST);

/// A reader that has collected a call of a tool.
fn tool_call(version: &str) -> RequestReader<Vec<u8>> {
    let mut reader = RequestReader::new(vec![0; 2048]);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let fields = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
                  MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: x";
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/{version}\r\nHost: a\r\n{fields}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    put(&mut reader, request.as_bytes());
    assert_eq!(reader.collect(), Ok(Collected::Whole));
    reader
}

#[test]
fn a_handle_of_the_request_before_is_none_of_the_next_one() {
    let reader = tool_call("1.1");
    let (head, body) = reader.whole().unwrap();
    let mut exchange: Exchange<4, _> = Exchange::new([0; 256]);
    let [before, next] = [(); 2].map(|()| {
        let mut messages = exchange.begin(&CONFIG, &ACCESS, &head, body).unwrap();
        match exchange.next_event(&CONFIG, Instant::from_millis(0), &mut messages) {
            Ok(Some(ServerEvent::Request(request))) => request.handle,
            event => panic!("{event:?}"),
        }
    });
    let (mut server, tx) = exchange.parts(&CONFIG);
    assert_eq!([before, next].map(|one| server.is_request_open(one)), [false, true]);
    // A job of a client that has gone.
    assert_eq!(server.respond(before, &TextResult::new("x"), tx), Ok(()));
    assert!(exchange.tx().pending().is_empty());
}

#[test]
fn a_response_that_is_cut_off_before_its_head_promises_no_length() {
    for (version, has_end) in [("1.1", false), ("1.0", true)] {
        let reader = tool_call(version);
        let (head, body) = reader.whole().unwrap();
        let mut exchange: Exchange<4, _> = Exchange::new([0; 256]);
        let mut messages = exchange.begin(&CONFIG, &ACCESS, &head, body).unwrap();
        let event = exchange.next_event(&CONFIG, Instant::from_millis(0), &mut messages);
        let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
        let (mut server, tx) = exchange.parts(&CONFIG);
        let long = "x".repeat(1000);
        let written = server.respond(request.handle, &TextResult::new(&long), tx);
        assert_eq!(written, Err(SendError::Full));
        // The rest of it cannot be had, and an error has no place behind its start.
        let error = RpcError::new(ErrorCode::InternalError, "gone");
        let failed = server.fail(request.handle, &error, tx);
        assert_eq!(failed, Err(SendError::NotAllowed(NotAllowed::AlreadyResponded)));
        assert!(exchange.tx().is_truncated());
        exchange.complete();
        let (mut out, mut sent) = ([0; MAX_HEAD], Vec::new());
        while !exchange.is_done() {
            let len = exchange.write(&mut out);
            sent.extend_from_slice(&out[..len]);
        }
        assert!(!exchange.keeps_alive());
        let sent = String::from_utf8(sent).unwrap();
        assert!(!sent.contains("content-length"), "{sent}");
        // The end of the connection is the end of a body of HTTP/1.0.
        let read = read_responses(&["POST"], &sent, ALL);
        assert_eq!(read.complete().len(), usize::from(has_end), "{sent}");
    }
}

#[test]
fn a_reader_that_grows_collects_a_request_as_long_as_its_limit() {
    let request =
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n{}", "x".repeat(4000));
    for (lacks, replaces) in [(0, false), (0, true), (1, false)] {
        let mut reader = RequestReader::with_limit(Vec::new(), request.len() - lacks);
        let mut rest = request.as_bytes();
        let collected = loop {
            match reader.collect() {
                Ok(Collected::Part) => {}
                collected => break collected,
            }
            if replaces {
                // The bytes that are kept move, too.
                reader.replace_storage(Vec::new());
            }
            let n = fill(reader.spare(), &mut rest, &mut std::iter::once(&100));
            reader.commit(n);
        };
        let status = collected.map_err(|error| error.status());
        assert_eq!(status, if lacks == 0 { Ok(Collected::Whole) } else { Err(413) });
        assert_eq!(reader.whole().map(|(_, body)| body.len()), (lacks == 0).then_some(4000));
    }
}
