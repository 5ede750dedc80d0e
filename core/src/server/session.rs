//! Sessions that another server of the same program goes on with: the nodes of a fleet.

use super::subscriptions::Owner;
use super::{Phase, Server, ServerEvent, Session};
use crate::json::{hash_str, hash_text};
use crate::protocol::ClientFeatures;
use crate::types::utilities::LEVELS;

/// Number of bytes of what a server knows of a session: [`Server::session`].
pub const SESSION_LEN: usize = 7;

/// A setting of a client in its session after `initialize`: the level of log messages, or that it
/// subscribes to a resource, or does no longer. The number is the same in all processes of this
/// version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionSetting(pub u64);

impl SessionSetting {
    /// Nothing is set. What follows it is all that is.
    pub const NONE: Self = Self(0);
    /// Above the 48 bits of the hash of a URI.
    const SUBSCRIBED: u64 = 1 << 48;
    const UNSUBSCRIBED: u64 = 2 << 48;
    /// Above the level.
    const LOG_LEVEL: u64 = 3 << 48;

    /// Returns what an event has set.
    pub fn of(event: &ServerEvent<'_>) -> Option<Self> {
        Some(Self(match event {
            ServerEvent::LogLevel(level) => Self::LOG_LEVEL | *level as u64,
            ServerEvent::Subscribed { uri } => Self::SUBSCRIBED | hash_text(*uri) >> 16,
            ServerEvent::Unsubscribed { uri } => Self::UNSUBSCRIBED | hash_text(*uri) >> 16,
            _ => return None,
        }))
    }

    /// Returns the subscription to a resource.
    pub fn subscription(uri: &str) -> Self {
        Self(Self::SUBSCRIBED | hash_str(uri) >> 16)
    }

    /// Returns what the client has set in the session.
    pub fn all_of(server: &Server<'_>) -> impl Iterator<Item = Self> {
        let level = server.peer.session.map(|session| session.log_level);
        let level = level.filter(|level| *level != server.config.log_level);
        let level = level.map(|level| Self::LOG_LEVEL | level as u64);
        let own = server.subscriptions.0.iter().filter(|entry| Owner::SESSION.has(**entry));
        let uris = own.map(|entry| Self::SUBSCRIBED | entry & URI);
        level.into_iter().chain(uris).map(Self)
    }

    /// Sets what the client has set at another server of the session. A subscription for which
    /// there is no room is left out.
    pub fn set(self, server: &mut Server<'_>) {
        let Some(session) = &mut server.peer.session else { return };
        let Self(setting) = self;
        let uri = (setting & URI) << 16;
        match setting & !URI {
            Self::SUBSCRIBED => server.subscriptions.insert(Owner::SESSION, uri),
            Self::UNSUBSCRIBED => server.subscriptions.remove(Owner::SESSION, uri),
            0 => {
                session.log_level = server.config.log_level;
                server.subscriptions.drop_owner(Owner::SESSION);
            }
            Self::LOG_LEVEL => {
                let level = LEVELS.into_iter().find(|level| *level as u64 == setting & URI);
                session.log_level = level.unwrap_or(session.log_level);
            }
            _ => {}
        }
    }
}

/// The kind of a message that a client sends.
#[cfg(feature = "http")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageKind {
    /// A request.
    Request,
    /// One that other servers of the session may need.
    Notification,
    /// To the call of this number.
    Response(u32),
}

impl Server<'_> {
    /// Returns what `initialize` has agreed on with the client, for another server of the same
    /// program to [go on](Self::resume_session) with the session. `None` before `initialize`.
    pub fn session(&self) -> Option<[u8; SESSION_LEN]> {
        let session = self.peer.session?;
        let [[a, b], [c, d], [e, f]] =
            [session.capabilities.0, session.extensions, self.fingerprint()].map(u16::to_be_bytes);
        Some([session.revision as u8, a, b, c, d, e, f])
    }

    /// Goes on with a session that another server has opened, as if its client had just sent
    /// `notifications/initialized`. Returns whether this server can: it serves the revision, and
    /// has the same [extensions of clients](crate::ServerConfig::client_extensions).
    ///
    /// The level of log messages is that of the configuration, and there are no subscriptions. The
    /// ids of its calls to the client are numbers above `calls`: those of other servers of the
    /// session have to differ.
    pub fn resume_session(&mut self, session: [u8; SESSION_LEN], calls: u32) -> bool {
        let [revision, a, b, c, d, e, f] = session;
        let [capabilities, extensions, fingerprint] =
            [[a, b], [c, d], [e, f]].map(u16::from_be_bytes);
        let mut legacy = self.config.revisions.iter().filter(|revision| !revision.is_modern());
        let Some(revision) = legacy.find(|legacy| *legacy as u8 == revision) else { return false };
        if fingerprint != self.fingerprint() {
            return false;
        }
        self.peer.calls_made = calls;
        self.peer.session = Some(Session {
            revision,
            capabilities: ClientFeatures(capabilities),
            extensions,
            log_level: self.config.log_level,
            phase: Phase::Ready,
        });
        true
    }

    /// Returns a number of the extensions whose bits a session has.
    fn fingerprint(&self) -> u16 {
        let ids = self.config.client_extensions.iter();
        ids.fold(0_u64, |all, id| all.rotate_left(5) ^ hash_str(id)) as u16
    }

    /// Returns the number of calls that it has made, which is the id of the last one. In a session
    /// that was [gone on with](Self::resume_session) it counts from there.
    pub fn calls_made(&self) -> u32 {
        self.peer.calls_made
    }
}

/// The bits of the hash of a URI.
const URI: u64 = (1 << 48) - 1;
