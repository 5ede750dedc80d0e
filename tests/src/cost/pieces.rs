//! Messages that are longer than the output buffer, and so written in pieces.

use mcp_sansio::types::{Blob, Implementation, List, Text};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientFeatures, ClientState, Encode, Encoder, Era, Instant, RawJson,
    SendError, TxBuffer,
};

use super::{Table, Work, join};

pub(super) const CASES: &Table = &[
    ("pieces: a list of integers", |n| sent((0..20 * n as u64).collect::<Vec<_>>())),
    ("pieces: a text with escapes", |n| sent("\"\u{1}\n\u{e9} ".repeat(20 * n))),
    ("pieces: a list of lists", |n| {
        sent((0..n as u64).map(|at| (0..at % 40).collect()).collect::<Vec<Vec<u64>>>())
    }),
    ("pieces: a list of texts", |n| {
        sent((0..n).map(|at| "\\".repeat(89 * at % 450)).collect::<Vec<String>>())
    }),
    ("pieces: binary data", |n| {
        let bytes: &'static [u8] = vec![7; 60 * n].leak();
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
    Box::new(move || {
        let now = Instant::from_millis(0);
        let mut state = ClientState::<2>::new();
        let mut client = state.client(&CONFIG);
        client.set_era(Some(Era::Modern));
        let mut tx = TxBuffer::new([0; 256]);
        client.connect(now, &mut tx).unwrap();
        let mut out = Vec::new();
        let mut write = |bytes: &[u8]| {
            out.extend_from_slice(bytes);
            Ok::<_, SendError>(bytes.len())
        };
        let options = CallOptions::new();
        tx.send(&mut write, |tx| client.request(now, "own/method", &params, options, tx)).unwrap();
        tx.drain(&mut write).unwrap();
        let text = std::str::from_utf8(&out).unwrap().trim_end();
        assert!(RawJson::parse(text).is_ok(), "{text}");
    })
}
