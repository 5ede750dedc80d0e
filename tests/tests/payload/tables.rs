//! Tables of inputs and expected outputs.

use std::panic::catch_unwind;

use mcp_sansio::Json;
use mcp_sansio::*;
use serde::de::value::{BorrowedStrDeserializer, Error as ValueError};
use serde::{Deserialize, Serialize};

#[test]
fn codes_and_violations_have_a_status_by_revision() {
    use ErrorCode::*;
    const OLD: Revision = Revision::V2024_11_05;
    const NEW: Revision = Revision::V2026_07_28;
    for (code, status) in [
        (ParseError, 200),
        (InvalidRequest, 200),
        (MethodNotFound, 404),
        (InvalidParams, 200),
        (InternalError, 200),
        (ResourceNotFound, 200),
        (UrlElicitationRequired, 200),
        (MissingClientCapability, 400),
        (UnsupportedProtocolVersion, 400),
        (HeaderMismatch, 400),
        (Application(7), 200),
        (Application(-32000), 200),
    ] {
        let statuses = [OLD, Revision::V2025_11_25, NEW].map(|revision| code.http_status(revision));
        assert_eq!(statuses, [200, 200, status], "{code:?}");
    }
    for (violation, old, new) in [
        (Violation::TooLong, 413, 413),
        (Violation::InvalidParams, 200, 200),
        (Violation::TooManyRequests, 200, 200),
        (Violation::UnknownMethod, 200, 404),
        (Violation::NotJson, 400, 400),
        (Violation::HeaderMismatch, 400, 400),
    ] {
        assert_eq!(
            (violation.http_status(OLD), violation.http_status(NEW)),
            (old, new),
            "{violation:?}"
        );
    }
    assert_eq!(Violation::UnexpectedResponse.message(), "Response to an unknown request");
    assert_eq!(Violation::InvalidResult.message(), "Invalid request");
}

#[test]
fn a_line_that_cannot_be_read_is_shown_with_its_first_invalid_byte() {
    use Violation::{NotAMessage, NotJson, NotUtf8, TooDeep};
    let (deep, long) = ("[".repeat(65), format!("{{\"text\":\"{}", "é".repeat(60)));
    for (violation, line, place) in [
        (NotJson, &b"Content-Length: 52"[..], r#"byte 0 of "Content-Length: 52""#),
        (NotJson, b"GET /mcp HTTP/1.1", r#"byte 0 of "GET /mcp HTTP/1.1""#),
        (NotJson, b"{", r#"byte 1 of "{""#),
        (NotJson, b"  {'id': 1}", r#"byte 3 of "  {'id': 1}""#),
        (NotJson, br#"{"path":"C:\Users"}"#, r#"byte 12 of "{"path":"C:\Users"}""#),
        (NotJson, b"{} {}", r#"byte 3 of "{} {}""#),
        (NotJson, b"\x1b[1mready", r#"byte 0 of "\u001b[1mready""#),
        (NotUtf8, b"{\"a\":\"\xff\"}", "byte 6 of \"{\"a\":\"\u{fffd}\"}\""),
        (TooDeep, deep.as_bytes(), &format!("byte 64 of \"{}..\"", &deep[..60])),
        (NotJson, long.as_bytes(), &format!("byte 129 of \"{}..\"", &long[..9 + 51 * 2])),
    ] {
        let found = PeerViolation::new(violation, Frame::Complete(line));
        assert_eq!(found.to_string(), format!("{violation} ({place})"));
    }
    // What can be read may be private.
    for line in [&br#"{"password":"x"}"#[..], b"\"x\"", b"7 "] {
        let found = PeerViolation::new(NotAMessage, Frame::Complete(line));
        assert_eq!(found.to_string(), NotAMessage.to_string());
    }
    assert_eq!(PeerViolation::from(NotJson).to_string(), NotJson.to_string());
}

/// A short description of a frame.
fn said(frame: Frame<'_>) -> String {
    let mut messages = Messages::new(frame);
    match messages.next_message() {
        Some(Err(Malformed { violation, id, forbids_response, .. })) => {
            format!("{violation:?} {} {forbids_response}", id.map_or("-", |id| id.as_str()))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn the_id_of_a_message_that_does_not_fit_is_found_at_its_beginning_or_at_its_end() {
    let long = "7".repeat(60);
    for (prefix, tail, expected) in [
        // At the beginning, if the message continues after it.
        (r#"{"id":5,"method":"m","params":{"x":"#, "yyy\"}}", "TooLong 5 false"),
        (r#"  {"id" : "a\"b" , "method":"#, "yyy\"}}", r#"TooLong "a\"b" false"#),
        (r#"{"id":5"#, "5}", "TooLong - true"),
        (r#"{"method":"m","params":{"id":5,"#, "yyy\"}}", "TooLong - true"),
        (r#"{"id":5,"result":{"x":"#, "yyy\"}}", "TooLong 5 true"),
        (r#"{"id":5,"error":{"x":"#, "yyy\"}}", "TooLong 5 true"),
        // At the end, after a comma, with nothing after it.
        ("{", r#"yyy"},"id":5}"#, "TooLong 5 false"),
        ("{", r#"yyy"} , "id" : "five" } "#, r#"TooLong "five" false"#),
        ("{", r#"yyy"},"id":-5}"#, "TooLong -5 false"),
        ("{", r#"yyy"},"id":5,"x":1}"#, "TooLong - true"),
        ("{", r#"yyy"},"id":5}}"#, "TooLong - true"),
        ("{", r#"yyy","id":5} ,"#, "TooLong - true"),
        ("{", r#"yyy","id" 5}"#, "TooLong - true"),
        ("{", r#"yyy{"id":5}"#, "TooLong - true"),
        ("{", r#"yyy\",\"id\":5}"#, "TooLong - true"),
        ("{", r#"yyy"},"id":null}"#, "TooLong - true"),
        ("{", r#"yyy"},"id":"a","id":"b"}"#, r#"TooLong "b" false"#),
        ("{", r#","id":5}"#, "TooLong 5 false"),
        ("{", r#""id":5}"#, "TooLong - true"),
        ("{", "", "TooLong - true"),
        ("", "}", "TooLong - true"),
    ] {
        for mark in ["", "\u{feff}"] {
            let prefix = format!("{mark}{prefix}");
            let frame = Frame::Oversized { prefix: prefix.as_bytes(), tail: tail.as_bytes() };
            assert_eq!(said(frame), expected, "{prefix} ... {tail}");
        }
    }
    // The longest id, with blanks around it, is found; one further from the edge is not.
    let id = format!("\"{}\"", "i".repeat(MAX_ID - 2));
    for (blanks, found) in [(0, true), (10, true), (64, false)] {
        let tail = format!("yyy\"}},\"id\":{}{id}}}", " ".repeat(blanks));
        let expected =
            if found { format!("TooLong {id} false") } else { "TooLong - true".to_owned() };
        assert_eq!(
            said(Frame::Oversized { prefix: b"{", tail: tail.as_bytes() }),
            expected,
            "{blanks}"
        );
    }
    let tail = format!("yyy\"}},\"id\":{long}}}");
    assert!(said(Frame::Oversized { prefix: b"{", tail: tail.as_bytes() }).starts_with("TooLong"));
}

#[test]
fn constant_json_is_checked_and_errors_are_described() {
    let deep: &'static str = Box::leak(("[".repeat(65) + &"]".repeat(65)).into_boxed_str());
    for (text, expected) in [
        ("{} ", "trailing characters after the JSON value, from byte 2"),
        (deep, "the JSON value is nested too deeply"),
        (" {}", "a JSON value must not begin with whitespace"),
        ("{", "the JSON value has no end: a brace, a bracket or a quote is missing"),
        (r#"{"a":"b}"#, "the JSON value has no end: a brace, a bracket or a quote is missing"),
        (r#"{"type":"a" "b":1}"#, "invalid JSON at byte 12"),
        ("[1,]", "invalid JSON at byte 3"),
    ] {
        let panic = catch_unwind(|| RawJson::from_static(text)).expect_err("it is wrong");
        let said = panic.downcast_ref::<&str>().copied();
        let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        assert_eq!(said, Some(expected), "{text}");
    }
    assert_eq!(RawJson::from_static("[1]").as_str(), "[1]");
    // A string of another deserializer is not JSON text, even if it begins or ends like one.
    for text in ["a", "ab\"", "\"a\"b", "\"a"] {
        let from = BorrowedStrDeserializer::<ValueError>::new(text);
        assert!(JsonStr::deserialize(from).is_err(), "{text}");
    }
}

#[test]
fn all_members_of_params_are_found_however_many_there_are() {
    for count in [0usize, 1, 2, 5, 8, 9, 16, 17, 40] {
        let members: Vec<String> = (0..count).map(|n| format!("\"k{n}\":{n}")).collect();
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","uri":"u","cursor":"c","inputResponses":{{}},"requestState":"s","x":9,"arguments":{{{}}},"_meta":{{"a":1}}}}}}"#,
            members.join(",")
        );
        let mut messages = Messages::new(Frame::Complete(text.as_bytes()));
        let message = messages.next_message().expect("a message").expect("the message is valid");
        let MessageKind::Request { params, .. } = message.kind else { panic!("{message:?}") };
        for n in 0..count {
            assert_eq!(
                params.arguments().get(&format!("k{n}")).and_then(|value| value.as_u64()),
                Some(n as u64),
                "{n} of {count}"
            );
        }
        assert!(
            params.arguments().get("k").is_none()
                && params.arguments().get(&format!("k{count}")).is_none()
        );
        for key in [
            "name",
            "uri",
            "cursor",
            "inputResponses",
            "requestState",
            "arguments",
            "_meta",
            "x",
            "y",
        ] {
            let (one, other) = (
                params.get(key).map(|value| value.as_str()),
                params.as_json().get(key).map(|value| value.as_str()),
            );
            assert_eq!(one, other, "{key}");
        }
    }
}

#[test]
fn a_message_may_be_nested_as_deeply_as_a_value_wherever_the_depth_is() {
    for levels in 1..=66 {
        let deep = "[".repeat(levels) + &"]".repeat(levels);
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","x":{deep}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"x":{deep}}}}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"arguments":{{"x":{deep}}}}}}}"#
            ),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{{"x":{deep}}}}}}}"#
            ),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"name":{deep}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":{deep}}}}}"#),
        ] {
            // The same in a batch, which is a level of its own.
            for text in [text.clone(), format!("[{text}]")] {
                let expected = RawJson::parse(&text).map_err(|error| error.too_deep);
                let message = Messages::new(Frame::Complete(text.as_bytes()))
                    .next_message()
                    .expect("a message");
                let found = message
                    .map(|_| ())
                    .map_err(|malformed| malformed.violation == Violation::TooDeep);
                assert_eq!(found, expected.map(|_| ()), "{levels} {text}");
            }
        }
    }
}

#[test]
fn only_this_crates_types_write_json_text_as_it_is() {
    /// Records the private name for JSON text.
    struct Imposter<T>(T);
    impl<T: Serialize> Serialize for Imposter<T> {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_newtype_struct("$mcp:raw", &self.0)
        }
    }
    struct Shown;
    impl Serialize for Shown {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.collect_str(&7)
        }
    }
    #[derive(Serialize)]
    enum Variant {
        A(u8),
    }
    #[derive(Serialize)]
    struct New(u8);
    fn refused<T: Serialize>(value: T) {
        assert!(matches!(
            to_slice(&Json(Imposter(value)), Revision::LATEST, &mut [0; 64]),
            Err(SendError::Invalid(_))
        ));
    }
    refused(Some(1));
    refused(None::<u8>);
    refused(New(1));
    refused(Variant::A(1));
    refused(Shown);
    refused(1);
    refused([1]);
    refused("not JSON");
}
