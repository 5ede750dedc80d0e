//! Open requests.

use std::time::Instant;

use mcp_sansio::{JsonStr, Params, RawJson};

/// An id, compared by value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Id {
    Number(i64),
    Text(String),
    /// A number outside of the range of integers.
    Other(String),
}

/// A request of the client.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) key: Id,
    /// The id as written.
    pub(crate) id: String,
    /// The message.
    pub(crate) text: String,
    pub(crate) kind: Kind,
    /// Whether it was sent before, and rejected by a server that had lost its session.
    pub(crate) again: bool,
    /// The notifications that the server has acknowledged, of a subscription.
    pub(crate) covers: Option<Covered>,
}

/// The changes that a server notifies of.
#[derive(Clone, Debug)]
pub(crate) struct Covered {
    pub(crate) lists: Vec<&'static str>,
    /// The URIs of resources, as JSON.
    pub(crate) uris: Vec<String>,
}

/// A request that waits for the server.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) pending: Pending,
    pub(crate) deadline: Instant,
}

/// A request of the server.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The reset count at which the server sent it.
    pub(crate) life: u32,
    /// The id at the client, as written.
    pub(crate) id: String,
    /// The id at the server.
    pub(crate) of_server: String,
}

/// A request of the relay.
#[derive(Debug)]
pub(crate) enum Own {
    Probe,
    Initialize,
    /// A `shutdown`, after which the client's `initialize` is repeated.
    Anew(Pending),
    Ignored,
}

/// The state that a response may change.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    Initialize { params: String },
    Discover,
    Listen,
    SetLevel { params: String },
    Subscribe { uri: String },
    Unsubscribe { uri: String },
    Other,
}

impl Id {
    pub(crate) fn of(id: RawJson<'_>) -> Self {
        match (id.as_string(), id.as_i64()) {
            (Some(text), _) => Self::Text(text.to_string()),
            (None, Some(number)) => Self::Number(number),
            (None, None) => Self::Other(id.as_str().to_owned()),
        }
    }
}

impl Pending {
    pub(crate) fn new(
        id: RawJson<'_>,
        text: RawJson<'_>,
        method: JsonStr<'_>,
        params: &Params<'_>,
    ) -> Self {
        let whole = || params.as_json().as_str().to_owned();
        // Some writers escape the slash.
        let kind = match (method.to_string().as_str(), params.get("uri")) {
            ("initialize", _) => Kind::Initialize { params: whole() },
            ("server/discover", _) => Kind::Discover,
            ("subscriptions/listen", _) => Kind::Listen,
            ("logging/setLevel", _) => Kind::SetLevel { params: whole() },
            ("resources/subscribe", Some(uri)) => Kind::Subscribe { uri: uri.as_str().to_owned() },
            ("resources/unsubscribe", Some(uri)) => {
                Kind::Unsubscribe { uri: uri.as_str().to_owned() }
            }
            _ => Kind::Other,
        };
        Self {
            key: Id::of(id),
            id: id.as_str().to_owned(),
            text: text.as_str().to_owned(),
            kind,
            again: false,
            covers: None,
        }
    }

    /// Whether this is a handshake request, which has no effects and may wait for the server.
    pub(crate) fn opens(&self) -> bool {
        matches!(self.kind, Kind::Initialize { .. } | Kind::Discover)
    }

    /// Whether the response comes only when one side ends the subscription.
    pub(crate) fn is_endless(&self) -> bool {
        self.kind == Kind::Listen
    }
}
