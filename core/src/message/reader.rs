//! Messages without a session: for what stands between two peers.

use super::envelope::Kind;
use super::id::Id;
use super::member::Member;
use super::params::Params;
use super::{Item, Messages};
use crate::json::{JsonStr, RawJson};
use crate::rpc::PeerError;
use crate::violation::Violation;

/// A message as it came, whatever it means to a session: what a bridge, a proxy or a log needs to
/// know of it. See [`Messages::next_message`].
#[derive(Clone, Copy, Debug)]
pub struct Message<'f> {
    /// All of it; of a batch, this element alone.
    pub text: RawJson<'f>,
    /// What it is.
    pub kind: MessageKind<'f>,
}

/// What a [`Message`] is. Ids are a string or an integer, as they are spelled.
#[derive(Clone, Copy, Debug)]
pub enum MessageKind<'f> {
    /// A request.
    Request {
        /// What its answer is known by.
        id: RawJson<'f>,
        /// What is asked.
        method: JsonStr<'f>,
        /// Its parameters.
        params: Params<'f>,
    },
    /// A notification.
    Notification {
        /// What it tells.
        method: JsonStr<'f>,
        /// Its parameters.
        params: Params<'f>,
    },
    /// The answer to a request.
    Response {
        /// Which; an error need not say.
        id: Option<RawJson<'f>>,
        /// The result, or the error.
        outcome: Result<RawJson<'f>, PeerError<'f>>,
    },
}

/// Something in the place of a message: noise, or a message that is not as it must be.
#[derive(Clone, Copy, Debug)]
pub struct Malformed<'f> {
    /// What is wrong with it.
    pub violation: Violation,
    /// Its id, where one could be read.
    pub id: Option<RawJson<'f>>,
    /// Whether it was meant as a response or a notification, so that nobody waits for an answer to
    /// it.
    pub silent: bool,
}

impl<'f> Messages<'f> {
    /// The next message of the frame, without a session that deals with it: nothing is checked but
    /// the form, and nothing answered. The end of the frame says `None`.
    ///
    /// ```
    /// use mcp_sansio::{Frame, MessageKind, Messages};
    /// let mut messages =
    ///     Messages::new(Frame::Complete(br#"{"jsonrpc":"2.0","id":"a\/b","method":"ping"}"#));
    /// let message = messages.next_message().unwrap().unwrap();
    /// let MessageKind::Request { id, method, .. } = message.kind else { panic!() };
    /// assert!(id.as_str() == r#""a\/b""# && method == "ping");
    /// assert!(messages.next_message().is_none());
    /// ```
    ///
    /// # Errors
    /// What stands there is no message. The next call goes on behind it.
    pub fn next_message(&mut self) -> Option<Result<Message<'f>, Malformed<'f>>> {
        while !self.is_done() {
            let mut envelope = self.envelope();
            let (item, next) = self.peek(&mut envelope)?;
            self.cursor = next.0;
            let kind = match item {
                Item::Batch => continue,
                Item::Fault { violation, id, silent } => {
                    return Some(Err(Malformed { violation, id: id.map(raw), silent }));
                }
                Item::Message(kind) => kind,
            };
            let method = envelope.value(Member::Method).and_then(RawJson::as_string);
            let kind = match (kind, method) {
                (Kind::Request { id, .. }, Some(method)) => {
                    MessageKind::Request { id: raw(id), method, params: envelope.params() }
                }
                (Kind::Response { id, outcome }, _) => MessageKind::Response {
                    id: id.map(raw),
                    outcome: outcome.map_err(PeerError::new),
                },
                (_, Some(method)) => {
                    MessageKind::Notification { method, params: envelope.params() }
                }
                // Whatever has no method is a response.
                (_, None) => continue,
            };
            return Some(Ok(Message { text: whole(envelope.text()), kind }));
        }
        None
    }
}

/// A message with what may stand around it.
fn whole(text: &str) -> RawJson<'_> {
    RawJson::scanned(text.trim_matches([' ', '\t', '\r', '\n']))
}

fn raw(id: Id<'_>) -> RawJson<'_> {
    RawJson::scanned(id.as_str())
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;
    use std::string::String;
    use std::vec::Vec;

    use super::*;
    use crate::rx::Frame;

    /// Each message of a frame in a few words.
    fn read(frame: Frame<'_>) -> Vec<String> {
        let mut messages = Messages::new(frame);
        core::iter::from_fn(|| messages.next_message())
            .map(|message| match message {
                Ok(Message { text, kind: MessageKind::Request { id, method, params } }) => {
                    format!("request {id} {method} {} of {}", params.raw(), text.as_str().len())
                }
                Ok(Message { kind: MessageKind::Notification { method, .. }, .. }) => {
                    format!("notification {method}")
                }
                Ok(Message { text, kind: MessageKind::Response { id, outcome } }) => {
                    format!(
                        "response {id:?} {:?} of {}",
                        outcome.map_err(|error| error.code()),
                        text.as_str().len()
                    )
                }
                Err(Malformed { violation, id, silent }) => {
                    format!("{violation:?} {id:?} {silent}")
                }
            })
            .collect()
    }

    #[test]
    fn each_message_of_a_frame_says_what_it_is() {
        let one = read(Frame::Complete(
            br#" {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}} "#,
        ));
        assert_eq!(one, ["request 1 tools/call {\"name\":\"x\"} of 68"]);
        let batch = br#"[{"jsonrpc":"2.0","method":"a"} , 7,{"jsonrpc":"2.0","id":"b","result":{}},{"jsonrpc":"2.0","error":{"code":-1}}]"#;
        assert_eq!(
            read(Frame::Complete(batch)),
            [
                "notification a",
                "NotAMessage None false",
                "response Some(\"b\") Ok({}) of 38",
                "response None Err(-1) of 37",
            ]
        );
    }

    #[test]
    fn what_is_no_message_says_so_once() {
        for (bytes, expected) in [
            (&b"boot: ok"[..], "NotJson None false"),
            (b"\xff", "NotUtf8 None false"),
            (b"[]", "EmptyBatch None false"),
            (br#"{"id":5,"method":"m"}"#, "WrongJsonRpcVersion Some(5) false"),
            (br#"{"id":5,"result":{}}"#, "WrongJsonRpcVersion Some(5) true"),
        ] {
            assert_eq!(read(Frame::Complete(bytes)), [expected]);
        }
        let long = Frame::Oversized {
            prefix: br#"{"jsonrpc":"2.0","id":"r","result":{"text":"xx"#,
            tail: b"xx\"}}",
        };
        assert_eq!(read(long), ["TooLong Some(\"r\") true"]);
    }
}
