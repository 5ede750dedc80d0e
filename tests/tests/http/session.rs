//! The client's side of a session over HTTP: the fields of requests, the meaning of responses, and
//! what follows when a body ends.

use core::fmt::Display;
use core::time::Duration;

use mcp_sansio::http::ResponseHead;
use mcp_sansio::http::client::{
    Exchange, HttpSession, MIN_RETRY, NextStep, OutgoingMessage, ResponseKind,
};
use mcp_sansio::{Frame, RawJson, Revision};

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const LEGACY: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const NOTIFICATION: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
const EVENTS: (&str, &str) = ("content-type", "text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

fn post(message: &str) -> OutgoingMessage<'_> {
    OutgoingMessage::parse(message.as_bytes()).unwrap()
}

fn modern(id: u32, method: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{more}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
    )
}

fn reply(
    session: &mut HttpSession,
    exchange: &mut Exchange,
    status: u16,
    fields: &[(&str, &str)],
) -> ResponseKind {
    session.classify_response(exchange, &ResponseHead::new(status, &fields))
}

/// A session with this id, if any, initialized with this revision.
fn initialized(id: Option<&str>, revision: &str) -> HttpSession {
    let mut session = HttpSession::new();
    let mut exchange = session.begin_post(&post(INITIALIZE));
    let fields = [JSON, ("mcp-session-id", id.unwrap_or_default())];
    let fields = if id.is_some() { &fields[..] } else { &fields[..1] };
    assert_eq!(reply(&mut session, &mut exchange, 200, fields), ResponseKind::Message);
    let result =
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}"}}}}"#);
    session.observe(&mut exchange, Frame::Complete(result.as_bytes()));
    assert!(exchange.has_response());
    session
}

/// The fields of a request, one a line.
fn told(tell: impl FnOnce(&mut dyn FnMut(&str, &dyn Display))) -> Vec<String> {
    let mut fields = Vec::new();
    tell(&mut |name, value| fields.push(format!("{name}: {value}")));
    fields
}

fn posted(session: &HttpSession, message: &str, schema: Option<&str>) -> Vec<String> {
    let schema = schema.map(|schema| RawJson::parse(schema).unwrap());
    let mut fields = told(|put| session.post_fields(&post(message), schema, put).unwrap());
    assert_eq!(
        fields[..2],
        ["accept: application/json, text/event-stream", "content-type: application/json"]
    );
    fields.split_off(2)
}

#[test]
fn a_session_begins_with_initialize_and_is_forgotten_by_the_next() {
    assert_eq!((HttpSession::new().id(), HttpSession::new().revision()), (None, None));
    let mut session = initialized(Some("a"), "2025-06-18");
    for message in [LEGACY, NOTIFICATION] {
        let mut exchange = session.begin_post(&post(message));
        assert_eq!((session.id(), session.revision()), (Some("a"), Some(Revision::V2025_06_18)));
        assert!(!exchange.is_initialize() && !exchange.is_modern());
        assert_eq!(reply(&mut session, &mut exchange, 404, &[]), ResponseKind::SessionEnded);
    }
    // A version or an id in another response does not apply to the session.
    let mut exchange = session.begin_post(&post(LEGACY));
    let kind = reply(&mut session, &mut exchange, 200, &[JSON, ("mcp-session-id", "b b")]);
    assert_eq!(kind, ResponseKind::Message);
    let other = br#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25"}}"#;
    session.observe(&mut exchange, Frame::Complete(other));
    assert_eq!((session.id(), session.revision()), (Some("a"), Some(Revision::V2025_06_18)));
    let shown = "HttpSession { has_id: true, revision: Some(V2025_06_18), .. }";
    assert_eq!(format!("{session:?}"), shown);

    let mut exchange = session.begin_post(&post(INITIALIZE));
    assert!(exchange.is_initialize());
    assert_eq!((session.id(), session.revision()), (None, None));
    assert_eq!(reply(&mut session, &mut exchange, 404, &[]), ResponseKind::ErrorStatus(404));
    assert_eq!(format!("{session:?}"), "HttpSession { has_id: false, revision: None, .. }");
    for id in ["", "a b", "\u{e9}", &"x".repeat(513)] {
        let kind = reply(&mut session, &mut exchange, 200, &[JSON, ("mcp-session-id", id)]);
        assert!(matches!(kind, ResponseKind::Invalid(_)), "{id}");
    }
    assert_eq!(initialized(Some(&"x".repeat(512)), "2025-11-25").id(), Some(&*"x".repeat(512)));
}

#[test]
fn a_message_without_version_has_the_era_of_the_last_request() {
    let mut session = HttpSession::new();
    let is_modern = |session: &mut HttpSession, message: &str| {
        let exchange = session.begin_post(&post(message));
        let answer = r#"{"jsonrpc":"2.0","id":9,"result":{}}"#;
        let has_fields = !posted(session, answer, None).is_empty();
        assert_eq!(has_fields, session.begin_post(&post(answer)).is_modern());
        exchange.is_modern()
    };
    assert!(!is_modern(&mut session, NOTIFICATION));
    // The probe: nothing is decided yet.
    assert!(is_modern(&mut session, &modern(1, "server/discover", "")));
    assert!(!is_modern(&mut session, NOTIFICATION));
    assert!(is_modern(&mut session, &modern(2, "tools/list", "")));
    assert!(is_modern(&mut session, NOTIFICATION) && is_modern(&mut session, NOTIFICATION));
    assert_eq!(
        posted(&session, NOTIFICATION, None),
        ["mcp-protocol-version: 2026-07-28", "mcp-method: notifications/cancelled"]
    );
    assert!(!is_modern(&mut session, LEGACY) && !is_modern(&mut session, NOTIFICATION));
    // A modern request belongs to no session, even if one is open.
    let mut session = initialized(Some("a"), "2025-11-25");
    let mut exchange = session.begin_post(&post(&modern(3, "tools/list", "")));
    assert_eq!(reply(&mut session, &mut exchange, 404, &[]), ResponseKind::ErrorStatus(404));
    let mut exchange = session.begin_post(&post(&modern(4, "tools/list", "")));
    reply(&mut session, &mut exchange, 200, &[JSON, ("mcp-session-id", "b")]);
    assert_eq!(session.id(), Some("a"));
}

#[test]
fn http_08_http_21_http_26_http_27_http_41_sess_03_requests_of_a_session_have_its_fields() {
    let version = "mcp-protocol-version: 2025-11-25";
    for (id, revision, expected) in [
        (Some("s-1"), "2025-11-25", &[version, "mcp-session-id: s-1"][..]),
        (None, "2025-11-25", &[version]),
        (Some("s-1"), "2025-03-26", &["mcp-session-id: s-1"]),
    ] {
        let session = initialized(id, revision);
        assert_eq!(posted(&session, LEGACY, None), expected);
        assert!(posted(&session, INITIALIZE, None).is_empty());
        assert_eq!(told(|put| session.delete_fields(put)), expected);
        let get = [&["accept: text/event-stream"], expected].concat();
        assert_eq!(told(|put| session.get_fields(None, put)), get);
        let resumed = [&get[..], &["last-event-id: 7-1"]].concat();
        assert_eq!(told(|put| session.get_fields(Some("7-1"), put)), resumed);
    }
}

#[test]
fn http_08_http_31_http_41_hdr_01_hdr_02_hdr_03_hdr_36_tex_40_modern_requests_repeat_them() {
    let session = HttpSession::new();
    let all = r#""name":"a","uri":"u","taskId":"t","#;
    for (method, params, name) in [
        ("tools/call", all, Some("a")),
        ("prompts/get", all, Some("a")),
        ("resources/read", all, Some("u")),
        ("tasks/get", all, Some("t")),
        ("tasks/update", all, Some("t")),
        ("tasks/cancel", all, Some("t")),
        ("tools/list", all, None),
        ("resources/read", r#""uri":"file:///a b","#, Some("file:///a b")),
        ("tools/call", r#""name":"weather \u2600","#, Some("=?base64?d2VhdGhlciDimIA=?=")),
        ("prompts/get", r#""name":"=?base64?x?=","#, Some("=?base64?PT9iYXNlNjQ/eD89?=")),
    ] {
        let mut expected =
            vec!["mcp-protocol-version: 2026-07-28".to_owned(), format!("mcp-method: {method}")];
        expected.extend(name.map(|name| format!("mcp-name: {name}")));
        assert_eq!(posted(&session, &modern(1, method, params), None), expected);
    }
    let schema = r#"{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},"dry":{"type":"boolean","x-mcp-header":"Dry"},
        "count":{"type":"integer","x-mcp-header":"Count"},
        "none":{"type":"string","x-mcp-header":"None"},"other":{"type":"string"}}}"#;
    let arguments = r#""region":"us \u00e9","dry":true,"none":null,"other":"x""#;
    let with = |arguments| format!(r#""name":"a","arguments":{{{arguments}}},"#);
    let call = modern(1, "tools/call", &with(arguments));
    let mirrored = ["Mcp-Param-Region: =?base64?dXMgw6k=?=", "Mcp-Param-Dry: true"];
    assert_eq!(posted(&session, &call, Some(schema))[3..], mirrored);
    let list = modern(1, "tools/list", r#""arguments":{"region":"us"},"#);
    assert_eq!(posted(&session, &list, Some(schema)).len(), 2);
    let schema = RawJson::parse(schema).unwrap();
    for wrong in [
        r#""region":[]"#,
        r#""region":1.5"#,
        r#""count":9007199254740992"#,
        r#""count":1.5"#,
        r#""dry":{}"#,
    ] {
        let call = modern(1, "tools/call", &with(wrong));
        let told = session.post_fields(&post(&call), Some(schema), &mut |_, _| {});
        assert!(told.is_err(), "{wrong}");
    }
}

#[test]
fn http_15_sess_06_a_response_is_interpreted_by_its_status_and_content_type() {
    const OTHER: (&str, &str) = ("content-type", "text/plain");
    const CASED: (&str, &str) = ("content-type", "Application/JSON ; charset=utf-8");
    let request = |session: &mut HttpSession| session.begin_post(&post(LEGACY));
    let notification = |session: &mut HttpSession| session.begin_post(&post(NOTIFICATION));
    let listen = |session: &mut HttpSession| session.begin_get().unwrap();
    let delete = |session: &mut HttpSession| session.begin_delete().unwrap();
    let older = |_: &mut HttpSession| Exchange::http_sse();
    let unusable =
        ResponseKind::Invalid("the response is neither application/json nor text/event-stream");
    let no_stream = ResponseKind::Invalid("the server offers no event stream");
    type Begin<'b> = &'b dyn Fn(&mut HttpSession) -> Exchange;
    let cases: [(Begin<'_>, u16, (&str, &str), ResponseKind); 34] = [
        (&request, 200, JSON, ResponseKind::Message),
        (&request, 200, CASED, ResponseKind::Message),
        (&request, 200, EVENTS, ResponseKind::EventStream),
        (&request, 299, EVENTS, ResponseKind::EventStream),
        (&request, 202, JSON, ResponseKind::Message),
        (&request, 202, OTHER, ResponseKind::Accepted),
        (&request, 203, OTHER, unusable),
        (&request, 200, OTHER, unusable),
        (&request, 300, JSON, ResponseKind::ErrorStatus(300)),
        (&request, 199, JSON, ResponseKind::ErrorStatus(199)),
        (&request, 400, JSON, ResponseKind::ErrorStatus(400)),
        (&request, 401, JSON, ResponseKind::Unauthorized(401)),
        (&request, 403, JSON, ResponseKind::Unauthorized(403)),
        (&request, 404, JSON, ResponseKind::SessionEnded),
        (&notification, 202, OTHER, ResponseKind::Accepted),
        (&notification, 200, JSON, ResponseKind::Accepted),
        (&notification, 200, EVENTS, ResponseKind::EventStream),
        (&notification, 500, OTHER, ResponseKind::ErrorStatus(500)),
        (&listen, 200, EVENTS, ResponseKind::EventStream),
        (&listen, 200, JSON, ResponseKind::NoStream),
        (&listen, 201, EVENTS, ResponseKind::NoStream),
        (&listen, 405, OTHER, ResponseKind::NoStream),
        (&listen, 401, OTHER, ResponseKind::Unauthorized(401)),
        (&listen, 404, OTHER, ResponseKind::SessionEnded),
        (&delete, 200, EVENTS, ResponseKind::Accepted),
        (&delete, 204, OTHER, ResponseKind::Accepted),
        (&delete, 405, OTHER, ResponseKind::ErrorStatus(405)),
        (&delete, 404, OTHER, ResponseKind::SessionEnded),
        (&older, 200, EVENTS, ResponseKind::EventStream),
        (&older, 200, JSON, no_stream),
        (&older, 201, EVENTS, no_stream),
        (&older, 405, OTHER, ResponseKind::ErrorStatus(405)),
        (&older, 404, OTHER, ResponseKind::ErrorStatus(404)),
        (&older, 403, OTHER, ResponseKind::Unauthorized(403)),
    ];
    for (at, (begin, status, field, expected)) in cases.into_iter().enumerate() {
        let mut session = initialized(Some("a"), "2025-11-25");
        let mut exchange = begin(&mut session);
        assert_eq!(reply(&mut session, &mut exchange, status, &[field]), expected, "{at}");
    }
    // Without an id there is no session to end.
    let mut session = initialized(None, "2025-11-25");
    assert!(session.begin_delete().is_none());
    let mut exchange = session.begin_get().unwrap();
    assert_eq!(reply(&mut session, &mut exchange, 404, &[]), ResponseKind::NoStream);
    let mut exchange = session.begin_post(&post(LEGACY));
    assert_eq!(reply(&mut session, &mut exchange, 404, &[]), ResponseKind::ErrorStatus(404));
    assert!(HttpSession::new().begin_get().is_none());
    assert!(HttpSession::new().begin_delete().is_none());
}

#[test]
fn bc_02_bc_03_bc_04_a_server_that_refuses_initialize_may_be_an_older_one() {
    let with = |offer: &str| INITIALIZE.replace("2025-11-25", offer);
    let error = |code: i64| format!(r#"{{"code":{code},"message":""}}"#);
    for (message, status, code, expected) in [
        (with("2025-11-25"), 400, None, true),
        (with("2025-11-25"), 404, None, true),
        (with("2025-11-25"), 405, None, true),
        (with("2025-11-25"), 406, None, false),
        (with("2025-11-25"), 410, None, false),
        (with("unknown"), 410, None, false),
        (with("2025-06-18"), 399, None, false),
        (with("2025-06-18"), 400, None, true),
        (with("2025-06-18"), 410, None, true),
        (with("2025-03-26"), 499, None, true),
        (with("2025-06-18"), 500, None, false),
        (with("2025-06-18"), 401, None, false),
        (with("2025-06-18"), 403, None, false),
        (with("2025-06-18"), 400, Some(-32019), true),
        (with("2025-06-18"), 400, Some(-32020), false),
        (with("2025-06-18"), 400, Some(-32022), false),
        (with("2025-06-18"), 400, Some(-32023), true),
        (LEGACY.to_owned(), 400, None, false),
    ] {
        let mut session = HttpSession::new();
        let exchange = session.begin_post(&post(&message));
        let error = code.map(error);
        let error = error.as_deref().map(|error| RawJson::parse(error).unwrap());
        let may_be_older = session.may_support_http_sse(&exchange, status, error);
        assert_eq!(may_be_older, expected, "{message} {status} {code:?}");
    }
}

#[test]
fn the_end_of_a_body_decides_the_next_step() {
    let seconds = |seconds| NextStep::Resume(Duration::from_secs(seconds));
    let mut session = initialized(Some("a"), "2025-11-25");
    // After each failure the delay doubles, up to 32 seconds, eight times.
    let mut exchange = session.begin_post(&post(LEGACY));
    assert_eq!(exchange.end_of_body(Some("7"), None), NextStep::Lost, "no stream was open");
    assert_eq!(reply(&mut session, &mut exchange, 200, &[EVENTS]), ResponseKind::EventStream);
    assert_eq!(exchange.end_of_body(None, None), NextStep::Lost, "no event id to resume from");
    let waits = [0; 9].map(|_| exchange.end_of_body(Some("7"), None));
    assert_eq!(waits[..8], [1, 2, 4, 8, 16, 32, 32, 32].map(seconds));
    assert_eq!(waits[8], NextStep::Lost);
    assert_eq!(exchange.end_of_body(Some("8"), None), seconds(1), "a new event resets the count");
    assert_eq!(exchange.end_of_body(Some("8"), Some(Duration::from_secs(90))), seconds(90));
    // A response that is not a stream is not resumed, whatever came before it.
    assert_eq!(reply(&mut session, &mut exchange, 503, &[]), ResponseKind::ErrorStatus(503));
    assert_eq!(exchange.end_of_body(Some("9"), None), NextStep::Lost);
    // The response has arrived.
    session.observe(&mut exchange, Frame::Complete(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#));
    assert_eq!(exchange.end_of_body(Some("9"), None), NextStep::Done);

    // The standalone stream is always resumed, with an id or without.
    let mut exchange = session.begin_get().unwrap();
    assert_eq!(exchange.end_of_body(None, None), seconds(1), "the request may be lost");
    assert_eq!(reply(&mut session, &mut exchange, 405, &[]), ResponseKind::NoStream);
    assert_eq!(exchange.end_of_body(None, None), NextStep::Done);
    let mut exchange = session.begin_get().unwrap();
    assert_eq!(reply(&mut session, &mut exchange, 200, &[EVENTS]), ResponseKind::EventStream);
    let waits: Vec<_> = (0..300).map(|_| exchange.end_of_body(None, None)).collect();
    assert_eq!(waits[..6], [1, 2, 4, 8, 16, 32].map(seconds));
    assert!(waits[6..].iter().all(|wait| *wait == seconds(32)));

    // Streams that cannot be resumed.
    let mut exchange = session.begin_post(&post(&modern(3, "tools/list", "")));
    assert_eq!(reply(&mut session, &mut exchange, 200, &[EVENTS]), ResponseKind::EventStream);
    assert_eq!(exchange.end_of_body(Some("7"), None), NextStep::Lost);
    let mut exchange = Exchange::http_sse();
    assert_eq!(reply(&mut session, &mut exchange, 200, &[EVENTS]), ResponseKind::EventStream);
    assert_eq!(exchange.end_of_body(Some("7"), None), NextStep::Lost);
    assert_eq!(session.begin_delete().unwrap().end_of_body(Some("7"), None), NextStep::Done);
    let mut exchange = session.begin_post(&post(NOTIFICATION));
    assert_eq!(exchange.end_of_body(Some("7"), None), NextStep::Done);
}

#[test]
fn c6_a_stream_is_not_resumed_sooner_than_after_the_least_time_and_not_for_ever_in_vain() {
    let mut session = initialized(Some("a"), "2025-11-25");
    let mut exchange = session.begin_post(&post(LEGACY));
    let end = |session: &mut HttpSession, exchange: &mut Exchange| {
        assert_eq!(reply(session, exchange, 200, &[EVENTS]), ResponseKind::EventStream);
        exchange.end_of_body(Some("7"), Some(Duration::ZERO))
    };
    let least = NextStep::Resume(MIN_RETRY);
    // The first end is at a new event, so it does not count.
    let ended = [(); 10].map(|()| end(&mut session, &mut exchange));
    assert_eq!(ended[..8], [least; 8]);
    assert_eq!(ended[8..], [NextStep::Lost; 2]);
    // A message resets the count.
    let message = br#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    session.observe(&mut exchange, Frame::Complete(message));
    assert_eq!(end(&mut session, &mut exchange), least);
}

/// A server counts its requests itself, so the ids may be equal.
#[test]
fn an_invalid_request_of_the_server_with_the_id_of_a_call_is_not_its_response() {
    let observed = |message: Frame<'_>| {
        let mut session = initialized(Some("a"), "2025-06-18");
        let mut exchange = session.begin_post(&post(LEGACY));
        assert_eq!(reply(&mut session, &mut exchange, 200, &[EVENTS]), ResponseKind::EventStream);
        session.observe(&mut exchange, message);
        exchange.has_response()
    };
    let (open, close) = ("[".repeat(65), "]".repeat(65));
    let deep = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"m","params":{{"x":{open}{close}}}}}"#);
    for request in [r#"{"id":2,"method":"roots/list"}"#, &deep] {
        assert!(!observed(Frame::Complete(request.as_bytes())), "{request}");
    }
    for (prefix, is_response) in [
        (r#"{"jsonrpc":"2.0","id":2,"method":"m","params":{"x":""#, false),
        (r#"{"jsonrpc":"2.0","id":2,"result":{"x":""#, true),
    ] {
        let message = Frame::Oversized { prefix: prefix.as_bytes(), tail: b"xx\"}}" };
        assert_eq!(observed(message), is_response, "{prefix}");
    }
    assert!(observed(Frame::Complete(br#"{"id":2,"result":{}}"#)));
}

#[test]
fn the_error_in_a_body_is_known_whatever_its_id() {
    let session = HttpSession::new();
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"no"}} "#;
    let found = session.json_rpc_error(error.as_bytes()).unwrap();
    assert_eq!(found.get("code").and_then(RawJson::as_i64), Some(-32020));
    for other in [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "no JSON", ""] {
        assert!(session.json_rpc_error(other.as_bytes()).is_none(), "{other}");
    }
}
