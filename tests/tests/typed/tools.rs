//! Enums of tools.

use mcp_sansio::internal::typed::read_found;
use mcp_sansio::typed::{Faults, Input, InputObject, Object, OneOf, Output, ToolCall, Tools};
use mcp_sansio::types::ui::ToolMeta;
use mcp_sansio::types::{Implementation, Text, Tool};
use mcp_sansio::{
    CallOptions, Catalog, ClientConfig, ClientFeatures, Connection, Era, Instant, JsonStr, RawJson,
    Revision, RxBuffer, ServerConfig, ServerEvent, ServerFeatures, ServerState, Step, Target,
    TxBuffer, entries, ui_meta,
};
use mcp_sansio_tests::memory::new_client;
use serde_json::{Value, json};

use crate::zoo::{Drawing, Query};

#[derive(Tools, Debug)]
enum Call<'a> {
    /// Runs a statement.
    #[tool(read_only, title = "Query")]
    Query(Query<'a>),
    /// Switches the lamp.
    #[tool(destructive = false, idempotent, open_world = false)]
    SetLamp {
        /// Whether it shines.
        on: bool,
        #[arg(range = 0..=100, default = 100)]
        percent: u8,
    },
    #[tool(flatten)]
    Files(files::Call<'a>),
    /// Milliseconds since the start.
    Uptime,
    /// Says something.
    #[tool(name = "say.loudly")]
    Say { text: Text<'a> },
    #[tool(flatten)]
    Pictures(Pictures<'a>),
}

mod files {
    use mcp_sansio::typed::Tools;
    use mcp_sansio::types::Text;

    #[derive(Tools, Debug)]
    pub(crate) enum Call<'a> {
        /// Reads a file.
        ReadFile { path: Text<'a> },
        /// Lists files.
        ListFiles,
    }
}

#[derive(Tools, Debug)]
enum Pictures<'p> {
    /// Draws.
    Draw(Drawing<'p>),
}

static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[test]
fn a_call_that_the_catalog_has_found_is_read_as_by_its_name() {
    static CONFIG: ServerConfig =
        ServerConfig::new(Implementation::new("t", "1"), ServerFeatures::TOOLS);
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    // Objects and arrays before strings, more members than have places, and faults.
    let calls = [
        ("uptime", "{}"),
        ("set_lamp", r#"{"on":1}"#),
        ("read_file", r#"{"path":"p"}"#),
        ("read_file", r#" { "p\u0061th" : "a\"b" } "#),
        ("read_file", r#"{"x":{"path":"y"},"path":"p"}"#),
        ("read_file", r#"{"path":"p","path":"q"}"#),
        ("query", r#"{"tags":["a","b"],"sql":"x","limit":7,"columns":[],"mode":"fast","limit":8}"#),
        ("query", r#"{"columns":[{"columnName":"c","ascending":true}],"sql":"x","region":"r"}"#),
        (
            "query",
            r#"{"limit":null,"tags":["a"],"mode":null,"columns":null,"sql":"\\","region":"r"}"#,
        ),
        (
            "draw",
            r#"{"shapes":[{"kind":"circle","radius":1,"label":"l"}],"origin":{"x":1},"angle":2}"#,
        ),
    ];
    let lines: String = (1..)
        .zip(calls)
        .map(|(id, (name, arguments))| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments},"_meta":{meta}}}}}"#
            ) + "\n"
        })
        .collect();
    let mut input = RxBuffer::new(vec![0; 8192]);
    input.spare()[..lines.len()].copy_from_slice(lines.as_bytes());
    input.commit(lines.len());
    let (state, output) = (ServerState::<16, 0>::new(), TxBuffer::new(vec![0; 2048]));
    let mut connection: Connection<'_, _, _, _> = Connection::new(&CONFIG, state, input, output);
    let catalog = CATALOG.checked_when_read();
    let mut found = 0;
    loop {
        let (request, mut turn) = match connection.next(Instant::from_millis(1)) {
            Step::Event(ServerEvent::Request(request), turn) => (request, turn),
            Step::Io { .. } => break,
            _ => continue,
        };
        let (server, tx) = turn.parts();
        let Ok(Target::Tool(tool)) = catalog.respond(server, &request, tx) else { panic!() };
        let name = request.name().expect("a call has one");
        // The text alone says nothing of the places that were kept.
        let read = Call::parse(name, request.arguments().as_json()).unwrap();
        let read = read.map_err(|faults| faults.to_string());
        let by_name = Call::from_request(&request).unwrap().map_err(|faults| faults.to_string());
        let call = read_found::<Call>(tool, &request).expect("the constant of the enum");
        let call = call.map_err(|faults| faults.to_string());
        assert_eq!(format!("{call:?} {by_name:?}"), format!("{read:?} {read:?}"));
        found += 1;
        // A copy has the name, but is not that constant.
        assert!(read_found::<Call>(&tool.clone(), &request).is_none());
    }
    assert_eq!(found, calls.len());
}

fn call<'a>(name: &str, arguments: &'a str) -> Option<Result<Call<'a>, Faults<'a>>> {
    Call::parse(name, RawJson::parse(arguments).unwrap())
}

#[test]
fn tools_are_listed_with_schema_description_and_annotations() {
    CATALOG.check().unwrap();
    let names: Vec<String> = Call::TOOLS.iter().map(|tool| tool.key().to_string()).collect();
    let expected = ["query", "set_lamp", "uptime", "say.loudly", "read_file", "list_files", "draw"];
    assert_eq!(names, expected);
    assert_eq!(Call::TOOLS[0].input_schema(), Query::SCHEMA);
    let mut buffer = [0; 1024];
    let json = mcp_sansio::to_slice(&Call::TOOLS[1], Revision::LATEST, &mut buffer).unwrap();
    assert_eq!(
        json.as_str(),
        concat!(
            r#"{"name":"set_lamp","inputSchema":{"type":"object","properties":{"on":{"type":"#,
            r#""boolean","description":"Whether it shines."},"percent":{"type":"integer","minimum":"#,
            r#"0,"maximum":100,"default":100}},"required":["on"],"additionalProperties":false},"#,
            r#""description":"Switches the lamp.","annotations":{"destructiveHint":false,"#,
            r#""idempotentHint":true,"openWorldHint":false}}"#
        )
    );
}

#[test]
fn a_call_is_a_variant() {
    let sql = call("query", r#"{"sql":"x"}"#).unwrap().unwrap();
    assert!(matches!(sql, Call::Query(query) if query.sql == "x"));
    let lamp = call("set_lamp", r#"{"on":true}"#).unwrap().unwrap();
    assert!(matches!(lamp, Call::SetLamp { on: true, percent: 100 }));
    assert!(matches!(call("uptime", "{}"), Some(Ok(Call::Uptime))));
    let text = call("say.loudly", r#"{"text":"a"}"#).unwrap().unwrap();
    assert!(matches!(text, Call::Say { text } if text == "a"));
    let path = call("read_file", r#"{"path":"a"}"#).unwrap().unwrap();
    assert!(matches!(path, Call::Files(files::Call::ReadFile { path }) if path == "a"));
    let list = call("list_files", "{}").unwrap().unwrap();
    assert!(matches!(list, Call::Files(files::Call::ListFiles)));
    let draw = call("draw", r#"{"shapes":[{"kind":"nothing"}],"origin":{"x":1}}"#);
    let Call::Pictures(Pictures::Draw(drawing)) = draw.unwrap().unwrap() else { panic!() };
    assert_eq!(drawing.origin.x, 1);
    let escaped = Call::parse(JsonStr::from_static(r#""upt\u0069me""#), RawJson::EMPTY);
    assert!(matches!(escaped, Some(Ok(Call::Uptime))));
}

#[test]
fn unknown_names_and_faults_are_told_apart() {
    for name in ["", "Query", "query ", "querz", "uptime\u{e9}", "say_loudly"] {
        assert!(call(name, "{}").is_none(), "{name}");
    }
    let faults = call("set_lamp", r#"{"percent":101}"#).unwrap().unwrap_err();
    assert_eq!(
        faults.to_string(),
        "percent: must be an integer from 0 to 100, is 101\non: is missing, must be true or false"
    );
    let faults = call("uptime", r#"{"a":1}"#).unwrap().unwrap_err();
    assert_eq!(faults.to_string(), "a: is unknown, must be left out");
}

#[derive(Tools)]
enum Other {
    /// Is another tool.
    Other,
}

#[test]
#[should_panic(expected = "two entries have the same name or URI")]
fn a_later_list_has_no_name_of_an_earlier_one() {
    let _ = CATALOG
        .tools(entries![Tool::new("first", RawJson::EMPTY), Tool::new("uptime", RawJson::EMPTY),]);
}

#[test]
#[should_panic(expected = "the catalog has an enum of tools already: see `flatten`")]
fn r3_b1_a_second_enum_of_tools_does_not_replace_the_first() {
    let _ = CATALOG.tools_of::<Other>();
}

/// The call of a tool, for the client.
#[derive(Output, ToolCall)]
#[tool(returns = Lamp)]
struct SetLamp {
    percent: u8,
    on: bool,
}

#[derive(Input)]
struct Lamp {}

#[test]
fn a_typed_call_has_the_name_and_the_arguments_of_its_tool() {
    static CLIENT: ClientConfig =
        ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
    let (now, mut tx) = (Instant::from_millis(0), TxBuffer::new([0; 512]));
    let mut client = new_client::<1>(&CLIENT);
    client.set_era(Some(Era::Modern));
    client.connect(now, &mut tx).unwrap();
    let lamp = SetLamp { percent: 7, on: true };
    client.call_tool(now, &lamp, CallOptions::new(), &mut tx).unwrap();
    let sent: Value = serde_json::from_slice(tx.pending()).expect("one frame");
    assert_eq!(sent["method"], "tools/call");
    assert_eq!(sent["params"]["name"], "set_lamp");
    assert_eq!(sent["params"]["arguments"], json!({"percent": 7, "on": true}));
}

#[test]
fn constants_of_a_program_may_have_any_name() {
    const COUNT: u32 = 10;
    const RULE: u32 = 3;
    const UI: ToolMeta<'static> = ToolMeta::new().resource_uri("ui://a");
    const META: ToolMeta<'static> = UI;
    #[derive(Debug, PartialEq, Tools)]
    enum Lamp<'a> {
        /// Blinks.
        #[tool(ui = UI)]
        Blink {
            #[arg(range = 1..=COUNT)]
            times: u32,
            #[arg(length = ..=RULE)]
            color: Text<'a>,
        },
    }
    let arguments = RawJson::parse(r#"{"times":10,"color":"red"}"#).unwrap();
    let blink = Lamp::Blink { times: 10, color: "red".into() };
    assert_eq!(Lamp::parse("blink", arguments).unwrap().unwrap(), blink);
    let arguments = RawJson::parse(r#"{"times":11,"color":"blue"}"#).unwrap();
    let refused = Lamp::parse("blink", arguments).unwrap().unwrap_err().to_string();
    assert_eq!(refused.lines().count(), 2, "{refused}");
    assert_eq!(ui_meta!(META).as_str(), r#"{"ui":{"resourceUri":"ui://a"}}"#);
}

#[test]
fn types_and_other_derives_of_a_program_may_have_any_name() {
    #[derive(Debug, PartialEq, Input, serde::Serialize)]
    struct ArgumentsQuery {
        sql: u8,
    }
    #[derive(Debug, PartialEq, Tools, serde::Serialize)]
    enum Call {
        /// Asks.
        Query {
            #[serde(rename = "q")]
            query: ArgumentsQuery,
        },
    }
    let arguments = RawJson::from_static(r#"{"query":{"sql":1}}"#);
    let query = Call::Query { query: ArgumentsQuery { sql: 1 } };
    assert_eq!(Call::parse("query", arguments).unwrap().unwrap(), query);
}

#[test]
#[should_panic(expected = "two names are equal")]
fn a_choice_has_one_object_for_each_name() {
    const NONE: Object = Object::new(&[], false);
    let _ = OneOf::new("kind", &["a", "a"], &[&NONE, &NONE]);
}
