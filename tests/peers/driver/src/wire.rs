//! Messages on the wire, written and read without a JSON library: the driver must be cheaper than
//! the servers.

use std::io::Write as _;

use memchr::memmem::Finder;

#[derive(Clone, Copy, PartialEq)]
pub enum Era {
    /// 2025-11-25: `initialize`, then bare requests.
    Legacy,
    /// 2026-07-28: no handshake, `_meta` in every request.
    Modern,
}

/// Last member of the parameters.
const MODERN_META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"driver","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"driver","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Returns a request that opens a stream.
pub fn listen() -> String {
    modern("subscriptions/listen", r#""notifications":{"toolsListChanged":true},"#)
}

fn modern(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":0,"method":"{method}","params":{{{params}{MODERN_META}}}}}"#)
}

/// Number of digits at the start of every text. They are unique to its id, so that a response with
/// another call's text is detected.
const TAG: usize = 16;

/// Writes the calls of one scenario and checks their responses. Id 0 is the greeting.
pub struct Wire {
    era: Era,
    filler: Vec<u8>,
    id_key: Finder<'static>,
    text_key: Finder<'static>,
}

impl Wire {
    pub fn new(era: Era, text_length: usize) -> Self {
        let filler = b"the quick brown fox jumps over the lazy dog ".iter().copied().cycle();
        Self {
            era,
            filler: filler.take(text_length - TAG).collect(),
            id_key: Finder::new(r#""id":"#),
            text_key: Finder::new(r#""text":"#),
        }
    }

    /// Returns the request before all calls. Its response must have a result.
    pub fn greeting(&self) -> String {
        match self.era {
            Era::Legacy => INITIALIZE.to_owned(),
            Era::Modern => modern("server/discover", ""),
        }
    }

    /// Returns the notification after the response to the greeting, if there is one.
    pub fn after_greeting(&self) -> Option<&'static str> {
        (self.era == Era::Legacy).then_some(INITIALIZED)
    }

    pub fn push_call(&self, id: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        let _ = write!(out, "{id}");
        out.extend_from_slice(
            br#","method":"tools/call","params":{"name":"echo","arguments":{"text":""#,
        );
        out.extend_from_slice(&tag(id));
        out.extend_from_slice(&self.filler);
        out.extend_from_slice(br#""}"#);
        if self.era == Era::Modern {
            out.push(b',');
            out.extend_from_slice(MODERN_META.as_bytes());
        }
        out.extend_from_slice(b"}}");
    }

    pub fn is_greeting_answer(&self, line: &[u8]) -> bool {
        self.id(line) == Some(0) && memchr::memmem::find(line, br#""result""#).is_some()
    }

    /// Returns the id of a response that carries the text sent with that id, otherwise `None`.
    pub fn echoed(&self, line: &[u8]) -> Option<u64> {
        let id = self.id(line)?;
        let text = after(line, &self.text_key)?.strip_prefix(b"\"")?;
        let rest = text.strip_prefix(&tag(id))?.strip_prefix(&*self.filler)?;
        rest.starts_with(b"\"").then_some(id)
    }

    fn id(&self, line: &[u8]) -> Option<u64> {
        let id = after(line, &self.id_key)?;
        let len = id.iter().take_while(|byte| byte.is_ascii_digit()).count();
        str::from_utf8(&id[..len]).ok()?.parse().ok()
    }
}

/// Returns the value after a key and its colon, and after the space that some servers write there.
/// Our texts have no quotes, so the key cannot be found inside one.
fn after<'a>(line: &'a [u8], key: &Finder) -> Option<&'a [u8]> {
    let at = key.find(line)?;
    Some(line[at + key.needle().len()..].trim_ascii_start())
}

fn tag(id: u64) -> [u8; TAG] {
    // An odd factor is a bijection: no two ids share a tag.
    let mixed = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    std::array::from_fn(|i| b"0123456789abcdef"[(mixed >> (60 - 4 * i)) as usize & 15])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(wire: &Wire, id: u64) -> String {
        let mut call = Vec::new();
        wire.push_call(id, &mut call);
        let text = after(&call, &wire.text_key).unwrap_or_default();
        String::from_utf8_lossy(&text[1..65]).into()
    }

    #[test]
    fn an_echo_is_recognized_whatever_its_spelling() {
        let wire = Wire::new(Era::Legacy, 64);
        let text = text_of(&wire, 7);
        let compact =
            format!(r#"{{"id":7,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#);
        let spaced = format!(
            r#"{{"result": {{"content": [{{"text": "{text}", "type": "text"}}]}}, "id": 7}}"#
        );
        assert_eq!(wire.echoed(compact.as_bytes()), Some(7));
        assert_eq!(wire.echoed(spaced.as_bytes()), Some(7));
    }

    #[test]
    fn another_text_is_no_echo() {
        let wire = Wire::new(Era::Modern, 64);
        for text in [text_of(&wire, 8), text_of(&wire, 7) + "!", String::new()] {
            let line = format!(r#"{{"id":7,"result":{{"content":[{{"text":"{text}"}}]}}}}"#);
            assert_eq!(wire.echoed(line.as_bytes()), None);
        }
        assert_eq!(wire.echoed(br#"{"id":7,"error":{"code":-32602,"message":"no"}}"#), None);
    }
}
