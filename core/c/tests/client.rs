//! A client through the functions for C, with a server through them.

mod common;

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use common::{Host, NO_TOOL, config, text};
use mcp_sansio_c::{mcp_status::*, mcp_step::*, *};

static TOOLS: [mcp_tool; 1] = [mcp_tool {
    name: c"pin".as_ptr(),
    input_schema: c"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}".as_ptr(),
    ..NO_TOOL
}];
static CONFIG: mcp_config = config(c"board", &TOOLS);

/// A client, its buffers, and a server.
struct Pair {
    client: *mut mcp_client,
    rx: *mut [u8],
    tx: *mut [u8],
    host: Host,
}

impl Pair {
    fn new() -> Self {
        let client = Box::into_raw(Box::new(mcp_client::new()));
        let rx = Box::into_raw(vec![0; 1024].into_boxed_slice());
        let tx = Box::into_raw(vec![0; 128].into_boxed_slice());
        let (name, version) = (c"panel".as_ptr(), c"1".as_ptr());
        // SAFETY: all of it is memory that only this client uses until it is dropped.
        let made = unsafe {
            mcp_client_init(client, name, version, rx.cast(), rx.len(), tx.cast(), tx.len())
        };
        assert_eq!(made, MCP_OK);
        Self { client, rx, tx, host: Host::new(&CONFIG, 1024, 256) }
    }

    /// Writes what the client sends into the server, which answers calls.
    fn flush(&mut self) -> bool {
        let mut len = 0;
        // SAFETY: it is a client, whose output is read before the next call.
        let sent = unsafe {
            let bytes = mcp_client_output(self.client, &mut len);
            let sent = std::slice::from_raw_parts(bytes, len).to_vec();
            mcp_client_wrote(self.client, len);
            sent
        };
        self.host.feed(&sent, &mut |host, step, event| {
            if step == MCP_TOOL {
                let request = event.request;
                // SAFETY: it is a server, and all are texts.
                unsafe {
                    let mut n = 0;
                    mcp_arg_i32(host.server, c"n".as_ptr(), &mut n);
                    host.send(|server| mcp_progress(server, request, 1, 2, null()));
                    let json = format!("{{\"n\":{},\"half\":0.5}}\0", n + 1);
                    host.send(|server| match n {
                        -1 => mcp_fail(server, request, 7, c"broken".as_ptr()),
                        -2 => MCP_OK,
                        _ => mcp_reply_json(server, request, json.as_ptr().cast()),
                    });
                }
            }
        });
        len > 0
    }

    /// Reads some of what the server has sent. Returns how much.
    fn read(&mut self) -> usize {
        let mut size = 0;
        // SAFETY: it is a client, whose memory is as large as it says.
        let read = unsafe {
            let into = mcp_client_input(self.client, &mut size);
            let n = size.min(self.host.sent.len());
            if n > 0 {
                into.copy_from_nonoverlapping(self.host.sent.as_ptr(), n);
                mcp_client_read(self.client, n);
            }
            n
        };
        self.host.sent.drain(..read);
        read
    }

    fn send(&mut self, mut call: impl FnMut(*mut mcp_client) -> mcp_status) -> mcp_status {
        loop {
            match call(self.client) {
                MCP_FULL => assert!(self.flush(), "full, but nothing to write"),
                status => return status,
            }
        }
    }

    /// Goes on until an event.
    fn next(&mut self, now: u64) -> (mcp_step, mcp_client_event) {
        let mut event = mcp_client_event { call: 0, code: 0 };
        for _ in 0..10_000 {
            // SAFETY: it is a client.
            match unsafe { mcp_client_next(self.client, now, &mut event) } {
                MCP_IO => {
                    let wrote = self.flush();
                    if self.read() == 0 && !wrote {
                        return (MCP_IO, event);
                    }
                }
                MCP_AGAIN | MCP_NOTE => {}
                step => return (step, event),
            }
        }
        panic!("the client does not come to rest");
    }

    fn call(&mut self, now: u64, arguments: &'static CStr) -> u64 {
        let mut call = 0;
        // SAFETY: it is a client, and all are texts.
        let made = self.send(|client| unsafe {
            mcp_client_call(client, now, c"pin".as_ptr(), arguments.as_ptr(), &mut call)
        });
        assert_eq!(made, MCP_OK);
        call
    }
}

/// Returns a client that has connected, at 0.
fn connected() -> Pair {
    let mut pair = Pair::new();
    // SAFETY: it is a client.
    assert_eq!(pair.send(|client| unsafe { mcp_client_connect(client, 0) }), MCP_OK);
    assert_eq!(pair.next(0).0, MCP_CONNECTED);
    pair
}

impl Drop for Pair {
    fn drop(&mut self) {
        // SAFETY: they come from boxes, and the client ends here.
        unsafe {
            drop(Box::from_raw(self.client));
            drop(Box::from_raw(self.rx));
            drop(Box::from_raw(self.tx));
        }
    }
}

#[test]
fn a_client_connects_lists_and_calls() {
    let mut pair = Pair::new();
    let client = pair.client;
    let read = |path: &'static CStr| {
        // SAFETY: it is a client, and the path a text.
        text(64, |out, size| unsafe { mcp_result_str(client, path.as_ptr(), out, size) })
    };
    // SAFETY: it is a client, and all are texts.
    unsafe {
        assert_eq!(mcp_client_call(client, 5, c"x".as_ptr(), null(), null_mut()), MCP_NOT_ALLOWED);
        assert_eq!(pair.send(|client| mcp_client_connect(client, 5)), MCP_OK);
        assert_eq!(pair.next(5).0, MCP_CONNECTED);
        let name = c"_meta/io.modelcontextprotocol/serverInfo";
        assert_eq!(read(name).0, MCP_NONE, "a name with a slash has no path");

        let mut list = 0;
        let sent = pair.send(|client| {
            mcp_client_request(client, 5, c"tools/list".as_ptr(), null(), &mut list)
        });
        assert_eq!(sent, MCP_OK);
        let (step, event) = pair.next(5);
        assert_eq!((step, event.call), (MCP_RESULT, list));
        assert_eq!(read(c"tools/0/name"), (MCP_OK, "pin".into()));
        assert_eq!(read(c"tools/1/name").0, MCP_NONE);

        let call = pair.call(5, c"{\"n\":41}");
        let (step, event) = pair.next(5);
        assert_eq!((step, event.call), (MCP_CALL_PROGRESS, call));
        let mut done = 0;
        assert_eq!(mcp_result_i32(client, c"progress".as_ptr(), &mut done), MCP_OK);
        assert_eq!(done, 1);
        let (step, event) = pair.next(5);
        assert_eq!((step, event.call), (MCP_RESULT, call));
        let (mut n, mut half, mut failed) = (0, 0.0, true);
        let path = c"structuredContent/n".as_ptr();
        assert_eq!(mcp_result_i32(client, path, &mut n), MCP_OK);
        assert_eq!(mcp_result_f64(client, c"structuredContent/half".as_ptr(), &mut half), MCP_OK);
        assert_eq!((n, half), (42, 0.5));
        assert_eq!(mcp_result_bool(client, c"isError".as_ptr(), &mut failed), MCP_NONE);
        assert_eq!(mcp_result_bool(client, path, &mut failed), MCP_INVALID);
        assert_eq!(read(c"content/0/text"), (MCP_OK, r#"{"n":42,"half":0.5}"#.into()));
        let json =
            text(64, |out, size| mcp_result_json(client, c"structuredContent".as_ptr(), out, size));
        assert_eq!(json.1, r#"{"n":42,"half":0.5}"#);
        assert_eq!(text(9, |out, size| mcp_client_message(client, out, size)).0, MCP_NONE);
    }
}

#[test]
fn calls_fail_time_out_and_are_cancelled() {
    let mut pair = connected();
    let client = pair.client;
    // SAFETY: it is a client, and all are texts.
    unsafe {
        let call = pair.call(0, c"{\"n\":-1}");
        assert_eq!(pair.next(0).0, MCP_CALL_PROGRESS);
        let (step, event) = pair.next(0);
        assert_eq!((step, event.call, event.code), (MCP_CALL_FAILED, call, 7));
        let message = text(9, |out, size| mcp_client_message(client, out, size));
        assert_eq!(message, (MCP_OK, "broken".into()));

        let slow = pair.call(0, c"{\"n\":-2}");
        assert_eq!(pair.next(0).0, MCP_CALL_PROGRESS);
        assert_eq!(pair.next(0).0, MCP_IO);
        assert_eq!(mcp_client_due(client), 60_000);
        let (step, event) = pair.next(60_000);
        assert_eq!((step, event.call, event.code), (MCP_CALL_FAILED, slow, 0));
        let cancelled = pair.call(60_000, c"{\"n\":-2}");
        assert_eq!(pair.send(|client| mcp_client_cancel(client, cancelled)), MCP_OK);
        assert_eq!(pair.send(|client| mcp_client_cancel(client, 0)), MCP_OK);

        let lost = pair.call(60_000, c"{\"n\":-2}");
        let mut size = 0;
        assert!(!mcp_client_input(client, &mut size).is_null() && size > 0);
        mcp_client_end_of_input(client);
        assert!(mcp_client_input(client, &mut size).is_null() && size == 0);
        let mut steps = vec![pair.next(60_000), pair.next(60_000)];
        steps.retain(|(step, _)| *step != MCP_CALL_PROGRESS);
        assert_eq!((steps[0].0, steps[0].1.call), (MCP_CALL_FAILED, lost));
        assert_eq!(pair.next(60_000).0, MCP_CLOSED);
        mcp_client_reset(client);
        pair.host = Host::new(&CONFIG, 1024, 256);
        assert_eq!(pair.send(|client| mcp_client_connect(client, 60_000)), MCP_OK);
        assert_eq!(pair.next(60_000).0, MCP_CONNECTED);
    }
}

#[test]
fn the_time_of_a_call_begins_with_it() {
    let mut pair = connected();
    // Nothing was due for two minutes.
    let slow = pair.call(120_000, c"{\"n\":-2}");
    let (step, event) = pair.next(120_000);
    assert_eq!((step, event.call), (MCP_CALL_PROGRESS, slow));
    assert_eq!(pair.next(179_999).0, MCP_IO);
    // SAFETY: it is a client.
    assert_eq!(unsafe { mcp_client_due(pair.client) }, 180_000);
    assert_eq!(pair.next(180_000).0, MCP_CALL_FAILED);
}

const LONG: &CStr = c"{\"text\":\"----------------------------------------------------------------\
    ----------------------------------------------------------------------------------------\"}";

#[test]
fn a_call_that_is_partly_written_ends_when_the_client_connects_again() {
    let mut pair = connected();
    let client = pair.client;
    // SAFETY: it is a client, and all are texts.
    unsafe {
        let tool = c"pin".as_ptr();
        assert_eq!(mcp_client_call(client, 0, tool, LONG.as_ptr(), null_mut()), MCP_FULL);
        assert_eq!(pair.send(|client| mcp_client_connect(client, 0)), MCP_OK);
    }
    assert_eq!(pair.next(0).0, MCP_CONNECTED);
    let call = pair.call(0, c"{\"n\":1}");
    let (step, event) = pair.next(0);
    assert_eq!((step, event.call), (MCP_CALL_PROGRESS, call));
}

/// Another opening would go on in the line that the library itself is writing.
#[test]
fn initialize_that_is_partly_written_is_finished_before_the_client_connects_again() {
    let mut pair = Pair::new();
    // SAFETY: it is a client.
    let connect = |client| unsafe { mcp_client_connect(client, 0) };
    assert_eq!(pair.send(connect), MCP_OK);
    while pair.flush() {}
    let legacy = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Unknown method"}}"#;
    pair.host.sent = [legacy, &b"\n"[..]].concat();
    assert!(pair.read() > 0);
    // SAFETY: it is a client.
    assert_eq!(unsafe { mcp_client_next(pair.client, 0, null_mut()) }, MCP_IO);
    assert_eq!(pair.send(connect), MCP_BUSY);
    assert_eq!(pair.next(0).0, MCP_CONNECTED);
    assert_eq!(pair.send(connect), MCP_OK);
    assert_eq!(pair.next(0).0, MCP_CONNECTED);
}

#[test]
fn what_is_no_object_is_no_arguments() {
    let mut pair = connected();
    for json in [c"[1]", c"7", c"{", c"\xff"] {
        // SAFETY: it is a client, and all are texts.
        let made = unsafe {
            let (tool, method, json) = (c"pin".as_ptr(), c"tools/list".as_ptr(), json.as_ptr());
            [
                mcp_client_call(pair.client, 0, tool, json, null_mut()),
                mcp_client_request(pair.client, 0, method, json, null_mut()),
            ]
        };
        assert_eq!(made, [MCP_INVALID; 2], "{json:?}");
    }
    assert!(!pair.flush());
}

/// An overrun comes while the program reads the subject of an event.
#[test]
fn bytes_may_be_lost_while_an_event_is_handled() {
    let mut pair = connected();
    for (cut, ends) in [("no line", false), ("a line", false), ("the end", true)] {
        let call = pair.call(0, c"{\"n\":1}");
        while pair.flush() {}
        let sent = std::mem::take(&mut pair.host.sent);
        let line = sent.iter().position(|byte| *byte == b'\n').expect("progress") + 1;
        let (first, rest) = sent.split_at(match cut {
            "no line" => line,
            "a line" => line + 20,
            _ => sent.len() - 1,
        });
        pair.host.sent = first.to_vec();
        let (step, event) = pair.next(0);
        assert_eq!((step, event.call), (MCP_CALL_PROGRESS, call));
        // SAFETY: it is a client.
        unsafe { mcp_client_lost(pair.client) }
        pair.host.sent = rest.to_vec();
        if ends {
            // SAFETY: it is a client.
            unsafe { mcp_client_end_of_input(pair.client) }
        }
        let (step, _) = pair.next(0);
        assert_eq!(step, if cut == "no line" { MCP_RESULT } else { MCP_VIOLATION });
    }
    let rest = [pair.next(0).0, pair.next(0).0, pair.next(0).0];
    assert_eq!(rest, [MCP_CALL_FAILED, MCP_CALL_FAILED, MCP_CLOSED]);
}

#[test]
fn what_is_no_client_is_refused() {
    let mut memory = mcp_client::new();
    // SAFETY: this is what the functions are asked to find out.
    unsafe {
        for client in [null_mut(), &raw mut memory] {
            let (mut len, text) = (9, c"x".as_ptr());
            assert_eq!(mcp_client_connect(client, 0), MCP_NO_SERVER);
            assert_eq!(mcp_client_call(client, 0, text, null(), null_mut()), MCP_NO_SERVER);
            assert_eq!(mcp_client_request(client, 0, text, text, null_mut()), MCP_INVALID);
            assert_eq!(mcp_client_cancel(client, 1), MCP_NO_SERVER);
            assert_eq!(mcp_client_next(client, 0, null_mut()), MCP_WRONG);
            assert_eq!(mcp_result_bool(client, text, null_mut()), MCP_NO_SERVER);
            assert_eq!(mcp_client_message(client, null_mut(), 0), MCP_NO_SERVER);
            assert!(mcp_client_input(client, &mut len).is_null() && len == 0);
            mcp_client_output(client, &mut len);
            mcp_client_wrote(client, 1);
            mcp_client_read(client, 1);
            mcp_client_lost(client);
            mcp_client_end_of_input(client);
            mcp_client_reset(client);
            assert_eq!(mcp_client_due(client), u64::MAX);
        }
        let (mut rx, mut tx) = ([0; 64], [0; 64]);
        let (rx, tx, text) = (rx.as_mut_ptr(), tx.as_mut_ptr(), c"x".as_ptr());
        assert_eq!(mcp_client_init(null_mut(), text, text, rx, 64, tx, 64), MCP_NO_SERVER);
        assert_eq!(mcp_client_init(&mut memory, null(), text, rx, 64, tx, 64), MCP_INVALID);
        assert_eq!(mcp_client_init(&mut memory, text, text, null_mut(), 64, tx, 64), MCP_INVALID);
    }
}
