//! Messages of clients of all revisions, and mutations of them.

use super::super::script::Script;

/// One or more lines, perhaps mutated, usually with their end. `asked` lists the ids of the
/// server's calls.
pub(super) fn bytes(script: &Script<'_>, asked: &[String]) -> Vec<u8> {
    let mut bytes = match script.below(16) {
        14 => {
            let n = script.below(64);
            script.take(n).to_vec()
        }
        15 => long(script),
        _ => message(script, asked),
    };
    if script.once_in(6) {
        for _ in 0..=script.below(3) {
            mutate(script, &mut bytes);
        }
    }
    bytes.extend_from_slice(script.pick(&["\n", "\n", "\n", "\r\n", "\n\n", " \n", ""]).as_bytes());
    bytes
}

/// The first lines: usually a handshake.
pub(super) fn opening(script: &Script<'_>) -> String {
    match script.below(6) {
        0 => String::new(),
        n => format!("{}\n{}\n", TEMPLATES[n % 4].replace('#', "0"), TEMPLATES[5]),
    }
}

/// Input in the middle of a frame: a cancellation, a response, or anything.
pub(super) fn interruption(script: &Script<'_>, asked: &[String]) -> Vec<u8> {
    let id = *script.pick(&IDS[..6]);
    match (script.below(3), asked.first()) {
        (0, _) => CALLS[3].replace('#', id).into_bytes(),
        (1, Some(asked)) => {
            format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":{{}}}}"#).into_bytes()
        }
        _ => bytes(script, asked),
    }
}

fn message(script: &Script<'_>, asked: &[String]) -> Vec<u8> {
    // Half of them are `tools/call`, which has the most consequences.
    let template = if script.once_in(2) { *script.pick(&CALLS) } else { *script.pick(&TEMPLATES) };
    let id = *script.pick(&IDS);
    let other = *script.pick(&IDS);
    let answered = if asked.is_empty() { "1" } else { script.pick(asked) };
    let filled =
        template.replace("META", META).replace('#', id).replace('%', other).replace('@', answered);
    filled.into_bytes()
}

/// A long `tools/call`, with `id` first or last.
fn long(script: &Script<'_>) -> Vec<u8> {
    let id = *script.pick(&IDS);
    let filler = match script.below(3) {
        0 => format!("\"{}\"", "long ".repeat(script.below(256) * 8)),
        1 => {
            let depth = script.below(90);
            "[".repeat(depth) + &"]".repeat(depth)
        }
        _ => format!("[{}0]", "[],{},".repeat(script.below(256))),
    };
    let call = r#""method":"tools/call","params":{"name":"t","arguments":{"a":"#;
    if script.once_in(2) {
        format!(r#"{{"jsonrpc":"2.0",{call}{filler}}}}},"id":{id}}}"#).into_bytes()
    } else {
        format!(r#"{{"jsonrpc":"2.0","id":{id},{call}{filler}}}}}}}"#).into_bytes()
    }
}

fn mutate(script: &Script<'_>, bytes: &mut Vec<u8>) {
    let at = (script.below(256) * 256 + script.below(256)) % (bytes.len() + 1);
    let len = script.below(12).min(bytes.len() - at);
    match script.below(6) {
        0 => drop(bytes.drain(at..at + len)),
        1 => bytes.truncate(at),
        2 => {
            let copy = bytes[at..at + len].to_vec();
            bytes.splice(at..at, copy);
        }
        3 => bytes.insert(at, *script.pick(b"\"\\{}[],:0 \n\xff\xc3e-.\x00")),
        4 => bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << script.below(8)),
        _ => bytes.iter_mut().skip(at).take(1).for_each(|b| *b = script.byte()),
    }
}

/// One id in several spellings, and invalid ids.
const IDS: [&str; 14] = [
    "1",
    "2",
    "3",
    "4",
    "5",
    "\"a\"",
    "\"\\u0061\"",
    "1.0",
    "10e-1",
    "-7",
    "9007199254740993",
    "\"123e4567-e89b-12d3-a456-426614174000\"",
    "\"an id that is longer than all that are accepted: it has more than the ninety-six bytes which are kept of one\"",
    "null",
];

const META: &str = concat!(
    r#""_meta":{"progressToken":%,"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/logLevel":"info"}"#,
);

const CALLS: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":{"name":"t","arguments":{"text":"x"},"_meta":{"progressToken":%}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":{"name":"t","arguments":{"text":"y"},META}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["m://1","m://2"]},META}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":#}}"#,
];

/// `#` is the id of the message, `%` another one, `@` the id of a call of the server.
const TEMPLATES: [&str; 57] = [
    r#"{"jsonrpc":"2.0","id":#,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"sampling":{},"roots":{"listChanged":true}},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{"tools":{}},"roots":{},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"initialize","params":{"protocolVersion":"1.0"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/list","params":{"cursor":"2"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":{"name":"t","arguments":{"text":"x"},"_meta":{"progressToken":%}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":{"name":"t","arguments":{"text":"\u00e9\n\"","n":[1.50,-0,1e400]},"_meta":{"progressToken":%}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools\/call","params":{"n\u0061me":"t"}}"#,
    r#"{"method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":"t","arguments":{}},"jsonrpc":"2.0","id":#}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":{"name":7}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":[]}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"resources/list"}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"resources/read","params":{"uri":"m://1"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"resources/subscribe","params":{"uri":"m://1"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"resources/subscribe","params":{"uri":"m://2"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"resources/unsubscribe","params":{"uri":"m:\/\/1"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"prompts/get","params":{"name":"p","arguments":{"a":"b"}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"logging/setLevel","params":{"level":"error"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"logging/setLevel","params":{"level":"loud"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"shutdown"}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"own/method","params":{"of":"the application"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"nobody/knows"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%,"reason":"because"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":#}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
    r#"{"jsonrpc":"2.0","id":@,"result":{"role":"assistant","content":{"type":"text","text":"42"},"model":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":@,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":@,"error":{"code":-1,"message":"no"}}"#,
    r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}"#,
    r#"[{"jsonrpc":"2.0","id":#,"method":"ping"},{"jsonrpc":"2.0","id":%,"method":"tools/call","params":{"name":"t"}},{"jsonrpc":"2.0","id":@,"result":{}}]"#,
    r#"[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%}},1,{"jsonrpc":"2.0","id":#,"method":"tools/list"}]"#,
    r#"[]"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"server/discover","params":{META}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":{"name":"t","arguments":{"text":"y"},META}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":{META,"name":"t","inputResponses":{"k":{"action":"accept"}},"requestState":"s"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"resources/read","params":{"uri":"m://1",META}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["m://1","m://2"]},META}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true},META}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":{"name":"t","task":{"ttl":30000}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tools/call","params":{"name":"t","task":{}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tasks/get","params":{"taskId":"01010101010101010101010101010101"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tasks/result","params":{"taskId":"02020202020202020202020202020202"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tasks/cancel","params":{"taskId":"02020202020202020202020202020202"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tasks/list","params":{"cursor":"2"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tasks/list"}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tasks/get","params":{"taskId":"01010101010101010101010101010101",META}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tasks/update","params":{"taskId":"01010101010101010101010101010101","inputResponses":{"1":{},"2":{"action":"accept"},"03":{}},META}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"tasks/cancel","params":{"taskId":"02020202020202020202020202020202",META}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"taskIds":["01010101010101010101010101010101","04040404040404040404040404040404","02020202020202020202020202020202"]},META}}"#,
    "Listening on stdio",
];
