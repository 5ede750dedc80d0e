//! Deprecated features: documented as such, and never used by default.

use std::time::Duration;

use mcp_sansio::types::*;
use mcp_sansio::{
    ClientFeatures, ClientRequest, Delivery, Instant, InvalidPayload, NotAllowed, OwnedJson,
    RawJson, Revision, RpcError, SendError, ServerConfig, ServerFeatures, to_slice,
};
use mcp_sansio_tests::delivery::respond;
use serde_json::{Value, json};

use super::support::{
    CONFIG, Peer, REVISIONS, can_do_everything, declared, initialize, lines, through,
};

#[test]
fn root_07_samp_18_roots_and_sampling_are_never_requested_by_default() {
    static RESTLESS: ServerConfig<'static> =
        CONFIG.ping_interval(Duration::from_secs(1)).request_timeout(Duration::from_secs(3));
    for revision in REVISIONS {
        let mut peer = Peer::with_config(revision, &RESTLESS, can_do_everything());
        let mut methods = Vec::new();
        for second in 0..10 {
            let message = peer.request("tools/call", json!({"name": "t"}));
            assert!(peer.say(&message, |_, _, _| {}).is_empty());
            let now = Instant::from_millis(second * 1000);
            loop {
                let (event, sent) = through(64, |tx| peer.server.handle_timeout(now, tx));
                methods.extend(lines(&sent).iter().filter_map(|sent| sent.get("method").cloned()));
                if event.is_none() {
                    break;
                }
            }
            if !revision.is_modern() {
                let changed = "notifications/roots/list_changed";
                peer.say(&json!({"jsonrpc": "2.0", "method": changed}), |_, _, _| {});
            }
        }
        assert!(methods.iter().all(|method| method == "ping"), "{revision}: {methods:?}");
        assert_eq!(methods.is_empty(), revision.is_modern(), "a modern client gets no ping");
    }
    for revision in REVISIONS {
        // The adapters make none of their own either, whatever the client can do.
        let lines = session(revision);
        for output in [served_asynchronously(&lines), served_blocking(&lines)] {
            let output: Vec<Value> =
                output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(output.iter().all(|message| message.get("method").is_none()), "{output:?}");
            assert_eq!(output.last().unwrap()["result"]["content"][0]["text"], "done");
        }
    }
    let documented = include_str!("../../../../core/src/server/event.rs");
    for what in [
        "/// `sampling/createMessage`. Deprecated since 2026-07-28.",
        "/// `roots/list`. Deprecated since 2026-07-28.",
    ] {
        assert!(documented.contains(what), "{what}");
    }
}

#[test]
fn samp_07_context_is_not_requested_by_default() {
    let params = CreateMessageParams::new(&[], 1);
    let mut buffer = [0; 256];
    for revision in REVISIONS {
        let written = to_slice(&params, revision, &mut buffer).expect("the value can be written");
        assert!(written.get("includeContext").is_none() && params.include_context.is_none());
    }
    assert!(include_str!("../../../../core/src/types/sampling/mod.rs").contains(
        "/// Context that the client should add. Values other than `none` are deprecated"
    ));
}

#[test]
fn log_09_logging_is_not_declared_by_default_and_deprecated() {
    static PLAIN: ServerConfig<'static> =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
    assert!(
        !PLAIN.capabilities().contains(ServerFeatures::LOGGING)
            && ServerFeatures::default().is_empty()
    );
    assert_eq!(declared(Revision::LATEST, &PLAIN), json!({"tools": {}}));
    assert!(
        include_str!("../../../../core/src/server/respond.rs")
            .contains("/// A log message. Deprecated since 2026-07-28")
    );
}

/// What a client that can do everything sends.
fn session(revision: Revision) -> String {
    let call = json!({"name": "t"});
    if revision.is_modern() {
        return modern_line(1, "server/discover", json!({})) + &modern_line(2, "tools/call", call);
    }
    let line = |message: Value| format!("{message}\n");
    line(initialize(revision, &can_do_everything()))
        + &line(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        + &line(json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}))
        + &line(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}))
}

fn modern_line(id: u32, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": can_do_everything(),
    });
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

fn served_asynchronously(lines: &str) -> String {
    use mcp_sansio_adapters::asynchronous::{App, Connection, Context, JoinedIo};
    let mut output = Vec::new();
    let app = App::new(&CONFIG, async |ctx: Context| ctx.reply(&TextResult::new("done")));
    let stream = JoinedIo::new(smol::io::Cursor::new(lines), &mut output);
    smol::block_on(Connection::new(&app, stream)).unwrap();
    String::from_utf8(output).unwrap()
}

fn served_blocking(lines: &str) -> String {
    use mcp_sansio_adapters::blocking::{App, Threaded};
    let mut output = Vec::new();
    let input = Threaded::new(std::io::Cursor::new(lines.as_bytes().to_vec()));
    App::new(&CONFIG)
        .serve_on(input, &mut output, |ctx| ctx.respond(&TextResult::new("done")))
        .unwrap();
    String::from_utf8(output).unwrap()
}

/// Responds to `tools/call` with input requests; returns the output.
fn first_asked(
    peer: &mut Peer,
    questions: &[(&str, ClientRequest<'_>)],
    state: Option<&str>,
) -> Result<Value, SendError> {
    let mut result = None;
    let answer = peer.call(|server, request, tx| {
        result = Some(server.input_required(request.handle, questions, state, tx));
        if result != Some(Ok(())) {
            assert!(tx.pending().is_empty());
            assert_eq!(server.respond_error(request.handle, &RpcError::internal("?"), tx), Ok(()));
        }
    });
    result.expect("the handler ran").map(|_| answer["result"].clone())
}

#[test]
fn input_requests_by_type_equal_those_by_enum() {
    const FIELDS: [Field<'static>; 1] = [Field::required("name", StringSchema::new().schema())];
    const FORM: RequestedSchema<'static> = RequestedSchema::new(&FIELDS);
    const BROKEN: [Field<'static>; 1] =
        [Field::required("x", PrimitiveSchema::Other(RawJson::EMPTY))];
    let messages = [SamplingMessage::user("What?")];
    let (form, page) = (
        ElicitFormParams::new("Who?", FORM),
        ElicitUrlParams::new("Pay.", "https://example.com/pay"),
    );
    let sample = CreateMessageParams::new(&messages, 9);
    let (any_form, any_page) = (ElicitParams::Form(form), ElicitParams::Url(page));
    let roots = ClientRequest::roots();
    let listed = [
        InputRequest::Elicit(any_form),
        InputRequest::Elicit(any_page),
        InputRequest::CreateMessage(sample),
        InputRequest::ListRoots,
    ];
    for (typed, listed) in [
        (ClientRequest::from(&form), &listed[0]),
        (ClientRequest::from(&any_form), &listed[0]),
        (ClientRequest::from(&page), &listed[1]),
        (ClientRequest::from(&any_page), &listed[1]),
        (ClientRequest::from(&sample), &listed[2]),
        (roots, &listed[3]),
    ] {
        for state in [None, Some("s")] {
            let mut peer = Peer::new(Revision::LATEST);
            let sent = first_asked(&mut peer, &[("q", typed), ("again", listed.into())], state);
            let text = OwnedJson::new(listed, Revision::LATEST).expect("an input request");
            let value: Value = text.to().expect("JSON");
            let mut expected = json!({
                "resultType": "input_required", "inputRequests": {"q": value, "again": value}
            });
            if let Some(state) = state {
                expected["requestState"] = json!(state);
            }
            assert_eq!(sent, Ok(expected));
        }
    }
    // A state alone; neither; a duplicate key; an invalid request; one of a missing capability; a
    // legacy client.
    let mut peer = Peer::new(Revision::LATEST);
    assert_eq!(
        first_asked(&mut peer, &[], Some("s")),
        Ok(json!({"resultType": "input_required", "requestState": "s"}))
    );
    let broken = ElicitFormParams::new("?", RequestedSchema::new(&BROKEN));
    let no_page = ElicitUrlParams::new("?", "not a URL");
    let unknown = InputRequest::Other(RawJson::EMPTY);
    let (form, page) = (ClientRequest::from(&form), ClientRequest::from(&page));
    let (broken, no_page) = (ClientRequest::from(&broken), ClientRequest::from(&no_page));
    let own = ClientRequest::new("org.example/own", None, ClientFeatures::NONE);
    type Faulty<'x> = (&'x [(&'x str, ClientRequest<'x>)], InvalidPayload);
    let faults: [Faulty<'_>; 8] = [
        (&[], InvalidPayload::Empty),
        (&[("q", form), ("q", page)], InvalidPayload::DuplicateKey),
        (&[("q", broken)], InvalidPayload::Form),
        (&[("q", broken), ("other", form)], InvalidPayload::Form),
        (&[("q", (&unknown).into())], InvalidPayload::Method),
        (&[("q", own)], InvalidPayload::Method),
        (&[("q", ClientRequest::ping())], InvalidPayload::Method),
        (&[("q", no_page)], InvalidPayload::Url),
    ];
    for (questions, rule) in faults {
        let asked = first_asked(&mut peer, questions, None);
        assert_eq!(asked, Err(SendError::Invalid(rule)), "{}", questions.len());
    }
    let mut peer = Peer::that_can(Revision::LATEST, json!({"elicitation": {}}));
    let asked = first_asked(&mut peer, &[("q", form), ("r", roots)], None);
    assert_eq!(asked, Err(SendError::NotAllowed(NotAllowed::Capability)));
    assert!(first_asked(&mut peer, &[("q", form)], None).is_ok());
    let asked = first_asked(&mut Peer::new(Revision::V2025_11_25), &[("q", form)], None);
    assert_eq!(asked, Err(SendError::NotAllowed(NotAllowed::Revision)));
    // Only some methods allow input requests.
    let mut peer = Peer::new(Revision::LATEST);
    peer.ask("tools/list", json!({}), |server, request, tx| {
        let asked = server.input_required(request.handle, &[("q", form)], None, tx);
        assert_eq!(asked, Err(SendError::NotAllowed(NotAllowed::Method)));
        assert_eq!(server.respond_error(request.handle, &RpcError::internal("?"), tx), Ok(()));
        let late = respond(server, request.handle, tx, |server, tx| {
            server.input_required(request.handle, &[("q", form)], None, tx)
        });
        assert_eq!(late, Ok(Delivery::Gone));
    });
}
