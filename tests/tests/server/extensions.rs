//! Extensions are negotiated in each revision that has sessions or requests to declare them in
//! (SEP-2133).

use mcp_sansio::types::{
    ClientCapabilities, Implementation, InitializeParams, ServerCapabilities, TextResult,
};
use mcp_sansio::{
    ClientConfig, ClientEvent, ClientFeatures, ConfigError, Frame, Instant, MAX_EXTENSIONS,
    Messages, OwnedJson, OwnedRequest, RawJson, Request, Revision, Revisions, ServerConfig,
    ServerEvent, ServerFeatures, TxBuffer,
};
use mcp_sansio_tests::memory::new_client;
use serde_json::{Value, json};

use crate::features::support::{Peer, initialize};

const UI: &str = "io.modelcontextprotocol/ui";
const MAPS: &str = "org.example/maps";
const TASKS: &str = "io.modelcontextprotocol/tasks";
const NOW: Instant = Instant::from_millis(0);
static SERVER: ServerConfig =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
        .extensions(RawJson::from_static(
            r#"{"org.example/a":{"n":1},"io.modelcontextprotocol/tasks":{},"org.example/b":{}}"#,
        ))
        .client_extensions(&[MAPS, UI, TASKS]);

/// A server that has heard `initialize` of a client with these extensions, and its response.
fn opened(
    config: &'static ServerConfig<'static>,
    revision: Revision,
    extensions: Value,
) -> (Peer, Value) {
    let mut peer = Peer::with_config(Revision::LATEST, config, json!({}));
    let hello = initialize(revision, &json!({"extensions": extensions}));
    let mut is_read = false;
    let answer = peer.say(&hello, |_, event, _| {
        let ServerEvent::Initialize { params, .. } = event else { panic!("{event:?}") };
        let params: InitializeParams<'_> = params.to().unwrap();
        let settings = params.capabilities.extension(UI).map(|settings| settings.to::<Value>());
        assert_eq!(settings.map(Result::unwrap).as_ref(), extensions.get(UI));
        is_read = true;
    });
    assert!(is_read, "{answer:?}");
    (peer, answer[0]["result"]["capabilities"].clone())
}

/// Calls a tool in a session, or with this metadata; looks at the request.
fn request(peer: &mut Peer, meta: Option<Value>, look: impl Fn(Request<'_>)) {
    let mut params = json!({"name": "a"});
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    // A letter of an id is escaped.
    let call = call.to_string().replace(r#"example/x""#, r#"example/\u0078""#);
    let sent = peer.say_text(&call, |server, event, tx| {
        let ServerEvent::Request(request) = event else { panic!("{event:?}") };
        look(OwnedRequest::from(&request).as_request());
        look(request);
        server.respond(request.handle, &TextResult::new(""), tx).unwrap();
    });
    assert!(matches!(&sent[..], [only] if only["result"].is_object()), "{sent:?}");
}

#[test]
fn x1_a_session_remembers_which_extensions_the_client_declared() {
    let declared =
        json!({UI: {"mimeTypes": ["text/html"]}, "org.example/unknown": {}, TASKS: {}, MAPS: 5});
    for revision in Revisions::LEGACY.iter() {
        let (mut peer, answer) = opened(&SERVER, revision, declared.clone());
        let ours = json!({"org.example/a": {"n": 1}, "org.example/b": {}});
        let ours = (revision >= Revision::V2025_06_18).then_some(&ours);
        assert_eq!(answer.get("extensions"), ours, "{revision}");
        request(&mut peer, None, |request| {
            assert!(request.has_extension(UI), "{revision}");
            // Not declared as an object; not registered; an extension that only 2026-07-28 has.
            for id in [MAPS, "org.example/unknown", TASKS, ""] {
                assert!(!request.has_extension(id), "{id} {revision}");
            }
            // Extension settings are not stored.
            assert!(request.extension(UI).is_none());
        });
    }
}

#[test]
fn x1_a_modern_request_declares_its_own_extensions() {
    let (mut peer, _) = opened(&SERVER, Revision::V2025_11_25, json!({MAPS: {}}));
    let capabilities = json!({"extensions": {UI: {"n": 1}, TASKS: {}, "org.example/x": {}, "org.example/no": true}});
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    request(&mut peer, Some(meta), |request| {
        assert_eq!(request.extension(UI).unwrap().as_str(), r#"{"n":1}"#);
        for (id, has_it) in [
            (UI, true),
            (TASKS, true),
            ("org.example/x", true),
            // The session's declaration does not apply to this request.
            (MAPS, false),
            ("org.example/no", false),
            ("org.example/y", false),
        ] {
            assert_eq!(request.has_extension(id), has_it, "{id}");
        }
    });
    request(&mut peer, None, |request| {
        assert!(request.has_extension(MAPS) && !request.has_extension(UI));
    });
}

#[test]
fn x1_a_server_registers_at_most_sixteen_extensions() {
    const IDS: [&str; MAX_EXTENSIONS + 1] = [
        "a.b/0", "a.b/1", "a.b/2", "a.b/3", "a.b/4", "a.b/5", "a.b/6", "a.b/7", "a.b/8", "a.b/9",
        "a.b/10", "a.b/11", "a.b/12", "a.b/13", "a.b/14", "a.b/15", "a.b/16",
    ];
    const INFO: Implementation<'_> = Implementation::new("s", "1");
    static CONFIG: ServerConfig<'_> =
        ServerConfig::new(INFO, ServerFeatures::TOOLS).client_extensions(&IDS);
    assert_eq!(CONFIG.check(), Err(ConfigError::TooManyExtensions));
    let with = |ids| SERVER.client_extensions(ids).check();
    assert_eq!((with(&IDS[..MAX_EXTENSIONS]), with(&[])), (Ok(()), Ok(())));
    assert_eq!(with(&["a.b/0", "no-prefix"]), Err(ConfigError::ExtensionId));
    let all = IDS.iter().map(|id| ((*id).to_owned(), json!({}))).collect();
    let (mut peer, _) = opened(&CONFIG, Revision::V2025_11_25, Value::Object(all));
    request(&mut peer, None, |request| {
        assert_eq!(IDS.iter().filter(|id| request.has_extension(id)).count(), MAX_EXTENSIONS);
        assert!(!request.has_extension(IDS[MAX_EXTENSIONS]));
    });
}

#[test]
fn x1_a_client_declares_its_extensions_in_initialize_and_learns_of_the_servers() {
    let config = ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE)
        .extensions(RawJson::from_static(
            r#"{"io.modelcontextprotocol/ui":{"mimeTypes":[]},"io.modelcontextprotocol/tasks":{}}"#,
        ))
        .revisions(Revisions::LEGACY);
    let mut client = new_client::<8>(&config);
    let mut tx = TxBuffer::new(vec![0; 4096]);
    client.connect(NOW, &mut tx).unwrap();
    let sent = String::from_utf8(tx.pending().to_vec()).unwrap();
    let ours = r#""extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[]}}"#;
    assert!(sent.contains(ours) && !sent.contains(TASKS), "{sent}");
    tx.advance(usize::MAX);
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"extensions":{{"{MAPS}":{{"zoom":3}},"{TASKS}":{{}},"{UI}":1}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    );
    let mut messages = Messages::new(Frame::Complete(answer.as_bytes()));
    let event = client.next_event(NOW, &mut messages, &mut tx);
    let Ok(Some(ClientEvent::Connected(opened))) = event else { panic!("{event:?}") };
    assert_eq!(opened.extension(MAPS).unwrap().as_str(), r#"{"zoom":3}"#);
    assert!(opened.extension(TASKS).is_none() && opened.extension(UI).is_none());
}

#[test]
fn x1_tasks_alone_leave_nothing_to_declare_in_a_session() {
    let only = RawJson::from_static(r#"{"io.modelcontextprotocol\/tasks":{}}"#);
    let server = ServerCapabilities::new(ServerFeatures::NONE).extensions(only);
    let client = ClientCapabilities::new(ClientFeatures::NONE).extensions(only);
    for revision in Revisions::ALL.iter() {
        for written in [OwnedJson::new(&server, revision), OwnedJson::new(&client, revision)] {
            let is_declared = written.unwrap().as_json().get("extensions").is_some();
            assert_eq!(is_declared, revision.is_modern(), "{revision}");
        }
    }
}
