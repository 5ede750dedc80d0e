//! Arguments of a tool, read into a type. The derive checks them as well; serde_json does not.

use std::hint::black_box;

use mcp_sansio::typed::{Input, InputObject};
use mcp_sansio::types::{Text, Tool};
use mcp_sansio::{Entry, Frame, Instant, Messages, RawJson, ServerEvent, TxBuffer, entries};
use serde::Deserialize;

use crate::{Case, ours};

/// 105 bytes.
const ARGUMENTS: &str = r#"{"sql":"select name, age from people where age > 30 order by name","limit":50,"mode":"exact","dry":false}"#;

#[derive(Input)]
struct Query<'a> {
    #[arg(length = 1..=200)]
    sql: Text<'a>,
    #[arg(range = 1..=1000, default = 100)]
    limit: u32,
    #[arg(default = Mode::Fast)]
    mode: Mode,
    dry: Option<bool>,
}

#[derive(Input, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Fast,
    Exact,
}

#[derive(Deserialize)]
struct SerdeQuery<'a> {
    sql: &'a str,
    limit: Option<u32>,
    mode: Option<Mode>,
    dry: Option<bool>,
}

/// A tool with schemas by hand, of two described members.
static UNTYPED: &[Entry<'static>] =
    entries![Tool::new("repeat", DESCRIBED).output_schema(DESCRIBED)];
const DESCRIBED: RawJson = RawJson::from_static(
    r#"{"type":"object","properties":{"text":{"type":"string","description":"What to say"},"times":{"type":"integer","description":"How often"}},"required":["text","times"]}"#,
);
/// The rules of [`Query`] by hand.
static LIMITED: &[Entry<'static>] =
    entries![Tool::new("query", Query::SCHEMA).output_schema(Query::SCHEMA)];

#[derive(Input)]
struct Described<'a> {
    text: Text<'a>,
    times: i64,
}

/// Checks alone: of the arguments of a call, and of the structured content of a result.
fn checks() -> Vec<Case> {
    const TWO: &str = r#"{"text":"Hello, how are you?","times":3}"#;
    let input = |name: &str, entries: &'static [Entry<'static>], text: &str| {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{text}}}}}"#
        );
        let (mut server, mut tx) = (ours::open(), TxBuffer::new(vec![0; 1024]));
        let mut messages = Messages::new(Frame::Complete(line.leak().as_bytes()));
        let event = server.next_event(Instant::from_millis(0), &mut messages, &mut tx);
        let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
        let arguments = request.arguments();
        Case::new(name, text.len(), move || {
            usize::from(black_box(entries)[0].check_arguments(black_box(&arguments)).is_ok())
        })
    };
    let output = |name: &str, entries: &'static [Entry<'static>], text| {
        let content = RawJson::from_static(text);
        Case::new(name, text.len(), move || {
            usize::from(black_box(entries)[0].check_structured(Some(black_box(content))).is_ok())
        })
    };
    let two = RawJson::from_static(TWO);
    let typed = move || {
        let described = Described::parse(black_box(two)).unwrap();
        described.text.as_plain().map_or(0, str::len) + described.times as usize
    };
    vec![
        input("check-input-untyped", UNTYPED, TWO),
        output("check-output-untyped", UNTYPED, TWO),
        Case::new("check-input-typed", TWO.len(), typed),
        input("check-input-limited", LIMITED, ARGUMENTS),
        output("check-output-limited", LIMITED, ARGUMENTS),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let raw = RawJson::from_static(ARGUMENTS);
    let derive = move || {
        let Query { sql, limit, mode, dry } = Query::parse(black_box(raw)).unwrap();
        sql.as_plain().unwrap_or_default().len() + sum(limit, Some(mode), dry)
    };
    let serde_json = || {
        let query: SerdeQuery<'_> = serde_json::from_str(black_box(ARGUMENTS)).unwrap();
        query.sql.len() + sum(query.limit.unwrap_or(100), query.mode, query.dry)
    };
    let mut cases = vec![
        Case::new("arguments-105", ARGUMENTS.len(), derive),
        Case::new("serde_json-arguments-105", ARGUMENTS.len(), serde_json),
    ];
    cases.extend(checks());
    cases
}

fn sum(limit: u32, mode: Option<Mode>, dry: Option<bool>) -> usize {
    limit as usize + usize::from(matches!(mode, Some(Mode::Exact))) + usize::from(dry == Some(true))
}
