//! The two kinds of servers, and the texts for their clients.

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerKind {
    /// A device on a line. It boots, may be reset without a sign, and does not see the line's end.
    Device,
    /// A process with standard input and output, which begins without a session.
    Process,
}

impl ServerKind {
    /// Returns the prefix of the ids of the relay's own requests.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Device => "serial-bridge",
            Self::Process => "inspect-run",
        }
    }

    /// Returns how the server was lost.
    pub(crate) fn lost(self, place: &str, why: &str) -> String {
        match self {
            Self::Device => format!("{place} is gone: {why}"),
            Self::Process => why.to_owned(),
        }
    }

    /// Returns the text for a request that the server was processing.
    pub(crate) fn interrupted(self, place: &str, why: &str) -> String {
        match self {
            Self::Device => {
                format!("{place} was disconnected while it processed this request ({why}).")
            }
            Self::Process => format!("{why} while it processed this request."),
        }
    }

    /// Returns what to do after that.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Device => {
                "The request may have been carried out. The bridge reconnects: check the state, then retry"
            }
            Self::Process => "The request may have been carried out: check the state, then retry",
        }
    }

    /// Returns the text for a request while there is no server.
    pub(crate) fn absence(self, why: &str) -> String {
        match self {
            Self::Device => {
                format!("The device is unavailable: {why}. The bridge keeps trying: retry later")
            }
            Self::Process => format!("{why}. It is started again when its program changes"),
        }
    }

    /// Returns the text for a request while the server is silent from the start.
    pub(crate) fn silence(self, place: &str) -> String {
        match self {
            Self::Device => format!(
                "{place} is open, but there is no response. Is an MCP server running on the device, at this speed? Its other output is in the log"
            ),
            Self::Process => format!("{place} was started, and does not respond to `initialize`"),
        }
    }
}
