//! Elements of an event stream that carry no message.

use crate::bytes::copy;

/// An element of an event stream that carries no message.
///
/// ```
/// use mcp_sansio::http::sse::ControlEvent;
/// let mut out = [0; 64];
/// let n = ControlEvent::Priming { id: "7-0", retry: Some(500) }.write(&mut out).unwrap();
/// assert_eq!(&out[..n], b"id: 7-0\nretry: 500\ndata: \n\n");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlEvent<'p> {
    /// A comment, which clients ignore: keeps proxies from closing an idle connection (2026-07-28,
    /// basic/transports/streamable-http).
    Comment,
    /// An empty event with an id, from which the client can resume before the first message
    /// (2025-11-25, basic/transports).
    Priming {
        /// The event id: one line, without NUL.
        id: &'p str,
        /// The time to wait before resuming, in milliseconds.
        retry: Option<u32>,
    },
    /// The time to wait before reconnecting, in milliseconds (2025-11-25, basic/transports).
    Retry(u32),
    /// The URI for POST requests, absolute or relative: the first event of a stream of HTTP+SSE
    /// (2024-11-05).
    Endpoint(&'p str),
}

impl ControlEvent<'_> {
    /// Writes the element and returns its length; `None`, with nothing usable written, if it does
    /// not fit or contains a line break or NUL.
    #[must_use]
    pub fn write(&self, out: &mut [u8]) -> Option<usize> {
        let text = match self {
            Self::Priming { id, .. } => id,
            Self::Endpoint(uri) => uri,
            Self::Comment | Self::Retry(_) => "",
        };
        if text.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return None;
        }
        let mut output = Output { out, len: 0 };
        match self {
            Self::Comment => output.put(b":\n\n")?,
            Self::Priming { id, retry } => {
                output.field(b"id: ", id)?;
                if let Some(ms) = retry {
                    output.retry(*ms)?;
                }
                output.put(b"data: \n\n")?;
            }
            Self::Retry(ms) => {
                output.retry(*ms)?;
                output.put(b"\n")?;
            }
            Self::Endpoint(uri) => {
                output.field(b"event: endpoint\ndata: ", uri)?;
                output.put(b"\n")?;
            }
        }
        Some(output.len)
    }
}

struct Output<'o> {
    out: &'o mut [u8],
    len: usize,
}

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        copy(bytes, self.out.get_mut(self.len..)?.get_mut(..bytes.len())?);
        self.len += bytes.len();
        Some(())
    }

    fn field(&mut self, name: &[u8], value: &str) -> Option<()> {
        self.put(name)?;
        self.put(value.as_bytes())?;
        self.put(b"\n")
    }

    fn retry(&mut self, ms: u32) -> Option<()> {
        self.put(b"retry: ")?;
        self.put(crate::json::Decimal::new(u64::from(ms), false).as_bytes())?;
        self.put(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_written_whole_or_not_at_all() {
        let cases: [(ControlEvent<'_>, &[u8]); 5] = [
            (ControlEvent::Comment, b":\n\n"),
            (ControlEvent::Retry(1500), b"retry: 1500\n\n"),
            (ControlEvent::Priming { id: "a", retry: None }, b"id: a\ndata: \n\n"),
            (
                ControlEvent::Priming { id: "a", retry: Some(u32::MAX) },
                b"id: a\nretry: 4294967295\ndata: \n\n",
            ),
            (
                ControlEvent::Endpoint("/messages?id=1"),
                b"event: endpoint\ndata: /messages?id=1\n\n",
            ),
        ];
        for (element, expected) in cases {
            for room in 0..expected.len() {
                assert_eq!(element.write(&mut [0; 64][..room]), None, "{element:?} {room}");
            }
            let mut out = [0; 64];
            assert_eq!(element.write(&mut out), Some(expected.len()));
            assert_eq!(&out[..expected.len()], expected);
        }
    }

    #[test]
    fn text_with_line_breaks_or_nul_is_rejected() {
        for text in ["a\nb", "a\rb", "a\0b"] {
            assert_eq!(ControlEvent::Priming { id: text, retry: None }.write(&mut [0; 64]), None);
            assert_eq!(ControlEvent::Endpoint(text).write(&mut [0; 64]), None);
        }
    }
}
