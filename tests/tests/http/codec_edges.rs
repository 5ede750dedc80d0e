//! The limits of the HTTP/1.1 codec: the last byte that fits, the first that does not, and exact
//! output.

use mcp_sansio::http::{RequestHead, ResponseHead};
use mcp_sansio::{InvalidPayload, SendError};
use mcp_sansio_http1::{
    BodyLength, HeadWriter, MAX_CHUNK_OVERHEAD, MAX_TRAILERS, Part, RequestReader, ResponseReader,
};
use mcp_sansio_tests::codec::{Read, put, requests, responses};

const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

fn read(bytes: &str, sizes: &[usize]) -> Read {
    requests(RequestReader::with_limit(Vec::new(), 8192), bytes.as_bytes(), sizes)
}

#[test]
fn the_line_of_a_response_has_its_reason() {
    for (status, reason) in [
        (200, "OK"),
        (202, "Accepted"),
        (204, "No Content"),
        (400, "Bad Request"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "Not Found"),
        (405, "Method Not Allowed"),
        (406, "Not Acceptable"),
        (408, "Request Timeout"),
        (413, "Content Too Large"),
        (414, "URI Too Long"),
        (415, "Unsupported Media Type"),
        (417, "Expectation Failed"),
        (429, "Too Many Requests"),
        (431, "Request Header Fields Too Large"),
        (500, "Internal Server Error"),
        (501, "Not Implemented"),
        (503, "Service Unavailable"),
        (505, "HTTP Version Not Supported"),
        (100, ""),
        (299, ""),
        (999, ""),
    ] {
        let mut out = [0; 64];
        let len = HeadWriter::response(&mut out, status).finish(BodyLength::Absent).unwrap();
        assert_eq!(&out[..len], format!("HTTP/1.1 {status} {reason}\r\n\r\n").as_bytes());
    }
    for status in [0, 99, 1000, u16::MAX] {
        let head = HeadWriter::response(&mut [0; 64], status).finish(BodyLength::Absent);
        assert_eq!(head, Err(SendError::Invalid(InvalidPayload::HttpHead)), "{status}");
    }
}

#[test]
fn a_head_declares_the_length_of_the_body() {
    for (body, field) in [
        (BodyLength::Absent, ""),
        (BodyLength::UntilClose, ""),
        (BodyLength::Known(0), "content-length: 0\r\n"),
        (BodyLength::Known(u64::MAX), "content-length: 18446744073709551615\r\n"),
        (BodyLength::Chunked, "transfer-encoding: chunked\r\n"),
    ] {
        let mut out = [0; 128];
        let len = HeadWriter::request(&mut out, "POST", "/").field("a", "b").finish(body).unwrap();
        assert_eq!(&out[..len], format!("POST / HTTP/1.1\r\na: b\r\n{field}\r\n").as_bytes());
    }
}

#[test]
fn pushed_fields_obey_the_same_rules() {
    for (name, value, is_good) in [
        ("x", "", true),
        ("x", "a b\t\u{80}", true),
        ("!#$%&'*+-.^_`|~", "x", true),
        ("", "x", false),
        ("a b", "x", false),
        ("x\r\n", "", false),
        ("x", "\r", false),
        ("a:", "x", false),
        ("x", "a\r\nb: c", false),
        ("x", "\n", false),
        ("x", "\0", false),
        ("x", "\u{1f}", false),
        ("x", "\u{7f}", false),
    ] {
        let mut out = [0; 128];
        let mut head = HeadWriter::response(&mut out, 202);
        head.push_field(name, &value);
        let pushed = head.finish(BodyLength::Absent);
        let field =
            HeadWriter::response(&mut [0; 128], 202).field(name, value).finish(BodyLength::Absent);
        assert_eq!(pushed, field, "{name:?} {value:?}");
        let expected = format!("HTTP/1.1 202 Accepted\r\n{name}: {value}\r\n\r\n");
        let invalid = Err(SendError::Invalid(InvalidPayload::HttpHead));
        let written = if is_good { Ok(expected.len()) } else { invalid };
        assert_eq!(pushed, written, "{name:?} {value:?}");
        assert!(!is_good || out.starts_with(expected.as_bytes()));
    }
}

#[test]
fn fields_begin_behind_the_first_line() {
    let request = read("GET /a:b HTTP/1.1\r\nHost:c\r\n\r\n", &[usize::MAX]);
    assert_eq!(request.messages[0].fields, [("Host".to_owned(), b"c".to_vec())]);
    let bytes = b"HTTP/1.1 200 a:b\r\nX:y\r\nContent-Length:0\r\n\r\n";
    let response = responses(ResponseReader::new([0; 64]), &["GET"], bytes, &[usize::MAX]);
    let expected = [("X".to_owned(), b"y".to_vec()), ("Content-Length".to_owned(), b"0".to_vec())];
    assert_eq!(response.messages[0].fields, expected);
}

#[test]
fn debug_output_of_a_head_has_no_values() {
    let mut reader = RequestReader::new([0; 128]);
    put(&mut reader, b"GET /x HTTP/1.1\r\nHost: a\r\nAuthorization: secret\r\n\r\n");
    let Ok(Some(Part::Head(head))) = reader.next_part() else { panic!("a head") };
    assert_eq!(format!("{:?}", head.fields), r#"["Host", "Authorization"]"#);
    let shown = format!("{:?}", RequestHead::new("GET", "/x", &head.fields));
    assert_eq!(shown, r#"RequestHead { method: "GET", target: "/x", .. }"#);
    let shown = format!("{:?}", ResponseHead::new(200, &head.fields));
    assert_eq!(shown, "ResponseHead { status: 200, .. }");
}

#[test]
fn faults_describe_the_error() {
    for (bytes, word) in [
        ("GET / HTTP/1.1\r\nHost: a\r\nX(y): b\r\n\r\n", "invalid name"),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", "invalid value"),
        ("GET / HTTP/3.1\r\nHost: a\r\n\r\n", "version"),
        ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "invalid HTTP"),
    ] {
        let error = read(bytes, &[usize::MAX]).error.unwrap();
        assert!(error.reason().contains(word) && error.to_string() == error.reason(), "{error}");
    }
}

#[test]
fn sizes_of_chunks_have_sixteen_digits_at_most() {
    for (size, len) in [("0000000000000005", 5), ("aF", 0xaf), ("Fa", 0xfa), ("09", 9), ("10", 16)]
    {
        let read = read(&format!("{CHUNKED}{size}\r\n{}\r\n0\r\n\r\n", "x".repeat(len)), &[100]);
        assert_eq!((read.status(), read.complete().len()), (None, 1), "{size}");
        assert_eq!(read.messages[0].body.len(), len, "{size}");
    }
    // Two bytes show that a chunk does not end where it should.
    assert_eq!(read(&format!("{CHUNKED}5\r\nhello!!"), &[1]).status(), Some(400));
    assert_eq!(read(&format!("{CHUNKED}5\r\nhello!"), &[1]).status(), None);
    // A line longer than the buffer, within the limit for such lines.
    let bytes = format!("{CHUNKED}1;{}", "x".repeat(100));
    let read = requests(RequestReader::new([0; 64]), bytes.as_bytes(), &[1]);
    assert_eq!(read.status(), Some(400));
}

#[test]
fn trailer_fields_are_checked_and_limited() {
    for (field, expected) in [
        ("X:", None),
        ("X: a\tb\u{80}", None),
        ("X:\t", None),
        ("X", Some(400)),
        (":y", Some(400)),
        ("X y", Some(400)),
        ("X:\u{7f}", Some(400)),
        ("X:\u{1}", Some(400)),
        ("X: a\u{1}", Some(400)),
    ] {
        let read = read(&format!("{CHUNKED}0\r\n{field}\r\n\r\n"), &[3]);
        assert_eq!(read.status(), expected, "{field:?}");
    }
    // The empty line after them counts.
    let trailers =
        |len: usize| format!("{}Y:{}\r\n", "X: 4567\r\n".repeat(400), "y".repeat(len - 3604));
    for (len, expected) in
        [(MAX_TRAILERS - 2, None), (MAX_TRAILERS - 1, Some(431)), (MAX_TRAILERS, Some(431))]
    {
        assert_eq!(trailers(len).len(), len);
        for sizes in [&[1][..], &[usize::MAX]] {
            let read = read(&format!("{CHUNKED}0\r\n{}\r\n", trailers(len)), sizes);
            let complete = usize::from(expected.is_none());
            assert_eq!((read.status(), read.complete().len()), (expected, complete), "{len}");
        }
    }
}

#[test]
fn each_request_may_be_as_long_as_the_limits_say() {
    let limited = || RequestReader::with_limit(Vec::new(), 8192).max_body(100);
    let sized =
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{}", "x".repeat(100));
    // The largest overhead allowed around chunks: 158 + 6 around each of 100, 5 of the last, and
    // 79.
    let around = |more: usize| {
        let chunk = format!("1;{}\r\nx\r\n", "e".repeat(158));
        format!("{CHUNKED}{}0\r\nX:{}\r\n\r\n", chunk.repeat(100), "y".repeat(75 + more))
    };
    assert_eq!(100 * 164 + 5 + 79, 100 + MAX_CHUNK_OVERHEAD);
    for (bytes, expected, complete) in [
        (sized.repeat(3), None, 3),
        (around(0).repeat(2), None, 2),
        (format!("{}{}", around(0), around(1)), Some(413), 1),
        (around(1), Some(413), 0),
    ] {
        for sizes in [&[7][..], &[usize::MAX]] {
            let read = requests(limited(), bytes.as_bytes(), sizes);
            assert_eq!((read.status(), read.complete().len()), (expected, complete));
        }
    }
    // When the head announces a body that is too long, the body is not awaited.
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n";
    let read = requests(limited(), head, &[usize::MAX]);
    assert_eq!((read.status(), read.messages.len()), (Some(413), 0));
}

#[test]
fn expect_100_continue_applies_to_http_1_1_with_a_body() {
    for (start, rest, facts) in [
        ("HTTP/1.1\r\nHost: a", "Content-Length: 1\r\n\r\n1", "(false, true, Some(1))"),
        ("HTTP/1.1\r\nHost: a", "Content-Length: 0\r\n\r\n", "(false, false, Some(0))"),
        ("HTTP/1.1\r\nHost: a", "\r\n", "(false, false, None)"),
        ("HTTP/1.0", "Content-Length: 1\r\n\r\n1", "(true, false, Some(1))"),
    ] {
        let read =
            read(&format!("POST / {start}\r\nExpect: 100-continue\r\n{rest}"), &[usize::MAX]);
        assert_eq!(read.messages[0].head, format!("POST / {facts}"), "{rest:?}");
    }
}

#[test]
fn a_reader_uses_exactly_the_given_room() {
    assert!(RequestReader::new(Vec::new()).spare().is_empty());
    assert!(ResponseReader::new(Vec::new()).spare().is_empty());
    // Without room every head is too long.
    assert_eq!(RequestReader::new([0; 0]).next_part().map_err(|error| error.status()), Err(414));
    // Up to the limit exactly.
    for (len, limit, filled, room) in [
        (64, 65, 64, 1),
        (64, 64, 64, 0),
        (64, 100, 64, 36),
        (0, 5000, 0, 1024),
        (1024, 5000, 1024, 1024),
    ] {
        let mut reader = RequestReader::with_limit(vec![0; len], limit);
        put(&mut reader, &vec![b'x'; filled]);
        assert_eq!(reader.spare().len(), room, "{len} {limit} {filled}");
    }
    for (len, limit, reserved, room) in [
        (0, 4096, 2000, 2000),
        (0, 4096, 1 << 20, 4096),
        (1024, 4096, 1024, 1024),
        (1024, 4096, 1025, 2048),
        (1024, 4096, 10, 1024),
    ] {
        let mut reader = RequestReader::with_limit(vec![0; len], limit);
        reader.reserve(reserved);
        assert_eq!(reader.spare().len(), room, "{len} {limit} {reserved}");
    }
}

/// Returns the room after `taken` of `read` bytes were taken.
fn room(taken: usize, read: usize) -> usize {
    const HEAD: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut reader = RequestReader::new([0; 64]);
    let target = format!("GET /{}", &"x".repeat(64)[..taken - HEAD.len()]);
    let head = HEAD.replace("GET /", &target);
    put(&mut reader, &[head.as_bytes(), &b"y".repeat(read - taken)].concat());
    assert!(matches!(reader.next_part(), Ok(Some(Part::Head(_)))));
    reader.spare().len()
}

#[test]
fn waiting_bytes_move_when_as_many_are_consumed_and_little_room_is_left() {
    for (taken, read, expected) in [
        // Nothing waits.
        (27, 27, 64),
        (64, 64, 64),
        // More than a quarter is left.
        (27, 47, 17),
        (47, 47, 64),
        (30, 31, 33),
        // At most a quarter is left, and at least as much was taken.
        (27, 48, 43),
        (27, 54, 37),
        (30, 60, 34),
        // Less was taken than is left.
        (27, 55, 9),
        (27, 63, 1),
        // Otherwise there would be no room.
        (27, 64, 27),
    ] {
        assert_eq!(room(taken, read), expected, "{taken} {read}");
    }
}

#[test]
fn the_end_of_a_connection_is_the_end_of_its_last_response() {
    let mut reader = ResponseReader::new([0; 64]);
    assert!(reader.expect_response("GET"));
    reader.commit(0);
    assert!(!reader.has_begun());
    let bytes = b"HTTP/1.1 200 OK\r\n\r\n";
    reader.spare()[..1].copy_from_slice(&bytes[..1]);
    reader.commit(1);
    assert!(reader.has_begun());
    reader.spare()[..bytes.len()].copy_from_slice(&[&bytes[1..], b"x"].concat());
    reader.commit(bytes.len());
    assert!(matches!(reader.next_part(), Ok(Some(Part::Head(_)))));
    // The connection ends before the rest has been taken.
    assert_eq!(reader.end_of_input(), Ok(true));
    assert_eq!(reader.next_part(), Ok(Some(Part::Body(b"x"))));
    assert_eq!(reader.next_part(), Ok(Some(Part::End)));
    assert_eq!(reader.next_part(), Ok(None));
    assert_eq!(reader.end_of_input(), Ok(false));
    assert!(!reader.is_reusable() && !reader.expect_response("GET"));
    // Between two responses.
    let mut reader = ResponseReader::new([0; 64]);
    assert!(reader.is_reusable());
    assert_eq!(reader.end_of_input(), Ok(false));
    assert!(!reader.is_reusable() && !reader.expect_response("GET"));
    // In the middle of a response.
    let mut reader = ResponseReader::new([0; 64]);
    assert!(reader.expect_response("GET"));
    let error = reader.end_of_input().unwrap_err();
    assert_eq!((reader.next_part().map(|_| ()), reader.end_of_input()), (Err(error), Err(error)));
}
