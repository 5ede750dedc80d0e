//! The peers of all transcripts, with a server in C and one in Rust of the same configuration: both
//! send the same bytes.

mod common;

use std::ptr::null;
use std::time::Duration;

use common::{Host, NO_TOOL, config, prompt, resource, template};
use mcp_sansio::types::{Implementation, Prompt, PromptArgument, Resource, ResourceTemplate, Tool};
use mcp_sansio::{
    Catalog, Connection, Instant, RawJson, RxBuffer, ServerConfig, ServerEvent, ServerFeatures,
    ServerState, Step, Target, TxBuffer, entries,
};
use mcp_sansio_c::{mcp_status::*, mcp_step::*, *};
use mcp_sansio_tests::transcript;

const RX: usize = 4096;

// The entries of the transcripts with a catalog, and a tool with arguments.
const SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}"#,
    "\0"
);
static TOOLS: [mcp_tool; 4] = [
    mcp_tool { name: c"a".as_ptr(), input_schema: OBJECT, ..NO_TOOL },
    mcp_tool {
        name: c"b".as_ptr(),
        description: c"The second".as_ptr(),
        input_schema: OBJECT,
        ..NO_TOOL
    },
    mcp_tool { name: c"c".as_ptr(), input_schema: OBJECT, ..NO_TOOL },
    mcp_tool { name: c"echo".as_ptr(), input_schema: SCHEMA.as_ptr().cast(), ..NO_TOOL },
];
const OBJECT: *const std::ffi::c_char = c"{\"type\":\"object\"}".as_ptr();
static CONFIG: mcp_config = config(c"s", &TOOLS);
static RESOURCES: [mcp_resource; 2] = [resource(c"file:///a", c"a"), resource(c"file:///b", c"b")];
static TEMPLATES: [mcp_template; 1] = [template(c"row://{table}/{id}", c"row")];
static PROMPTS: [mcp_prompt; 2] = [
    prompt(c"p", null()),
    prompt(c"q", c"[{\"name\":\"x\",\"required\":true},{\"name\":\"y\"}]".as_ptr()),
];

const IN_RUST: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);
static CATALOG: Catalog = Catalog::new().tools(entries![
    Tool::new("a", IN_RUST),
    Tool::new("b", IN_RUST).description("The second"),
    Tool::new("c", IN_RUST),
    Tool::new("echo", RawJson::from_static(SCHEMA.split_at(SCHEMA.len() - 1).0)),
]);
static EVERYTHING: Catalog = CATALOG
    .resources(entries![Resource::new("file:///a", "a"), Resource::new("file:///b", "b")])
    .templates(entries![ResourceTemplate::new("row://{table}/{id}", "row")])
    .prompts(entries![
        Prompt::new("p"),
        Prompt::new("q")
            .arguments(&[PromptArgument::new("x").required(true), PromptArgument::new("y"),]),
    ]);

/// Returns what the server in C sends, which responds to each request at once.
fn in_c(input: &[(u64, Vec<u8>)], everything: bool, tx: usize, piece: usize) -> Vec<u8> {
    let mut host = Host::new(&CONFIG, RX, tx);
    host.piece = piece;
    if everything {
        // SAFETY: it is a server, and the tables are constant.
        unsafe {
            let server = host.server;
            mcp_server_resources(server, RESOURCES.as_ptr(), 2, TEMPLATES.as_ptr(), 1);
            mcp_server_prompts(server, PROMPTS.as_ptr(), 2);
            mcp_server_completions(server);
            mcp_server_logging(server);
            mcp_server_subscriptions(server);
            mcp_server_request_timeout(server, 1);
            mcp_server_peer_can_reconnect(server);
        }
    }
    for (now, bytes) in input {
        host.now = *now;
        host.feed(bytes, &mut |host, step, event| {
            if (MCP_TOOL as i32..=MCP_COMPLETE_TEMPLATE as i32).contains(&(step as i32)) {
                // SAFETY: it is a server, and the text is one.
                let sent = host.send(|server| unsafe {
                    mcp_reply_result(server, event.request, c"{}".as_ptr())
                });
                assert_eq!(sent, MCP_OK);
            }
        });
    }
    std::mem::take(&mut host.sent)
}

/// Returns what a server in Rust sends.
fn in_rust(input: &[(u64, Vec<u8>)], everything: bool) -> Vec<u8> {
    let (config, catalog) = if everything {
        let features = EVERYTHING.features();
        let features = [
            ServerFeatures::COMPLETIONS,
            ServerFeatures::LOGGING,
            ServerFeatures::TOOLS_LIST_CHANGED,
            ServerFeatures::RESOURCES_LIST_CHANGED,
            ServerFeatures::RESOURCES_SUBSCRIBE,
            ServerFeatures::PROMPTS_LIST_CHANGED,
        ]
        .into_iter()
        .fold(features, ServerFeatures::with);
        let config = ServerConfig::new(Implementation::new("s", "1"), features)
            .request_timeout(Duration::from_secs(1))
            .peer_can_reconnect(true);
        (config, &EVERYTHING)
    } else {
        (ServerConfig::new(Implementation::new("s", "1"), CATALOG.features()), &CATALOG)
    };
    let (rx, tx) = (RxBuffer::new(vec![0; RX]), TxBuffer::with_limit(Vec::new(), 1 << 24));
    let mut connection: Connection<'_, _, _, _> =
        Connection::new(&config, ServerState::<4, 4>::new(), rx, tx);
    let mut sent = Vec::new();
    for (now, bytes) in input {
        let mut rest = &bytes[..];
        loop {
            match connection.next(Instant::from_millis(*now)) {
                Step::Event(ServerEvent::Request(request), mut turn) => {
                    let (server, tx) = turn.parts();
                    if !matches!(catalog.respond(server, &request, tx), Ok(Target::Responded)) {
                        server.respond_raw(request.handle, RawJson::EMPTY, tx).expect("room");
                    }
                }
                Step::Event(..) | Step::Again => {}
                Step::Io { write, mut read, .. } => {
                    let got = rest.len().min(read.spare().len());
                    read.spare()[..got].copy_from_slice(&rest[..got]);
                    read.commit(got);
                    rest = &rest[got..];
                    let n = write.len();
                    sent.extend_from_slice(write);
                    connection.wrote(n);
                    if got + n == 0 {
                        break;
                    }
                }
                Step::Closed => unreachable!("the input has not ended"),
            }
        }
    }
    sent
}

#[test]
fn the_peers_of_all_transcripts_get_the_same_bytes() {
    let (mut played, mut bytes) = (0, 0);
    for transcript in transcript::all() {
        let input = transcript::input(&transcript).expect("its options are known");
        if input.is_empty() {
            continue;
        }
        for everything in [false, true] {
            let expected = in_rust(&input, everything);
            for (tx, piece) in [(4096, usize::MAX), (128, 50), (64, 1)] {
                let sent = in_c(&input, everything, tx, piece);
                let [sent, expected] = [&sent, &expected].map(|text| String::from_utf8_lossy(text));
                assert_eq!(sent, expected, "{}, {tx} bytes, pieces of {piece}", transcript.name);
            }
            bytes += expected.len();
        }
        played += 1;
    }
    println!("{played} transcripts, {bytes} bytes sent");
    assert!(played > 240, "only {played} transcripts of servers");
}
