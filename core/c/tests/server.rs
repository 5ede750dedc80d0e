//! A server through the functions for C. Also under Miri, which sees what they do with pointers.

mod common;

use std::ffi::c_char;
use std::ptr::{null, null_mut};

use common::{Host, NO_TOOL, config, prompt, resource, template, text};
use mcp_sansio_c::{mcp_status::*, mcp_step::*, *};

static TOOLS: [mcp_tool; 2] = [
    mcp_tool { name: c"time".as_ptr(), hints: MCP_READ_ONLY | MCP_CLOSED_WORLD, ..NO_TOOL },
    mcp_tool {
        name: c"pin".as_ptr(),
        title: c"Pin".as_ptr(),
        description: c"Sets a pin, \"high\" or low".as_ptr(),
        input_schema: concat!(
            r#"{"type":"object","properties":{"number":{"type":"integer","maximum":30},"#,
            r#""name":{"type":"string"}},"required":["number"]}"#,
            "\0"
        )
        .as_ptr()
        .cast(),
        output_schema: c"{\"type\":\"object\"}".as_ptr(),
        ..NO_TOOL
    },
];
static CONFIG: mcp_config = mcp_config {
    title: c"Board".as_ptr(),
    instructions: c"Has pins.".as_ptr(),
    ..config(c"board", &TOOLS)
};

const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{},"progressToken":7}"#
);

fn request(id: u32, method: &str, params: &str) -> Vec<u8> {
    let comma = if params.is_empty() { "" } else { "," };
    let params = format!("{{{META}{comma}{params}}}");
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
    (line + "\n").into_bytes()
}

fn call(id: u32, name: &str, arguments: &str) -> Vec<u8> {
    request(id, "tools/call", &format!(r#""name":"{name}","arguments":{arguments}"#))
}

/// The program that answers nothing.
fn none(_: &mut Host, step: mcp_step, _: &mcp_event) {
    assert_eq!(step, MCP_VIOLATION);
}

#[test]
fn lists_and_refusals_need_nothing_of_the_program() {
    for piece in [1, 7, usize::MAX] {
        let mut host = Host::new(&CONFIG, 1024, 64);
        host.piece = piece;
        host.feed(&request(1, "tools/list", ""), &mut none);
        host.feed(&request(2, "tools/list", r#""cursor":"1""#), &mut none);
        host.feed(&call(3, "x", "{}"), &mut none);
        host.feed(&call(4, "pin", r#"{"number":31}"#), &mut none);
        host.feed(&call(5, "time", r#"{"zone":1}"#), &mut none);
        host.feed(&request(6, "resources/list", ""), &mut none);
        let lines = host.lines();
        let lists = concat!(
            r#"[{"name":"time","inputSchema":{"type":"object","additionalProperties":false},"#,
            r#""annotations":{"readOnlyHint":true,"openWorldHint":false}},"#,
            r#"{"name":"pin","inputSchema":{"type":"object","properties":{"number":{"#,
            r#""type":"integer","maximum":30},"name":{"type":"string"}},"required":["number"]},"#,
            r#""title":"Pin","description":"Sets a pin, \"high\" or low","#,
            r#""outputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public""#
        );
        assert!(lines[0].contains(lists), "{}", lines[0]);
        assert!(lines[1].contains(r#""message":"Invalid cursor""#), "{}", lines[1]);
        assert!(lines[2].contains(r#"-32602,"message":"Unknown tool"#), "{}", lines[2]);
        let words = r#"number: must be at most 30, is 31"}],"isError":true"#;
        assert!(lines[3].contains(words), "{}", lines[3]);
        assert!(lines[4].contains("zone: is unknown"), "{}", lines[4]);
        assert!(lines[5].contains("-32601"), "{}", lines[5]);
        assert_eq!(lines.len(), 6);
    }
}

#[test]
fn arguments_are_read_by_type_and_path() {
    static TOOLS: [mcp_tool; 1] = [mcp_tool {
        name: c"all".as_ptr(),
        input_schema: c"{\"type\":\"object\"}".as_ptr(),
        ..NO_TOOL
    }];
    static CONFIG: mcp_config = config(c"s", &TOOLS);
    let mut host = Host::new(&CONFIG, 1024, 256);
    let arguments = concat!(
        r#"{"yes":true,"small":-5,"large":5000000000,"half":2.5,"words":"a\u00e9\n","#,
        r#""zero":"\u0000","pins":[{"mode":"in"},{"mode":"out"}],"none":null}"#
    );
    let mut seen = false;
    host.feed(&call(1, "all", arguments), &mut |host, step, event| {
        assert_eq!((step, event.index), (MCP_TOOL, 0));
        let server = host.server;
        let (mut yes, mut small, mut large, mut half) = (false, 1, 1, 1.0);
        // SAFETY: it is a server, all are texts, and there is memory for what is read.
        unsafe {
            assert_eq!(mcp_arg_bool(server, c"yes".as_ptr(), &mut yes), MCP_OK);
            assert_eq!(mcp_arg_i32(server, c"small".as_ptr(), &mut small), MCP_OK);
            assert_eq!(mcp_arg_i64(server, c"large".as_ptr(), &mut large), MCP_OK);
            assert_eq!(mcp_arg_f64(server, c"half".as_ptr(), &mut half), MCP_OK);
            assert_eq!((yes, small, large, half), (true, -5, 5_000_000_000, 2.5));
            assert_eq!(mcp_arg_i32(server, c"large".as_ptr(), &mut small), MCP_INVALID);
            assert_eq!(mcp_arg_i32(server, c"half".as_ptr(), &mut small), MCP_INVALID);
            assert_eq!(mcp_arg_bool(server, c"none".as_ptr(), &mut yes), MCP_INVALID);
            assert_eq!(mcp_arg_i32(server, c"other".as_ptr(), &mut small), MCP_NONE);
            assert_eq!(mcp_arg_i32(server, null(), &mut small), MCP_INVALID);
            assert_eq!(mcp_arg_i32(server, c"small".as_ptr(), null_mut()), MCP_OK);
            assert_eq!(small, -5, "what cannot be read stays as it is");
            let string = |path: &'static std::ffi::CStr, size| {
                text(size, |out, size| mcp_arg_str(server, path.as_ptr(), out, size))
            };
            assert_eq!(string(c"words", 5), (MCP_OK, "aé\n".into()));
            assert_eq!(string(c"words", 4), (MCP_TOO_LARGE, String::new()));
            assert_eq!(string(c"words", 0).0, MCP_TOO_LARGE);
            assert_eq!(string(c"zero", 9), (MCP_INVALID, String::new()));
            assert_eq!(string(c"small", 9).0, MCP_INVALID);
            assert_eq!(string(c"pins/1/mode", 9), (MCP_OK, "out".into()));
            for path in [c"pins/2/mode", c"pins/-1/mode", c"pins/x", c"pins/", c"", c"words/x"] {
                assert_eq!(string(path, 9).0, MCP_NONE, "{path:?}");
            }
            let json = text(32, |out, size| mcp_arg_json(server, c"pins/0".as_ptr(), out, size));
            assert_eq!(json, (MCP_OK, r#"{"mode":"in"}"#.into()));
            let name = text(9, |out, size| mcp_param_str(server, c"name".as_ptr(), out, size));
            assert_eq!(name, (MCP_OK, "all".into()));
            let none = text(9, |out, size| mcp_variable(server, c"x".as_ptr(), out, size));
            assert_eq!(none.0, MCP_NONE, "a call has no variables");
            assert_eq!(mcp_reply_text(server, event.request, c"ok".as_ptr()), MCP_OK);
        }
        seen = true;
    });
    assert!(seen);
    // SAFETY: it is a server.
    unsafe { assert_eq!(mcp_arg_bool(host.server, c"yes".as_ptr(), null_mut()), MCP_GONE) }
}

#[test]
fn answers_are_longer_than_the_buffer_and_later_than_the_event() {
    let long: String = "0123456789\"\n".repeat(100) + "\0";
    let mut late = Vec::new();
    let mut host = Host::new(&CONFIG, 1024, 64);
    host.piece = 33;
    host.feed(
        &[call(1, "time", "{}"), call(2, "pin", r#"{"number":1}"#)].concat(),
        &mut |_, step, event| {
            assert_eq!(step, MCP_TOOL);
            late.push(event.request);
        },
    );
    // SAFETY: it is a server, and all are texts.
    unsafe {
        let progress = |done| mcp_progress(host.server, late[0], done, 3, null());
        assert_eq!([progress(1), progress(1)], [MCP_TOO_LARGE; 2], "64 bytes are too few");
        assert!(mcp_is_open(host.server, late[0]));
        let sent = host.send(|server| mcp_reply_text(server, late[0], long.as_ptr().cast()));
        assert_eq!(sent, MCP_OK);
        assert!(!mcp_is_open(host.server, late[0]));
        assert_eq!(mcp_reply_text(host.server, late[0], c"x".as_ptr()), MCP_GONE);
        assert_eq!(mcp_reply_text(host.server, 0, c"x".as_ptr()), MCP_GONE);
        assert_eq!(mcp_reply_text(host.server, late[1], null()), MCP_INVALID);
        assert_eq!(mcp_reply_text(host.server, late[1], c"\xff".as_ptr()), MCP_INVALID);
        assert_eq!(mcp_reply_json(host.server, late[1], c"{".as_ptr()), MCP_INVALID);
        assert_eq!(mcp_reply_result(host.server, late[1], c"[]".as_ptr()), MCP_INVALID);
        let sent = host.send(|server| mcp_reply_json(server, late[1], c"{\"x\":1}".as_ptr()));
        assert_eq!(sent, MCP_OK);
    }
    host.feed(b"", &mut none);
    let lines = host.lines();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains(&r#"0123456789\"\n"#.repeat(100)), "{}", lines[0]);
    let structured = r#""text":"{\"x\":1}"}],"structuredContent":{"x":1}"#;
    assert!(lines[1].contains(structured), "{}", lines[1]);
}

#[test]
fn an_answer_that_was_given_up_does_not_block_others() {
    let long = "x".repeat(500) + "\0";
    let mut host = Host::new(&CONFIG, 1024, 128);
    let two = [call(1, "time", "{}"), call(2, "time", "{}")].concat();
    host.feed(&two, &mut |host, _, event| {
        // SAFETY: it is a server, and the text is one.
        unsafe {
            if mcp_reply_text(host.server, event.request, long.as_ptr().cast()) == MCP_FULL {
                host.flush();
                assert_eq!(host.send(|server| mcp_abandon(server, event.request)), MCP_OK);
            }
        }
    });
    let lines = host.lines();
    for id in [1, 2] {
        let error = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603"#);
        assert!(lines.iter().any(|line| line.starts_with(&error)), "{lines:?}");
    }
}

#[test]
fn progress_logs_errors_and_cancellations() {
    let mut host = Host::new(&CONFIG, 1024, 512);
    // SAFETY: it is a server.
    unsafe { assert_eq!(mcp_server_logging(host.server), MCP_OK) }
    let meta = META.replace("\"progressToken\":7", "\"io.modelcontextprotocol/logLevel\":\"info\"");
    let line = String::from_utf8(call(1, "time", "{}")).unwrap().replace(META, &meta);
    host.feed(line.as_bytes(), &mut |host, _, event| {
        // SAFETY: it is a server, and all are texts.
        unsafe {
            let (server, request) = (host.server, event.request);
            assert_eq!(mcp_progress(server, request, 1, 2, null()), MCP_NONE);
            let log = |level, logger, text| mcp_log(server, request, level, logger, text);
            assert_eq!(log(MCP_DEBUG, null(), c"x".as_ptr()), MCP_NONE);
            assert_eq!(log(MCP_WARNING, c"pins".as_ptr(), c"hot".as_ptr()), MCP_OK);
            assert_eq!(log(8, null(), c"x".as_ptr()), MCP_INVALID);
            assert_eq!(log(MCP_ERROR, null(), null()), MCP_INVALID);
            assert_eq!(mcp_fail(server, request, 5, c"broken".as_ptr()), MCP_OK);
            assert_eq!(mcp_server_logging(server), MCP_NOT_ALLOWED, "it is configured");
        }
    });
    let lines = host.lines();
    assert!(lines[0].contains(r#""level":"warning","logger":"pins","data":"hot""#), "{lines:?}");
    assert!(lines[1].contains(r#""error":{"code":5,"message":"broken"}"#), "{lines:?}");

    let mut open = 0;
    host.feed(&call(2, "time", "{}"), &mut |host, _, event| {
        // SAFETY: it is a server, and the text is one.
        unsafe {
            assert_eq!(mcp_progress(host.server, event.request, 1, 2, c"half".as_ptr()), MCP_OK);
            assert_eq!(mcp_progress(host.server, event.request, 1, 2, null()), MCP_NONE);
        }
        open = event.request;
    });
    assert!(host.lines()[0].contains(r#""progress":1,"total":2,"message":"half""#));
    let cancel =
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    let mut cancelled = Vec::new();
    host.feed(&[&cancel[..], b"\n"].concat(), &mut |_, step, event| {
        cancelled.push((step, event.request));
    });
    assert_eq!(cancelled, [(MCP_CANCELLED, open)]);
    // SAFETY: it is a server, and the text is one.
    unsafe { assert_eq!(mcp_progress(host.server, open, 2, 2, null()), MCP_GONE) }
}

#[test]
fn requests_time_out_and_peers_reconnect() {
    let mut host = Host::new(&CONFIG, 1024, 512);
    // SAFETY: it is a server.
    unsafe {
        assert_eq!(mcp_server_request_timeout(host.server, 30), MCP_OK);
        assert_eq!(mcp_server_peer_can_reconnect(host.server), MCP_OK);
        assert_eq!(host.due(), u64::MAX);
    }
    host.now = 1000;
    let mut seen = Vec::new();
    let mut note = |_: &mut Host, step, event: &mcp_event| seen.push((step, event.request));
    host.feed(&call(1, "time", "{}"), &mut note);
    assert_eq!(host.due(), 31_000);
    host.feed(&call(1, "time", "{}"), &mut note);
    host.now = 31_000;
    host.feed(b"", &mut note);
    host.feed(b"noise\n", &mut note);
    let (first, second) = (seen[0].1, seen[2].1);
    let (steps, requests): (Vec<_>, Vec<_>) = seen.into_iter().unzip();
    assert_eq!(steps, [MCP_TOOL, MCP_CANCELLED, MCP_TOOL, MCP_TIMED_OUT, MCP_VIOLATION]);
    assert_eq!(requests, [first, first, second, second, 0]);
    let lines = host.lines();
    assert!(lines[0].contains("timed out") && lines[1].contains("-32700"), "{lines:?}");
}

#[test]
fn a_timeout_that_waits_for_room_is_not_due() {
    let mut host = Host::new(&CONFIG, 1024, 64);
    // SAFETY: it is a server.
    unsafe { assert_eq!(mcp_server_request_timeout(host.server, 1), MCP_OK) }
    let mut calls = 0;
    host.feed(&call(1, "time", "{}"), &mut |_, _, _| calls += 1);
    assert_eq!((calls, host.due()), (1, 1000));
    // It waits for the rest of a list, and then for room for its own response.
    let list = request(2, "tools/list", "");
    assert_eq!(host.read(&list), list.len());
    assert_eq!(host.next().0, MCP_IO);
    host.now = 1000;
    let (mut waits, mut seen) = (0, Vec::new());
    for _ in 0..100 {
        match host.next() {
            (MCP_IO, _) => {
                let has_output = host.output_len() > 0;
                assert!(!has_output || host.due() == u64::MAX);
                waits += 1;
                host.flush();
            }
            (MCP_AGAIN, _) => {}
            (step, _) => seen.push(step),
        }
    }
    assert_eq!((seen, host.due()), (vec![MCP_TIMED_OUT], u64::MAX));
    assert!(waits > 4, "the responses leave in parts");
    let lines = host.lines();
    assert!(lines[0].contains("\"tools\"") && lines[1].contains("timed out"), "{lines:?}");
}

#[test]
fn a_late_answer_waits_for_the_end_of_a_list() {
    let mut host = Host::new(&CONFIG, 1024, 64);
    let mut late = 0;
    host.feed(&call(1, "time", "{}"), &mut |_, _, event| late = event.request);
    let list = request(2, "tools/list", "");
    host.next();
    assert_eq!(host.read(&list), list.len());
    assert_eq!(host.next().0, MCP_IO);
    let answer = |host: &mut Host| {
        // SAFETY: it is a server, and the text is one.
        host.send(|server| unsafe { mcp_reply_text(server, late, c"late".as_ptr()) })
    };
    assert_eq!(answer(&mut host), MCP_BUSY);
    host.feed(b"", &mut none);
    assert_eq!(answer(&mut host), MCP_OK);
    host.feed(b"", &mut none);
    let lines = host.lines();
    assert!(lines[0].contains("\"tools\"") && lines[1].contains("late"), "{lines:?}");
}

#[test]
fn what_waits_for_room_is_due_once_there_is_some() {
    let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    for line in [&ping.repeat(5)[..], &request(1, "tools/list", "")] {
        let mut host = Host::new(&CONFIG, 1024, 64);
        host.next();
        assert_eq!(host.due(), u64::MAX);
        assert_eq!(host.read(line), line.len());
        while host.next().0 == MCP_AGAIN {}
        assert_eq!(host.due(), u64::MAX, "bytes are to be written first");
        assert!(host.flush());
        assert_eq!(host.due(), 0);
        host.feed(b"", &mut none);
        assert_eq!(host.due(), u64::MAX);
    }
}

#[test]
fn lost_bytes_resets_and_the_end() {
    let mut host = Host::new(&CONFIG, 256, 512);
    let mut violations = 0;
    let mut count =
        |_: &mut Host, step, _: &mcp_event| violations += u32::from(step == MCP_VIOLATION);
    host.feed(b"{\"json", &mut count);
    // SAFETY: it is a server.
    unsafe { mcp_server_lost(host.server) }
    host.feed(b"rpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", &mut count);
    host.feed(b"half", &mut count);
    // SAFETY: it is a server.
    unsafe { mcp_server_reset(host.server) }
    host.feed(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}", &mut count);
    // SAFETY: it is a server.
    unsafe { mcp_server_end_of_input(host.server) }
    host.feed(b"", &mut count);
    assert_eq!(host.next().0, MCP_CLOSED);
    assert_eq!(violations, 1);
    let lines = host.lines();
    assert!(lines[0].contains("not UTF-8") && lines[1].contains("\"id\":2"), "{lines:?}");
    assert_eq!(lines.len(), 2);
}

/// An overrun comes while the program does something else than reading.
#[test]
fn bytes_may_be_lost_while_an_event_is_handled_or_a_response_has_no_room() {
    let ping =
        |id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").into_bytes();
    for line in [call(1, "time", "{}"), request(1, "tools/list", "")] {
        let mut host = Host::new(&CONFIG, 1024, 64);
        assert_eq!(host.next().0, MCP_IO);
        let input = [&line, &ping(2)[..20]].concat();
        assert_eq!(host.read(&input), input.len());
        let (step, event) = host.next();
        // SAFETY: it is a server.
        unsafe { mcp_server_lost(host.server) }
        assert_eq!(host.read(b"x"), 0);
        let second = ping(3);
        let mut rest = &second[20..];
        if step == MCP_TOOL {
            // SAFETY: it is a server, and the text is one.
            host.send(|server| unsafe { mcp_reply_text(server, event.request, c"noon".as_ptr()) });
        } else {
            assert_eq!(step, MCP_IO, "the list waits for room");
            while host.next().0 != MCP_AGAIN {
                host.flush();
            }
            assert_eq!(host.read(rest), rest.len());
            rest = b"";
        }
        let mut violations = 0;
        host.feed(&[rest, &ping(4)].concat(), &mut |_, step, _| {
            assert_eq!(step, MCP_VIOLATION);
            violations += 1;
        });
        assert_eq!(violations, 1);
        let lines = host.lines();
        let [first, damaged, last] = &lines[..] else { panic!("{lines:?}") };
        assert!(first.contains(r#""id":1"#) && damaged.contains("not UTF-8"), "{lines:?}");
        assert!(last.contains(r#""id":4"#), "{lines:?}");
    }
}

#[test]
fn a_line_is_refused_before_whose_bytes_some_were_lost() {
    let (line, mut size) = (call(1, "time", "{}"), 0);
    let whole = [vec![b'\n'], call(2, "time", "{}")].concat();
    let (one, two) = (&[MCP_VIOLATION, MCP_TOOL][..], &[MCP_VIOLATION, MCP_TOOL, MCP_TOOL][..]);
    let cases = [(0, &line[..], one), (30, &line[30..], one), (30, &whole[..], two)];
    for (at, rest, expected) in cases {
        let head = &line[..at];
        let mut host = Host::new(&CONFIG, 1024, 256);
        assert_eq!((host.next().0, host.read(head)), (MCP_IO, head.len()));
        // SAFETY: it is a server, whose memory is larger.
        unsafe {
            let into = mcp_server_input(host.server, &mut size);
            mcp_server_lost(host.server);
            into.copy_from_nonoverlapping(rest.as_ptr(), rest.len());
            mcp_server_read(host.server, rest.len());
        }
        let mut steps = Vec::new();
        host.feed(&call(3, "time", "{}"), &mut |_, step, _| steps.push(step));
        assert_eq!(steps, expected);
    }
}

#[test]
fn the_input_may_end_while_an_event_is_handled() {
    let mut host = with_everything();
    let line = request(1, "resources/read", r#""uri":"board://pins/12""#);
    host.feed(&line[..line.len() - 1], &mut none);
    let mut seen = 0;
    let mut answer = |host: &mut Host, step, event: &mcp_event| {
        assert_eq!(step, MCP_TEMPLATE);
        // SAFETY: it is a server, and the text is one.
        unsafe {
            mcp_server_end_of_input(host.server);
            let variable = |out, size| mcp_variable(host.server, c"number".as_ptr(), out, size);
            assert_eq!(text(9, variable), (MCP_OK, "12".into()));
            let sent = host.send(|server| {
                mcp_reply_contents(server, event.request, null(), null(), c"high".as_ptr())
            });
            assert_eq!(sent, MCP_OK);
        }
        seen += 1;
    };
    host.feed(b"\n", &mut answer);
    assert_eq!((seen, host.next().0), (1, MCP_CLOSED));
}

/// A program that waits for input where there is room for it would spin.
#[test]
fn there_is_no_memory_to_read_into_after_the_end_of_the_input() {
    let mut host = Host::new(&CONFIG, 1024, 64);
    let mut late = 0;
    host.feed(&call(1, "time", "{}"), &mut |_, _, event| late = event.request);
    // SAFETY: it is a server.
    unsafe { mcp_server_end_of_input(host.server) }
    for _ in 0..3 {
        assert_eq!(host.read(b"x"), 0);
        assert_eq!(host.next().0, MCP_IO, "the call is open");
    }
    // SAFETY: it is a server, and the text is one.
    host.send(|server| unsafe { mcp_reply_text(server, late, c"late".as_ptr()) });
    host.feed(b"", &mut none);
    assert_eq!(host.next().0, MCP_CLOSED);
    // SAFETY: it is a server.
    unsafe { mcp_server_reset(host.server) }
    assert_eq!(host.read(b"x"), 1);
}

static RESOURCES: [mcp_resource; 2] = [
    resource(c"board://name", c"name"),
    mcp_resource {
        title: c"Picture".as_ptr(),
        description: c"Pixels".as_ptr(),
        mime_type: c"image/png".as_ptr(),
        ..resource(c"board://picture", c"picture")
    },
];
static TEMPLATES: [mcp_template; 1] = [template(c"board://pins/{number}", c"pin")];
static PROMPTS: [mcp_prompt; 1] = [mcp_prompt {
    description: c"Explains a part".as_ptr(),
    ..prompt(c"explain", c"[{\"name\":\"part\",\"required\":true}]".as_ptr())
}];

fn with_everything() -> Host {
    let host = Host::new(&CONFIG, 2048, 128);
    // SAFETY: it is a server, and the tables are constant.
    unsafe {
        let server = host.server;
        let (resources, templates) = (RESOURCES.as_ptr(), TEMPLATES.as_ptr());
        assert_eq!(mcp_server_resources(server, resources, 2, templates, 1), MCP_OK);
        assert_eq!(mcp_server_prompts(server, PROMPTS.as_ptr(), 1), MCP_OK);
        assert_eq!(mcp_server_completions(server), MCP_OK);
        assert_eq!(mcp_server_logging(server), MCP_OK);
        assert_eq!(mcp_server_subscriptions(server), MCP_OK);
        assert_eq!(mcp_server_check(server, null_mut(), 0), MCP_OK);
    }
    host
}

#[test]
fn resources_prompts_and_completions() {
    let mut host = with_everything();
    let read = |id, uri: &str| request(id, "resources/read", &format!(r#""uri":"{uri}""#));
    let complete = |id, reference: &str, name: &str| {
        let argument = format!(r#"{{"name":"{name}","value":"l"}}"#);
        let params = format!(r#""ref":{reference},"argument":{argument}"#);
        request(id, "completion/complete", &params)
    };
    let prompt = r#"{"type":"ref/prompt","name":"explain"}"#;
    let template = r#"{"type":"ref/resource","uri":"board://pins/{number}"}"#;
    let input = [
        request(1, "resources/list", ""),
        request(2, "resources/templates/list", ""),
        read(3, "board://name"),
        read(4, "board://picture"),
        read(5, "board://pins/12"),
        read(6, "board://other"),
        request(7, "prompts/list", ""),
        request(8, "prompts/get", r#""name":"explain","arguments":{"part":"lamp"}"#),
        request(9, "prompts/get", r#""name":"explain""#),
        request(10, "prompts/get", r#""name":"other""#),
        complete(11, prompt, "part"),
        complete(12, prompt, "other"),
        complete(13, template, "number"),
        complete(14, r#"{"type":"ref/prompt","name":"other"}"#, "part"),
        request(15, "server/discover", ""),
    ]
    .concat();
    let mut steps = Vec::new();
    host.feed(&input, &mut |host, step, event| {
        steps.push((step, event.index));
        let (server, request) = (host.server, event.request);
        let (bytes, values) = ([0xfb; 200], [c"lamp".as_ptr(); 20]);
        let (png, pin) = (c"image/png".as_ptr(), c"board://pins/12".as_ptr());
        // SAFETY: it is a server, and all are texts.
        let status = host.send(|server| unsafe {
            match step {
                MCP_RESOURCE if event.index == 0 => {
                    mcp_reply_contents(server, request, null(), null(), c"Ada".as_ptr())
                }
                MCP_RESOURCE => {
                    mcp_reply_blob(server, request, null(), png, bytes.as_ptr(), bytes.len())
                }
                MCP_TEMPLATE => mcp_reply_contents(server, request, pin, null(), c"high".as_ptr()),
                MCP_PROMPT => mcp_reply_prompt(server, request, c"Explain the lamp".as_ptr()),
                MCP_COMPLETE_PROMPT => mcp_reply_values(server, request, values.as_ptr(), 20),
                _ => mcp_reply_values(server, request, values.as_ptr(), 1),
            }
        });
        assert_eq!(status, MCP_OK, "{step:?}");
        // SAFETY: it is a server, and there is memory.
        unsafe {
            let read = |path: &'static std::ffi::CStr| {
                text(20, |out, size| mcp_param_str(server, path.as_ptr(), out, size)).1
            };
            let variable = |name: &'static std::ffi::CStr| {
                text(9, |out, size| mcp_variable(server, name.as_ptr(), out, size))
            };
            match step {
                MCP_TEMPLATE => {
                    assert_eq!(variable(c"number"), (MCP_OK, "12".into()));
                    assert_eq!(variable(c"x").0, MCP_NONE);
                    assert_eq!(read(c"uri"), "board://pins/12");
                }
                MCP_PROMPT => {
                    let part =
                        text(9, |out, size| mcp_arg_str(server, c"part".as_ptr(), out, size));
                    assert_eq!(part.1, "lamp");
                }
                MCP_COMPLETE_TEMPLATE => assert_eq!(read(c"argument/value"), "l"),
                _ => {}
            }
        }
    });
    let found = [MCP_TEMPLATE, MCP_PROMPT, MCP_COMPLETE_PROMPT, MCP_COMPLETE_TEMPLATE];
    let resources = [(MCP_RESOURCE, 0), (MCP_RESOURCE, 1)];
    assert!(steps.into_iter().eq(resources.into_iter().chain(found.map(|step| (step, 0)))));
    let lines = host.lines();
    let parts = [
        r#""resources":[{"uri":"board://name","name":"name"},{"uri":"board://picture","name":"picture","title":"Picture","description":"Pixels","mimeType":"image/png"}]"#,
        r#""resourceTemplates":[{"uriTemplate":"board://pins/{number}","name":"pin"}]"#,
        r#""contents":[{"uri":"board://name","text":"Ada"}]"#,
        r#""uri":"board://picture","mimeType":"image/png","blob":"+/v7"#,
        r#""contents":[{"uri":"board://pins/12","text":"high"}]"#,
        r#"-32602,"message":"Resource not found","data":{"uri":"board://other"}"#,
        r#""prompts":[{"name":"explain","description":"Explains a part","arguments":[{"name":"part","required":true}]}]"#,
        r#""messages":[{"role":"user","content":{"type":"text","text":"Explain the lamp"}}]"#,
        "A required argument is missing",
        "Unknown prompt",
        r#""hasMore":true"#,
        "Unknown argument",
        r#""values":["lamp"]}"#,
        "Unknown prompt",
        r#""capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}"#,
    ];
    assert_eq!(lines.len(), parts.len());
    for (line, part) in lines.iter().zip(parts) {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}

#[test]
fn changes_reach_those_who_listen() {
    let mut host = with_everything();
    let listen =
        r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["board://name"]}"#;
    host.feed(&request(1, "subscriptions/listen", listen), &mut |_, step, _| {
        assert_eq!(step, MCP_NOTE)
    });
    host.lines();
    let mut changed = |kind, uri| {
        let mut change = mcp_change { uri, kind, position: 0 };
        // SAFETY: it is a server, and the change is one.
        let status = host.send(|server| unsafe { mcp_changed(server, &mut change) });
        while host.flush() {}
        (status, host.lines().len())
    };
    assert_eq!(changed(MCP_TOOLS_CHANGED, null()), (MCP_OK, 1));
    assert_eq!(changed(MCP_PROMPTS_CHANGED, null()), (MCP_OK, 0));
    assert_eq!(changed(MCP_RESOURCE_CHANGED, c"board://name".as_ptr()), (MCP_OK, 1));
    assert_eq!(changed(MCP_RESOURCE_CHANGED, c"board://picture".as_ptr()), (MCP_OK, 0));
    assert_eq!(changed(MCP_RESOURCE_CHANGED, null()), (MCP_INVALID, 0));
    assert_eq!(changed(9, null()), (MCP_INVALID, 0));
    // The same change is told again.
    let mut change = mcp_change { uri: null(), kind: MCP_TOOLS_CHANGED, position: 0 };
    for _ in 0..2 {
        // SAFETY: it is a server, and the change is one.
        let status = host.send(|server| unsafe { mcp_changed(server, &mut change) });
        while host.flush() {}
        assert_eq!((status, change.position, host.lines().len()), (MCP_OK, 0, 1));
    }
    // SAFETY: it is a server.
    unsafe { assert_eq!(mcp_changed(host.server, null_mut()), MCP_INVALID) }
}

#[test]
fn what_is_no_server_is_refused() {
    let mut memory = mcp_server::new();
    let zeros: *mut mcp_server = &mut memory;
    let host = Host::new(&CONFIG, 64, 64);
    let mut copy = mcp_server::new();
    // SAFETY: both are of this type.
    unsafe { host.server.copy_to(&mut copy, 1) }
    let odd = host.server.wrapping_byte_add(1);
    for server in [null_mut(), zeros, &raw mut copy, odd] {
        // SAFETY: this is what the functions are asked to find out.
        unsafe {
            let (mut len, text) = (9, c"x".as_ptr());
            assert_eq!(mcp_server_next(server, 0, null_mut()), MCP_WRONG);
            assert!(mcp_server_input(server, &mut len).is_null() && len == 0);
            mcp_server_output(server, &mut len);
            assert_eq!(len, 0);
            mcp_server_wrote(server, 1);
            mcp_server_read(server, 1);
            mcp_server_lost(server);
            mcp_server_end_of_input(server);
            mcp_server_reset(server);
            assert_eq!(mcp_server_due(server), u64::MAX);
            assert_eq!(mcp_server_prompts(server, null(), 0), MCP_NOT_ALLOWED);
            assert_eq!(mcp_server_check(server, null_mut(), 0), MCP_NO_SERVER);
            assert_eq!(mcp_arg_i32(server, text, null_mut()), MCP_NO_SERVER);
            assert_eq!(mcp_variable(server, text, null_mut(), 0), MCP_NO_SERVER);
            assert_eq!(mcp_reply_text(server, 1, text), MCP_NO_SERVER);
            assert_eq!(mcp_reply_contents(server, 1, text, text, text), MCP_NO_SERVER);
            assert_eq!(mcp_progress(server, 1, 1, 1, null()), MCP_NO_SERVER);
            let mut change = mcp_change { uri: null(), kind: 0, position: 0 };
            assert_eq!(mcp_changed(server, &mut change), MCP_NO_SERVER);
            assert!(!mcp_is_open(server, 1));
        }
    }
    // SAFETY: as above.
    unsafe {
        let (mut rx, mut tx) = ([0; 64], [0; 64]);
        let (server, rx, tx) = (zeros, rx.as_mut_ptr(), tx.as_mut_ptr());
        let init = |server, config, rx, tx| mcp_server_init(server, config, rx, 64, tx, 64);
        assert_eq!(init(null_mut(), &CONFIG, rx, tx), MCP_NO_SERVER);
        assert_eq!(init(server, null(), rx, tx), MCP_INVALID);
        assert_eq!(init(server, &CONFIG, null_mut(), tx), MCP_INVALID);
        assert_eq!(init(server, &CONFIG, rx, null_mut()), MCP_INVALID);
        static NAMELESS: mcp_config = mcp_config { name: null(), ..config(c"", &[]) };
        assert_eq!(init(server, &NAMELESS, rx, tx), MCP_INVALID);
    }
}

/// Returns what `mcp_server_init` says of a configuration.
fn init(config: &mcp_config) -> mcp_status {
    let mut server = mcp_server::new();
    let (mut rx, mut tx) = ([0; 64], [0; 64]);
    // SAFETY: all of it is memory that nothing else uses.
    unsafe { mcp_server_init(&mut server, config, rx.as_mut_ptr(), 64, tx.as_mut_ptr(), 64) }
}

#[test]
fn mistakes_in_tables_are_found() {
    /// Returns what a check of these tools says, in memory of this size.
    fn check(config: &'static mcp_config, size: usize) -> (mcp_status, String) {
        let host = Host::new(config, 64, 64);
        // SAFETY: it is a server, and there is memory.
        text(size, |out, size| unsafe { mcp_server_check(host.server, out, size) })
    }
    const A: mcp_tool = mcp_tool { name: c"a".as_ptr(), ..NO_TOOL };
    static TWICE: [mcp_tool; 2] = [A, A];
    static NAME: [mcp_tool; 1] = [mcp_tool { name: c"a b".as_ptr(), ..NO_TOOL }];
    static SCHEMA: [mcp_tool; 1] =
        [mcp_tool { input_schema: c"{\"type\":\"string\"}".as_ptr(), ..A }];
    static FINE: [mcp_tool; 1] = [A];
    static TWICE_CONFIG: mcp_config = config(c"s", &TWICE);
    static NAME_CONFIG: mcp_config = config(c"s", &NAME);
    static SCHEMA_CONFIG: mcp_config = config(c"s", &SCHEMA);
    static FINE_CONFIG: mcp_config = config(c"s", &FINE);
    assert_eq!(check(&FINE_CONFIG, 99), (MCP_OK, String::new()));
    assert_eq!(check(&TWICE_CONFIG, 99), (MCP_INVALID, "a: two tools have this name".into()));
    assert_eq!(check(&TWICE_CONFIG, 6), (MCP_INVALID, "a: tw".into()));
    assert_eq!(check(&NAME_CONFIG, 0).0, MCP_INVALID);
    assert!(check(&NAME_CONFIG, 99).1.starts_with("a b: a tool name must be"));
    assert!(check(&SCHEMA_CONFIG, 99).1.contains("must be object"));

    // What cannot be listed at all is refused by `mcp_server_init`.
    static JSON: [mcp_tool; 1] = [mcp_tool { input_schema: c"{".as_ptr(), ..A }];
    static OUTPUT: [mcp_tool; 1] = [mcp_tool { output_schema: c"".as_ptr(), ..A }];
    for tools in [&JSON, &OUTPUT, &[NO_TOOL]] {
        assert_eq!(init(&config(c"s", tools)), MCP_INVALID);
    }

    // So are resources and prompts, and the server stays as it is.
    static NO_URI: [mcp_resource; 1] = [mcp_resource { uri: null(), ..RESOURCES[0] }];
    static NO_NAME: [mcp_prompt; 1] = [mcp_prompt { name: null(), ..PROMPTS[0] }];
    let mut host = Host::new(&CONFIG, 1024, 512);
    // SAFETY: it is a server, and the tables are constant.
    unsafe {
        let server = host.server;
        assert_eq!(mcp_server_resources(server, NO_URI.as_ptr(), 1, null(), 0), MCP_INVALID);
        assert_eq!(mcp_server_prompts(server, NO_NAME.as_ptr(), 1), MCP_INVALID);
    }
    host.feed(&request(1, "server/discover", ""), &mut none);
    let discovered = host.lines().concat();
    assert!(discovered.contains("\"tools\""), "{discovered}");
    assert!(!discovered.contains("\"resources\"") && !discovered.contains("\"prompts\""));
}

#[test]
fn an_optional_text_that_is_not_utf_8_is_refused() {
    const NOT_UTF_8: *const c_char = c"\xff".as_ptr();
    static TITLE: [mcp_tool; 1] = [mcp_tool { title: NOT_UTF_8, ..TOOLS[0] }];
    static DESCRIPTION: [mcp_tool; 1] = [mcp_tool { description: NOT_UTF_8, ..TOOLS[0] }];
    for config in [
        config(c"s", &TITLE),
        config(c"s", &DESCRIPTION),
        mcp_config { title: NOT_UTF_8, ..CONFIG },
        mcp_config { instructions: NOT_UTF_8, ..CONFIG },
    ] {
        assert_eq!(init(&config), MCP_INVALID);
    }
    static RESOURCE: [mcp_resource; 1] = [mcp_resource { mime_type: NOT_UTF_8, ..RESOURCES[0] }];
    static TEMPLATE: [mcp_template; 1] = [mcp_template { title: NOT_UTF_8, ..TEMPLATES[0] }];
    static PROMPT: [mcp_prompt; 1] = [mcp_prompt { description: NOT_UTF_8, ..PROMPTS[0] }];
    let mut host = Host::new(&CONFIG, 1024, 512);
    // SAFETY: it is a server, and the tables are constant.
    unsafe {
        let server = host.server;
        assert_eq!(mcp_server_resources(server, RESOURCE.as_ptr(), 1, null(), 0), MCP_INVALID);
        assert_eq!(mcp_server_resources(server, null(), 0, TEMPLATE.as_ptr(), 1), MCP_INVALID);
        assert_eq!(mcp_server_prompts(server, PROMPT.as_ptr(), 1), MCP_INVALID);
        assert_eq!(mcp_server_logging(server), MCP_OK);
    }
    host.feed(&call(1, "time", "{}"), &mut |host, _, event| {
        let (server, request, good) = (host.server, event.request, c"x".as_ptr());
        // SAFETY: it is a server, and all are texts.
        let refused = unsafe {
            [
                mcp_progress(server, request, 1, 2, NOT_UTF_8),
                mcp_log(server, request, MCP_ERROR, NOT_UTF_8, good),
                mcp_reply_contents(server, request, NOT_UTF_8, null(), good),
                mcp_reply_contents(server, request, good, NOT_UTF_8, good),
                mcp_reply_blob(server, request, good, NOT_UTF_8, null(), 0),
            ]
        };
        assert_eq!(refused, [MCP_INVALID; 5]);
    });
    assert!(host.sent.is_empty());
}
