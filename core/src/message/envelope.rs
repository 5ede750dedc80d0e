//! The kind of a JSON-RPC message, by its members; also for programs without a session.

#[cfg(not(small))]
pub(crate) use super::fast::Envelope;
#[cfg(small)]
pub(crate) use super::small::Envelope;

use core::fmt;
use core::marker::PhantomData;

use super::{Item, Messages, Params};
use crate::buffers::rx::Frame;
use crate::json::{JsonStr, RawJson, skip_value, skip_whitespace};
use crate::protocol::Method;
use crate::protocol::error::Violation;
use crate::rpc::PeerError;
use crate::rpc::id::Id;
use crate::text::Printable;

/// A classified message.
pub(crate) enum Classified<'f> {
    Request { id: Id<'f>, method: Method<'f> },
    Notification { method: JsonStr<'f> },
    Response { id: Option<Id<'f>>, outcome: Result<RawJson<'f>, RawJson<'f>> },
}

impl<'f> Envelope<'f> {
    /// Classifies the message.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn kind(&self) -> Result<Classified<'f>, Violation> {
        if self.has_duplicate() {
            return Err(Violation::DuplicateKey);
        }
        if !self.has_valid_version() {
            return Err(Violation::WrongJsonRpcVersion);
        }
        let id = self.id();
        if let (Some(id), Some(method), false) =
            (id, self.common_method(), self.has(Member::Result) || self.has(Member::Error))
        {
            return Ok(Classified::Request { id, method });
        }
        match (self.value(Member::Method), self.value(Member::Result), self.value(Member::Error)) {
            // A request needs a valid id; a message without any is a notification.
            (Some(_), None, None) if id.is_none() && self.has(Member::Id) => {
                Err(Violation::InvalidId)
            }
            (Some(method), None, None) => match (method.as_string(), id) {
                (Some(method), Some(id)) => {
                    Ok(Classified::Request { id, method: Method::from_json(method) })
                }
                (Some(method), None) => Ok(Classified::Notification { method }),
                (None, _) => Err(Violation::NotAMessage),
            },
            (None, Some(result), None) if id.is_some() => {
                Ok(Classified::Response { id, outcome: Ok(result) })
            }
            (None, None, Some(error)) if error.is_object() => {
                Ok(Classified::Response { id, outcome: Err(error) })
            }
            _ => Err(Violation::NotAMessage),
        }
    }

    pub(crate) fn id(&self) -> Option<Id<'f>> {
        self.value(Member::Id).and_then(|id| Id::parse(id.as_str()))
    }

    /// Returns whether it was meant as a notification: it has a method and no id, not even an
    /// invalid one.
    pub(crate) fn is_notification(&self) -> bool {
        !self.has(Member::Id) && self.first_byte(Member::Method) == b'"'
    }

    /// Returns whether an invalid message is taken for a response: without a method it is no
    /// request, so with the id of a call it is the response, which cannot be used.
    pub(crate) fn may_be_response(&self, violation: Violation, forbids_response: bool) -> bool {
        let was_read = !matches!(violation, Violation::TooLong | Violation::TooDeep);
        forbids_response || was_read && !self.has(Member::Method)
    }

    pub(crate) fn is_response(&self) -> bool {
        !self.has(Member::Method) && (self.has(Member::Result) || self.has(Member::Error))
    }

    /// Returns whether a truncated message looks like a response. It may end within its result.
    pub(crate) fn starts_as_response(&self) -> bool {
        self.has_begun(Member::Result) || self.has_begun(Member::Error)
    }

    /// Returns the id of a truncated or invalid message, but only if the message continues behind
    /// it, since a number may be truncated, too.
    pub(crate) fn complete_id(&self) -> Option<Id<'f>> {
        let text = self.text().as_bytes();
        match text.get(skip_whitespace(text, self.end_of(Member::Id))) {
            Some(b',' | b'}') => self.id(),
            _ => None,
        }
    }
}

// Reads messages without session state, for proxies and bridges.

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

impl fmt::Display for Malformed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.violation, f)
    }
}

impl core::error::Error for Malformed<'_> {}

/// A violation of the protocol by the peer. With the feature `alloc` it has the frame, too, if that
/// cannot be read; without, it does not, which takes 200 bytes of flash less.
///
/// `Display` writes the words of the violation and its [`place`](Self::place).
#[derive(Clone, Copy)]
pub struct PeerViolation<'f> {
    /// The rule that is violated.
    pub violation: Violation,
    #[cfg(feature = "alloc")]
    frame: Frame<'f>,
    lent: PhantomData<&'f ()>,
}

impl<'f> PeerViolation<'f> {
    /// Creates a violation by a frame.
    #[inline]
    pub const fn new(violation: Violation, frame: Frame<'f>) -> Self {
        #[cfg(not(feature = "alloc"))]
        let _ = frame;
        Self {
            violation,
            #[cfg(feature = "alloc")]
            frame,
            lent: PhantomData,
        }
    }

    /// Returns where the frame stops to be JSON in UTF-8, with its first 60 characters:
    /// `byte 0 of "Content-Length: 52"`; or `longer than 4194304 bytes`. `None` for other
    /// violations. It reads the frame again.
    pub fn place(&self) -> Option<impl fmt::Display + use<'f>> {
        #[cfg(feature = "alloc")]
        let frame = self.frame;
        #[cfg(not(feature = "alloc"))]
        let frame = NO_FRAME;
        match frame {
            Frame::Complete(frame) => Some(Place::Byte { at: first_invalid(frame)?, frame }),
            // Bytes of it were lost.
            Frame::Oversized { prefix: [], .. } => None,
            // Half of the memory keeps the beginning.
            Frame::Oversized { prefix, .. } => Some(Place::Behind(prefix.len() * 2)),
        }
    }
}

const NO_FRAME: Frame<'_> = Frame::Complete(&[]);

/// The fault of a frame that cannot be read.
enum Place<'f> {
    /// The first byte that is not JSON in UTF-8.
    Byte { at: usize, frame: &'f [u8] },
    /// The frame goes on behind so many bytes.
    Behind(usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, frame) = match self {
            Self::Byte { at, frame } => (at, frame),
            Self::Behind(limit) => return write!(f, "longer than {limit} bytes"),
        };
        let mut chars = frame.utf8_chunks().flat_map(|chunk| {
            let lost = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
            chunk.valid().chars().chain(lost)
        });
        write!(f, "byte {at} of \"")?;
        chars.by_ref().take(SHOWN).try_for_each(|c| write!(f, "{}", Printable::new(c)))?;
        f.write_str(if chars.next().is_some() { "..\"" } else { "\"" })
    }
}

impl fmt::Debug for PeerViolation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.violation, f)
    }
}

impl fmt::Display for PeerViolation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.violation, f)?;
        self.place().map_or(Ok(()), |place| write!(f, " ({place})"))
    }
}

impl core::error::Error for PeerViolation<'_> {}

impl From<Violation> for PeerViolation<'_> {
    fn from(violation: Violation) -> Self {
        Self::new(violation, NO_FRAME)
    }
}

/// Returns the offset of the first byte that is not JSON in UTF-8.
fn first_invalid(frame: &[u8]) -> Option<usize> {
    if frame.is_empty() {
        return None;
    }
    if let Err(error) = core::str::from_utf8(frame) {
        return Some(error.valid_up_to());
    }
    match skip_value(frame, skip_whitespace(frame, 0), 0) {
        Err(error) => Some(error.position()),
        Ok(end) => Some(skip_whitespace(frame, end)).filter(|end| *end < frame.len()),
    }
}

/// Maximum number of characters of a frame that are shown.
const SHOWN: usize = 60;

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
                (Classified::Request { id, .. }, Some(method)) => {
                    MessageKind::Request { id: raw(id), method, params: envelope.params() }
                }
                (Classified::Response { id, outcome }, _) => MessageKind::Response {
                    id: id.map(raw),
                    outcome: outcome.map_err(PeerError::new),
                },
                (_, Some(method)) => {
                    MessageKind::Notification { method, params: envelope.params() }
                }
                // A message without a method is a response.
                (_, None) => continue,
            };
            let text = envelope.text().trim_matches([' ', '\t', '\r', '\n']);
            return Some(Ok(Message { text: RawJson::scanned(text), kind }));
        }
        None
    }
}

fn raw(id: Id<'_>) -> RawJson<'_> {
    RawJson::scanned(id.as_str())
}

/// A recorded member: those of the message, then those of `_meta`, which only the state machine
/// reads, then those of `params`. `Envelope::walk` in `small.rs` relies on the order.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(small, allow(dead_code))]
pub(crate) enum Member {
    Version,
    Id,
    Method,
    Result,
    Error,
    Params,
    ProgressToken,
    ProtocolVersion,
    ClientCapabilities,
    LogLevel,
    Arguments,
    Meta,
    Name,
    Uri,
    Cursor,
    InputResponses,
    RequestState,
    /// Any other member, which is not recorded.
    Other,
}

impl Member {
    /// A bit for each member of which a duplicate is rejected; a duplicate of any other member
    /// replaces the first.
    pub(crate) const UNIQUE: u32 = !(Self::ProgressToken.bit()
        | Self::ProtocolVersion.bit()
        | Self::ClientCapabilities.bit()
        | Self::LogLevel.bit()
        | Self::Other.bit());

    #[inline]
    pub(crate) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

#[cfg(test)]
mod kind_tests {
    extern crate std;

    use std::{format, string::String};

    use super::*;
    const RECORDED: [Member; 7] = [
        Member::Version,
        Member::Id,
        Member::Method,
        Member::Result,
        Member::ProgressToken,
        Member::Params,
        Member::ProtocolVersion,
    ];
    const PARAMS: [&str; 5] = ["arguments", "name", "uri", "cursor", "_meta"];

    /// Describes the message that was read, without whitespace.
    fn found(text: &str) -> String {
        let mut envelope = Envelope::new(text);
        let read = envelope.read(0, 0) == Ok(text.len());
        let kind = match envelope.kind() {
            Ok(Classified::Request { id, method }) => format!("request {} {method:?}", id.as_str()),
            Ok(Classified::Notification { method }) => format!("notification {method:?}"),
            Ok(Classified::Response { id, outcome }) => {
                format!("response {:?} {outcome:?}", id.map(Id::as_str))
            }
            Err(violation) => format!("{violation:?}"),
        };
        let recorded = RECORDED.map(|member| envelope.value(member));
        let params = envelope.params();
        let arguments = params.arguments();
        let params = PARAMS.map(|key| params.get(key));
        let arguments = ["a", "b"].map(|key| arguments.get(key));
        let all = if read { format!("{kind} {recorded:?} {params:?} {arguments:?}") } else { kind };
        format!("{read} {all}").replace(' ', "")
    }

    #[test]
    fn whitespace_between_tokens_makes_no_difference() {
        let heads = [
            "\"jsonrpc\":~\"2.0\"~",
            "\"jsonrpc\":~\"2.1\"~",
            "\"jsonrpc\":~\"2.0~",
            "\"json\\u0072pc\":~\"2.0\"~",
            "\"jsonrpc\":~2.0~",
            "\"jsonrpc\":~\"2.0\"~,~\"jsonrpc\":~\"2.0\"~",
            "\"jsonrpc\":~\"2.0\"~,~\"jsonrpc\":~\"1.0\"~",
        ];
        let ids = [
            "\"id\":~7~",
            "\"id\":~120~",
            "\"id\":~0~",
            "\"id\":~01~",
            "\"id\":~-1~",
            "\"id\":~1.5~",
            "\"id\":~1e2~",
            "\"id\":~\"7\"~",
            "\"id\":~null~",
            "\"id\":~",
            "\"id\":~7~,~\"id\":~8~",
            "\"i\":~7~",
            "\"idx\":~7~",
            "\"id\"~:~7~",
        ];
        let methods = [
            "\"method\":~\"tools/call\"~",
            "\"method\":~\"tools/calls\"~",
            "\"method\":~\"tools/call~",
            "\"method\":~\"prompts/get\"~",
            "\"method\":~\"resources/read\"~",
            "\"method\":~\"tools\\/call\"~",
            "\"method\":~7~",
            "\"result\":~{~}~",
            "\"method\":~\"tools/call\"~,~\"result\":~{~}~",
            "\"method\":~\"tools/call\"~,~\"method\":~\"ping\"~",
        ];
        let params = [
            "\"params\":~{~\"name\":~\"x\"~,~\"arguments\":~{~\"a\":~1~,~\"b\":~\"text\\n\"~}~}~",
            "\"params\":~{~\"arguments\":~{~\"\\u0061\":~[1]~}~,~\"name\":~\"a\\\"b\"~}~",
            "\"params\":~{~}~",
            "\"params\":~[1]~",
            "\"params\":~{~\"_meta\":~{~\"progressToken\":~3~}~,~\"name\":~7~}~",
            "\"params\":~{~\"name\":~\"x~",
            "\"params\":~{~\"name\":~\"x\"~,~\"name\":~\"y\"~}~",
            "\"params\":~{~\"arguments\":~{~}~,~\"arguments\":~{~\"a\":~1~}~}~",
            "\"params\":~{~\"a\":~1~}~,~\"params\":~{~\"a\":~1~}~",
            "\"params\":~{~\"cursor\":~\"c\"~,~}~",
        ];
        let check = |members: [&str; 4]| {
            let text = format!("{{~{}~}}", members.join(",~"));
            assert_eq!(found(&text.replace('~', "")), found(&text.replace('~', " ")), "{text}");
        };
        for head in heads {
            for id in ids {
                for method in methods {
                    for params in params {
                        check([head, id, method, params]);
                        check([method, params, head, id]);
                    }
                }
            }
        }
        assert!(
            found(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#)
                .starts_with("truerequest7ToolsCall")
        );
    }
}

#[cfg(test)]
mod message_tests {
    extern crate std;

    use std::format;
    use std::string::String;
    use std::vec::Vec;

    use super::*;
    use crate::buffers::rx::Frame;

    /// Describes each message of a frame.
    fn read(frame: Frame<'_>) -> Vec<String> {
        let mut messages = Messages::new(frame);
        core::iter::from_fn(|| messages.next_message())
            .map(|message| match message {
                Ok(Message { text, kind: MessageKind::Request { id, method, params } }) => {
                    format!("request {id} {method} {} of {}", params.as_json(), text.as_str().len())
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
