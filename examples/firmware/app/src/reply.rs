//! Replies: created once, and sent by as many calls as the buffer requires.

use mcp_sansio::types::{
    CompleteResult, Completion, ContentBlock, GetPromptResult, LoggingLevel, PromptMessage,
    ReadResourceResult, ResourceContents, ResourceData, Role, Text,
};
use mcp_sansio::{
    Change, Encode, Encoder, Instant, JsonStr, LogMessage, Outcome as _, Progress, RawJson,
    Request, RequestHandle, Revision, RpcError, SendError, Server, ToolOutput, ToolResult, Tx,
    to_slice,
};

use crate::board::MAX_REGISTERS;
use crate::catalog::{CATALOG, FILE};
use crate::file;
use crate::tools::Data;

/// An optional log message, an optional change for subscribers, and a response or progress. Sent in
/// this order.
#[derive(Debug)]
pub struct Reply<'f> {
    request: RequestHandle,
    pub(crate) log: Option<&'static str>,
    pub(crate) change: Option<Change<'static>>,
    pub(crate) body: Body<'f>,
}

/// The response or progress of a request.
#[derive(Debug)]
pub(crate) enum Body<'f> {
    /// The response of the catalog: a list or an error.
    Catalog(Request<'f>),
    Error(RpcError<'f>),
    Tool(ToolResult<'f, Data>),
    /// Contents of a resource, with the URI as the client wrote it.
    Contents(JsonStr<'f>, Data),
    Registers(JsonStr<'f>, Registers),
    Name(JsonStr<'f>, Name),
    File,
    Explain(Text<'f>),
    /// All values that start with this text.
    Complete(&'static [&'static str], JsonStr<'f>),
    Progress {
        now: Instant,
        done: u16,
        total: u16,
    },
}

/// A copy of registers, since they may change while a long response is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers(pub(crate) [(&'static str, u32); MAX_REGISTERS]);

/// Name of the board, as UTF-8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) bytes: [u8; NAME_BYTES],
    pub(crate) len: usize,
}

impl Name {
    /// Copies a name; `None` if it is too long.
    pub(crate) fn new(name: JsonStr<'_>) -> Option<Self> {
        let mut bytes = [0; NAME_BYTES];
        let len = name.copy_to(&mut bytes)?.len();
        Some(Self { bytes, len })
    }
}

impl<'f> Reply<'f> {
    pub(crate) const fn new(request: RequestHandle, body: Body<'f>) -> Self {
        Self { request, log: None, change: None, body }
    }

    pub(crate) const fn log(mut self, text: &'static str) -> Self {
        self.log = Some(text);
        self
    }

    pub(crate) fn changes(mut self, uri: &'static str) -> Self {
        self.change = Some(Change::resource(uri));
        self
    }

    /// Sends the reply. Continues where it stopped when it is called again.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. Others mean a bug here.
    pub fn send(&mut self, server: &mut Server<'_>, tx: &mut Tx<'_>) -> Result<(), SendError> {
        if let Some(text) = self.log {
            match server.log(self.request, &log_message(text), tx) {
                Err(SendError::Full) => return Err(SendError::Full),
                _ => self.log = None,
            }
        }
        if let Some(change) = &mut self.change {
            while server.publish(change, tx)?.is_more() {}
            self.change = None;
        }
        self.body.send(self.request, server, tx)
    }
}

pub(crate) const fn log_message(text: &str) -> LogMessage<'_, str> {
    LogMessage::new(LoggingLevel::Info, text).logger("board")
}

impl Body<'_> {
    pub(crate) fn text(text: &'static str) -> Self {
        Self::Tool(Ok(text.into()))
    }

    pub(crate) fn structured(data: impl Into<Data>) -> Self {
        Self::Tool(Ok(ToolOutput::Structured(data.into())))
    }

    pub(crate) fn send(
        &self,
        request: RequestHandle,
        server: &mut Server<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let mut text = [0; DATA_BYTES];
        let contents = match self {
            Self::Catalog(asked) => {
                return CATALOG.respond(server, asked, tx).map(|_| ());
            }
            Self::Error(error) => return server.respond_error(request, error, tx),
            Self::Tool(result) => return result.send(server, request, tx),
            Self::Explain(part) => {
                let messages = [
                    PromptMessage::user(
                        "Explain this part of the board to somebody who has never seen one:",
                    ),
                    PromptMessage::new(Role::User, ContentBlock::from(*part)),
                ];
                return server.respond(request, &GetPromptResult::new(&messages), tx);
            }
            Self::Complete(all, typed) => return complete(all, *typed, request, server, tx),
            Self::Progress { now, done, total } => {
                let progress = Progress::of(u32::from(*done)).total(u32::from(*total));
                return server.progress(*now, request, &progress, tx).map(|_| ());
            }
            Self::Contents(uri, data) => {
                json_at(*uri, to_slice(data, Revision::LATEST, &mut text)?)
            }
            Self::Registers(uri, registers) => {
                json_at(*uri, to_slice(registers, Revision::LATEST, &mut text)?)
            }
            Self::Name(uri, name) => ResourceContents::new(
                Text::from_json(*uri),
                ResourceData::Text(Text::new(name.as_str())),
            )
            .mime_type("text/plain"),
            Self::File => {
                ResourceContents::blob(FILE, &file::BYTES).mime_type("application/octet-stream")
            }
        };
        server.respond(request, &ReadResourceResult::new(&[contents]), tx)
    }
}

fn json_at<'x>(uri: JsonStr<'x>, json: RawJson<'x>) -> ResourceContents<'x> {
    ResourceContents::new(Text::from_json(uri), ResourceData::Text(Text::new(json.as_str())))
        .mime_type("application/json")
}

fn complete(
    all: &[&'static str],
    typed: JsonStr<'_>,
    request: RequestHandle,
    server: &mut Server<'_>,
    tx: &mut Tx<'_>,
) -> Result<(), SendError> {
    let mut values = [Text::default(); MAX_VALUES];
    let mut found = 0;
    for (value, text) in values.iter_mut().zip(all.iter().filter(|text| begins_with(text, typed))) {
        *value = Text::new(text);
        found += 1;
    }
    server.respond(
        request,
        &CompleteResult::new(Completion::new(values.get(..found).unwrap_or_default())),
        tx,
    )
}

fn begins_with(text: &str, typed: JsonStr<'_>) -> bool {
    let mut text = text.chars();
    typed.chars().all(|c| text.next() == Some(c))
}

impl Name {
    pub(crate) fn as_str(&self) -> &str {
        self.bytes
            .get(..self.len)
            .and_then(|name| core::str::from_utf8(name).ok())
            .unwrap_or_default()
    }
}

impl Encode for Registers {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for (name, value) in self.0.iter().filter(|(name, _)| !name.is_empty()) {
            to.member(name, value);
        }
        to.end_object();
    }
}

/// Maximum length of the board's name, in bytes.
pub(crate) const NAME_BYTES: usize = 24;
/// Maximum size of the data as JSON, in bytes: that of ten registers.
const DATA_BYTES: usize = 384;
/// Maximum number of completion values.
const MAX_VALUES: usize = 31;
