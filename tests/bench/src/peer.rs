//! Baseline with serde_json: the least that any server on it does. It reads the members of one
//! envelope and writes one.

use std::hint::black_box;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Case;

#[derive(Deserialize)]
struct Message<'f> {
    jsonrpc: &'f str,
    #[serde(borrow)]
    id: &'f RawValue,
    method: &'f str,
    #[serde(borrow)]
    params: &'f RawValue,
}

#[derive(Serialize)]
struct Answer<'f> {
    jsonrpc: &'f str,
    id: &'f RawValue,
    result: &'f RawValue,
}

/// Returns the parameters as the result, so that as many bytes are written as by an echo.
pub(crate) fn envelope(name: String, line: String) -> Case {
    let mut out = Vec::with_capacity(2 * line.len());
    Case::new(name, line.len(), move || {
        let message: Message<'_> = serde_json::from_slice(black_box(line.as_bytes())).unwrap();
        black_box(message.method);
        out.clear();
        let answer = Answer { jsonrpc: message.jsonrpc, id: message.id, result: message.params };
        serde_json::to_writer(&mut out, &answer).unwrap();
        out.push(b'\n');
        black_box(out.as_slice()).len()
    })
}
