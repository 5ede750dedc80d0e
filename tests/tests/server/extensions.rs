//! Extensions are negotiated in each revision that has sessions or requests to declare them in
//! (SEP-2133).

use mcp_sansio::types::{ClientCapabilities, Implementation, InitializeParams, ServerCapabilities};
use mcp_sansio::{
    ClientConfig, ClientEvent, ClientFeatures, ConfigError, Frame, Instant, MAX_EXTENSIONS,
    Messages, OwnedJson, OwnedRequest, RawJson, Request, Revisions, Server, ServerConfig,
    ServerEvent, ServerFeatures, TxBuffer,
};
use mcp_sansio_tests::memory::{new_client, new_server};

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

/// Handles one message and inspects the event.
fn hear<R>(
    server: &mut Server<'_>,
    text: &str,
    look: impl FnOnce(ServerEvent<'_>) -> R,
) -> (R, String) {
    let mut tx = TxBuffer::new(vec![0; 4096]);
    let mut messages = Messages::new(Frame::Complete(text.as_bytes()));
    let result = look(server.next_event(NOW, &mut messages, &mut tx).unwrap().expect("an event"));
    (result, String::from_utf8(tx.pending().to_vec()).unwrap())
}

fn initialize(revision: &str, extensions: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"extensions":{extensions}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

fn request<R>(server: &mut Server<'_>, text: &str, look: impl Fn(Request<'_>) -> R) -> R {
    let look = |event: ServerEvent<'_>| match event {
        ServerEvent::Request(request) => {
            let owned = OwnedRequest::from(&request);
            let _ = look(owned.as_request());
            look(request)
        }
        other => panic!("{other:?}"),
    };
    hear(server, text, look).0
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#;

#[test]
fn x1_a_session_remembers_which_extensions_the_client_declared() {
    for revision in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let mut server = new_server::<8, 8>(&SERVER);
        let declared = format!(
            r#"{{"{UI}":{{"mimeTypes":["text/html"]}},"org.example/unknown":{{}},"{TASKS}":{{}},"{MAPS}":5}}"#
        );
        let ((), answer) =
            hear(&mut server, &initialize(revision, &declared), |event| match event {
                ServerEvent::Initialize { params, .. } => {
                    let params: InitializeParams<'_> = params.to().unwrap();
                    let settings = params.capabilities.extension(UI).unwrap();
                    assert_eq!(settings.as_str(), r#"{"mimeTypes":["text/html"]}"#);
                }
                other => panic!("{other:?}"),
            });
        let ours = r#""extensions":{"org.example/a":{"n":1},"org.example/b":{}}"#;
        assert_eq!(answer.contains(ours), revision >= "2025-06-18", "{revision}: {answer}");
        assert!(
            !answer.contains(TASKS) && (revision >= "2025-06-18" || !answer.contains("extensions")),
            "{revision}: {answer}"
        );
        request(&mut server, CALL, |request| {
            assert!(request.has_extension(UI), "{revision}");
            // Not declared as an object; not registered; an extension that only 2026-07-28 has.
            assert!(
                ![MAPS, "org.example/unknown", TASKS, ""]
                    .iter()
                    .any(|id| request.has_extension(id)),
                "{revision}"
            );
            // Extension settings are not stored.
            assert!(request.extension(UI).is_none());
        });
    }
}

#[test]
fn x1_a_modern_request_declares_its_own_extensions() {
    let mut server = new_server::<8, 8>(&SERVER);
    let _ = hear(&mut server, &initialize("2025-11-25", &format!(r#"{{"{MAPS}":{{}}}}"#)), |_| ());
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"a","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"{UI}":{{"n":1}},"{TASKS}":{{}},"org.example/\u0078":{{}},"org.example/no":true}}}}}}}}}}"#
    );
    request(&mut server, &text, |request| {
        assert_eq!(request.extension(UI).unwrap().as_str(), r#"{"n":1}"#);
        assert!([UI, TASKS, "org.example/x"].iter().all(|id| request.has_extension(id)));
        // The session's declaration does not apply to this request.
        assert!(
            ![MAPS, "org.example/no", "org.example/y"].iter().any(|id| request.has_extension(id))
        );
    });
    request(&mut server, CALL, |request| {
        assert!(request.has_extension(MAPS) && !request.has_extension(UI))
    });
}

#[test]
fn x1_a_server_registers_at_most_sixteen_extensions() {
    const IDS: [&str; MAX_EXTENSIONS + 1] = [
        "a.b/0", "a.b/1", "a.b/2", "a.b/3", "a.b/4", "a.b/5", "a.b/6", "a.b/7", "a.b/8", "a.b/9",
        "a.b/10", "a.b/11", "a.b/12", "a.b/13", "a.b/14", "a.b/15", "a.b/16",
    ];
    const INFO: Implementation<'_> = Implementation::new("s", "1");
    const CONFIG: ServerConfig<'_> =
        ServerConfig::new(INFO, ServerFeatures::TOOLS).client_extensions(&IDS);
    assert_eq!(CONFIG.check(), Err(ConfigError::TooManyExtensions));
    let with = |ids| SERVER.client_extensions(ids).check();
    assert_eq!((with(&IDS[..MAX_EXTENSIONS]), with(&[])), (Ok(()), Ok(())));
    assert_eq!(with(&["a.b/0", "no-prefix"]), Err(ConfigError::ExtensionId));
    let all = IDS.map(|id| format!(r#""{id}":{{}}"#)).join(",");
    let mut server = new_server::<8, 8>(&CONFIG);
    let _ = hear(&mut server, &initialize("2025-11-25", &format!("{{{all}}}")), |_| ());
    request(&mut server, CALL, |request| {
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
    assert!(
        sent.contains(r#""extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[]}}"#)
            && !sent.contains(TASKS),
        "{sent}"
    );
    tx.advance(usize::MAX);
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"extensions":{{"{MAPS}":{{"zoom":3}},"{TASKS}":{{}},"{UI}":1}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    );
    let mut messages = Messages::new(Frame::Complete(answer.as_bytes()));
    match client.next_event(NOW, &mut messages, &mut tx).unwrap() {
        Some(ClientEvent::Connected(opened)) => {
            assert_eq!(opened.extension(MAPS).unwrap().as_str(), r#"{"zoom":3}"#);
            assert!(opened.extension(TASKS).is_none() && opened.extension(UI).is_none());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn x1_tasks_alone_leave_nothing_to_declare_in_a_session() {
    let only = RawJson::from_static(r#"{"io.modelcontextprotocol\/tasks":{}}"#);
    let server = ServerCapabilities::new(ServerFeatures::NONE).extensions(only);
    let client = ClientCapabilities::new(ClientFeatures::NONE).extensions(only);
    for revision in Revisions::ALL.iter() {
        for written in [OwnedJson::new(&server, revision), OwnedJson::new(&client, revision)] {
            assert_eq!(
                written.unwrap().as_json().get("extensions").is_some(),
                revision.is_modern(),
                "{revision}"
            );
        }
    }
}
