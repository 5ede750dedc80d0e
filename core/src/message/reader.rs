//! Reads messages without session state, for proxies and bridges.

use super::envelope::Kind;
use super::id::Id;
use super::member::Member;
use super::params::Params;
use super::{Item, Messages};
use crate::json::{JsonStr, RawJson};
use crate::rpc::PeerError;
use crate::violation::Violation;

/// A message as it was received, for bridges, proxies and logs. See [`Messages::next_message`].
#[derive(Clone, Copy, Debug)]
pub struct Message<'f> {
    /// The JSON text of the message; in a batch, of this element alone.
    pub text: RawJson<'f>,
    /// The kind of message, with its members.
    pub kind: MessageKind<'f>,
}

/// The kind of a [`Message`]. Ids are strings or integers, in their original spelling.
#[derive(Clone, Copy, Debug)]
pub enum MessageKind<'f> {
    /// A request.
    Request {
        /// The id that the response repeats.
        id: RawJson<'f>,
        /// The method that is called.
        method: JsonStr<'f>,
        /// Its parameters.
        params: Params<'f>,
    },
    /// A notification.
    Notification {
        /// The method of the notification.
        method: JsonStr<'f>,
        /// Its parameters.
        params: Params<'f>,
    },
    /// A response.
    Response {
        /// The id of the request; an error response may have none.
        id: Option<RawJson<'f>>,
        /// The result, or the error.
        outcome: Result<RawJson<'f>, PeerError<'f>>,
    },
}

/// An invalid message, or input that is not JSON.
#[derive(Clone, Copy, Debug)]
pub struct Malformed<'f> {
    /// The rule that is violated.
    pub violation: Violation,
    /// The id, if one could be read.
    pub id: Option<RawJson<'f>>,
    /// Whether a response is forbidden, because the message was meant as a response or
    /// notification.
    pub forbids_response: bool,
}

impl<'f> Messages<'f> {
    /// Returns the next message of the frame, or `None` at its end. Only the form is checked, and
    /// nothing is responded.
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
    /// [`Malformed`] if the next item is not a valid message. The next call continues behind it.
    pub fn next_message(&mut self) -> Option<Result<Message<'f>, Malformed<'f>>> {
        while !self.is_done() {
            let mut envelope = self.envelope();
            let (item, next) = self.peek(&mut envelope)?;
            self.advance(next);
            let kind = match item {
                Item::Batch => continue,
                Item::Invalid { violation, id, forbids_response } => {
                    return Some(Err(Malformed { violation, id: id.map(raw), forbids_response }));
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
                // A message without a method is a response.
                (_, None) => continue,
            };
            return Some(Ok(Message { text: whole(envelope.text()), kind }));
        }
        None
    }
}

/// Returns the text of a message, without the whitespace around it.
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

    /// Describes each message of a frame.
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
                Err(Malformed { violation, id, forbids_response }) => {
                    format!("{violation:?} {id:?} {forbids_response}")
                }
            })
            .collect()
    }

    #[test]
    fn each_message_of_a_frame_is_classified() {
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
    fn each_invalid_frame_is_reported_once() {
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
