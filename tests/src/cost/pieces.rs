//! Messages that are longer than the output buffer, and so written in pieces.

use mcp_sansio::types::{Blob, Implementation, List, Text};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientFeatures, ClientState, Encode, Encoder, Era, Frame, Instant,
    Messages, OwnedJson, RawJson, RequestHandle, Revision, SendError, Server, ServerConfig,
    ServerEvent, ServerFeatures, ServerState, ToolOutput, Tx, TxBuffer,
};

use super::{Table, Work, join};

pub(super) const CASES: &Table = &[
    // With 1,024 parts 50,176 integers, and texts of more than 512 KiB.
    ("pieces: a list of integers", |n| sent((0..49 * n as u64).collect::<Vec<_>>())),
    ("pieces: a text with escapes", |n| sent(escaped(n))),
    ("pieces: a text that is formatted", |n| sent(Formatted(escaped(n), " \"end\""))),
    ("pieces: texts that are formatted", |n| {
        let text = |at| Formatted("\n".repeat(89 * at % 450), "\u{1}");
        sent((0..n / 4).map(text).collect::<Vec<_>>())
    }),
    ("pieces: structured content, which is repeated as text", |n| {
        let json = format!("{{\"list\":[{}]}}", join(n, |at| format!("\"\\\"{at}\"")));
        let json = RawJson::parse(json.leak()).unwrap();
        responded(length(&json), move |server, request, tx| {
            server.respond_structured(request, json, tx)
        })
    }),
    ("pieces: structured values, which are repeated as text", |n| {
        let list = |at| (at..at + 40).map(|at| format!("\"{at}")).collect();
        let lists: Vec<Vec<String>> = (0..n / 8).map(list).collect();
        responded(length(&lists), move |server, request, tx| {
            server.respond(request, &ToolOutput::Structured(&lists), tx)
        })
    }),
    ("pieces: a result that is one long member of JSON text", |n| {
        let text = "words, words, ".repeat(40 * n);
        let json = format!("{{\"a\":1,\"content\":[\"{text}\"],\"b\":[\"{text}\"]}}");
        let json = RawJson::parse(json.leak()).unwrap();
        responded(length(&json), move |server, request, tx| server.respond_raw(request, json, tx))
    }),
    ("pieces: a result that is many members of JSON text", |n| {
        let json = format!("{{{}}}", join(40 * n, |at| format!("\"{at}\":[]")));
        let json = RawJson::parse(json.leak()).unwrap();
        responded(length(&json), move |server, request, tx| server.respond_raw(request, json, tx))
    }),
    ("pieces: a list of lists", |n| {
        sent((0..n as u64).map(|at| (0..at % 40).collect()).collect::<Vec<Vec<u64>>>())
    }),
    ("pieces: a list of texts", |n| {
        sent((0..n / 4).map(|at| "\\".repeat(89 * at % 450)).collect::<Vec<String>>())
    }),
    ("pieces: binary data", |n| {
        let bytes: &'static [u8] = vec![7; 512 * n].leak();
        sent(Blob::new(bytes))
    }),
    ("pieces: JSON text", |n| {
        let json: &'static str = format!("[{}]", join(20 * n, |at| at.to_string())).leak();
        sent(RawJson::parse(json).unwrap())
    }),
    ("pieces: a list of texts that were received", |n| {
        let json: &'static str = format!("[{}]", join(10 * n, |at| format!("\"{at}\""))).leak();
        sent(List::<Text<'_>>::from_json(RawJson::parse(json).unwrap()).unwrap())
    }),
];

/// A text that needs escapes now and then.
fn escaped(n: usize) -> String {
    ("\u{1}".repeat(9) + &"words, \u{e9} ".repeat(46)).repeat(n)
}

/// A text that is formatted from two.
struct Formatted(String, &'static str);

impl Encode for Formatted {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.display(&format_args!("{}{}", self.0, self.1));
    }
}

/// An object between members of which the value stands.
struct Params<T>(T);

impl<T: Encode> Encode for Params<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("before", &1_u8);
        to.member("value", &self.0);
        to.member("behind", &2_u8);
        to.end_object();
    }
}

fn sent<T: Encode + 'static>(value: T) -> Work {
    static CONFIG: ClientConfig<'_> =
        ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
    let params = Params(value);
    Work::new(length(&params), move || {
        let now = Instant::from_millis(0);
        let mut state = ClientState::<2>::new();
        let mut client = state.client(&CONFIG);
        client.set_era(Some(Era::Modern));
        let mut tx = TxBuffer::new([0; 256]);
        client.connect(now, &mut tx).unwrap();
        let options = CallOptions::new();
        all(&mut tx, |tx| client.request(now, "own/method", &params, options, tx));
    })
}

/// Length in bytes of a value's text.
fn length(value: &impl Encode) -> usize {
    OwnedJson::new(value, Revision::LATEST).unwrap().as_json().as_str().len()
}

/// The response to a call of a tool, whose text has so many bytes.
fn responded(
    bytes: usize,
    send: impl Fn(&mut Server<'_>, RequestHandle, &mut Tx<'_>) -> Result<(), SendError> + 'static,
) -> Work {
    static CONFIG: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
    const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    Work::new(bytes, move || {
        let mut state = ServerState::<1, 0>::new();
        let (mut server, mut tx) = (state.server(&CONFIG), TxBuffer::new([0; 256]));
        let mut call = Messages::new(Frame::Complete(CALL));
        let event = server.next_event(Instant::from_millis(0), &mut call, &mut tx).unwrap();
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        all(&mut tx, |tx| send(&mut server, request.handle, tx));
    })
}

/// Sends a message, and checks that it is JSON.
fn all<R>(tx: &mut TxBuffer<[u8; 256]>, call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>) {
    let mut out = Vec::new();
    let mut write = |bytes: &[u8]| {
        out.extend_from_slice(bytes);
        Ok::<_, SendError>(bytes.len())
    };
    tx.send(&mut write, call).unwrap();
    tx.drain(&mut write).unwrap();
    let text = std::str::from_utf8(&out).unwrap().trim_end();
    assert!(RawJson::parse(text).is_ok(), "{text}");
}
