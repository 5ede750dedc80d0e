//! State of an authorization between two calls.

use core::fmt::Write as _;

use super::arena::{Arena, Key, MAX_ISSUERS, NoRoom, Tag};
use super::failure::Reason;
use super::setup::Setup;
use super::writer::Writer;
use crate::json::JsonStr;

/// A client's authorization at one MCP server, between two calls.
///
/// `A` is the memory for all texts, secrets among them: a `Box<[u8]>` or a `&mut [u8]`, which are
/// not copied when they are moved. It never grows; 16 KiB are enough for any server, 4 KiB for
/// short tokens. Text that is replaced is erased, and so is all of it when this is dropped.
pub struct AuthorizationState<A: AsMut<[u8]>> {
    memory: A,
    len: usize,
    flow: Flow,
}

/// A client's authorization at one MCP server. A view, made for a few calls by
/// [`AuthorizationState::open`]; see the [module](super).
pub struct Authorization<'s> {
    pub(super) setup: &'s Setup<'s>,
    pub(super) arena: Arena<'s>,
    pub(super) flow: &'s mut Flow,
}

/// State of a flow. Its texts are in the arena.
pub(super) struct Flow {
    pub(super) phase: Phase,
    /// The issuer of this flow; 0 before it is known.
    pub(super) issuer: u8,
    /// The issuer of the tokens in use; 0 without.
    pub(super) tokens: u8,
    /// Counts access tokens.
    pub(super) generation: u32,
    pub(super) requests: u8,
    /// The record has changed and must be saved.
    pub(super) keep_due: bool,
    /// Attempts of this flow.
    pub(super) tried: Tried,
    /// The challenge, or the server's metadata, asks for proofs.
    pub(super) wants_proof: bool,
    /// The access token has not been used yet: it is not renewed.
    pub(super) is_unused: bool,
    /// The generation whose refresh failed before its end. It is not tried again.
    pub(super) refresh_failed: u32,
    /// The last requests for more scope.
    pub(super) step_ups: [StepUp; 4],
}

/// A scope that was asked for after a 403, as a hash, and how often.
#[derive(Clone, Copy, Default)]
pub(super) struct StepUp {
    pub(super) scope: u32,
    pub(super) count: u8,
}

/// Attempts that are made at most once in a flow.
#[derive(Clone, Copy, Default)]
pub(super) struct Tried {
    pub(super) refresh: bool,
    pub(super) another_client: bool,
    pub(super) another_application_type: bool,
    pub(super) nonce: bool,
    /// No document says where the endpoints are: they are those of 2025-03-26.
    pub(super) guesses: bool,
    /// The flow is a step-up: a refresh cannot give more scope.
    pub(super) step_up: bool,
    /// The refresh was not asked for by the server: the access token may still be good.
    pub(super) early: bool,
}

/// The next step of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Idle,
    /// Reads the resource's metadata at the challenge's URL.
    ChallengeMetadata,
    /// Reads the resource's metadata at a well-known place.
    ResourceMetadata {
        at_root: bool,
    },
    /// Reads the metadata of a server of 2025-03-26, which is its own authorization server.
    LegacyMetadata,
    /// The authorization server is known; its metadata may be old.
    Server,
    /// Reads the authorization server's metadata at the n-th place.
    ServerMetadata(u8),
    /// Looks for a client id.
    Client,
    AskClient,
    Redirect,
    Register,
    Show,
    AskAssertion,
    /// Exchanges the identity token at the identity provider.
    Provider,
    Token,
    Lock,
    Refresh,
    Failed(Reason),
}

impl<A: AsMut<[u8]>> AuthorizationState<A> {
    /// Creates a state without tokens in this memory, which is erased first.
    pub fn new(mut memory: A) -> Self {
        zeroize::Zeroize::zeroize(memory.as_mut());
        Self { memory, len: 0, flow: Flow::new() }
    }

    /// Makes a view for calls. The setup has to be the same each time.
    pub fn open<'s>(&'s mut self, setup: &'s Setup<'s>) -> Authorization<'s> {
        let Self { memory, len, flow } = self;
        Authorization { setup, arena: Arena::new(memory.as_mut(), len), flow }
    }
}

impl<A: AsMut<[u8]>> Drop for AuthorizationState<A> {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(self.memory.as_mut());
    }
}

impl Flow {
    const fn new() -> Self {
        Self {
            phase: Phase::Idle,
            issuer: 0,
            tokens: 0,
            generation: 0,
            requests: 0,
            keep_due: false,
            tried: Tried {
                refresh: false,
                another_client: false,
                another_application_type: false,
                nonce: false,
                guesses: false,
                step_up: false,
                early: false,
            },
            wants_proof: false,
            is_unused: false,
            refresh_failed: 0,
            step_ups: [StepUp { scope: 0, count: 0 }; 4],
        }
    }
}

impl Phase {
    /// Whether a flow runs.
    pub(super) const fn is_running(self) -> bool {
        !matches!(self, Self::Idle | Self::Failed(_))
    }

    /// Whether the next step is a request.
    pub(super) const fn is_request(self) -> bool {
        matches!(
            self,
            Self::ChallengeMetadata
                | Self::ResourceMetadata { .. }
                | Self::LegacyMetadata
                | Self::ServerMetadata(_)
                | Self::Register
                | Self::Provider
                | Self::Token
                | Self::Refresh
        )
    }
}

/// The end of a flow, or what a part of it could not do.
pub(super) type FlowResult<T> = core::result::Result<T, Reason>;

impl From<NoRoom> for Reason {
    fn from(_: NoRoom) -> Self {
        Self::ArenaFull
    }
}

impl Authorization<'_> {
    /// Returns a text of the flow's issuer.
    pub(super) fn of_issuer(&self, tag: Tag) -> Option<&str> {
        self.arena.get(tag.of(self.flow.issuer))
    }

    /// Returns the number under which the texts of an issuer are kept, whose URL is in the arena;
    /// gives it one if it is new.
    pub(super) fn number_of(&mut self, url: Tag) -> FlowResult<u8> {
        if let Some(number) = self.known(self.arena.get(url).unwrap_or_default()) {
            return Ok(number);
        }
        let mut numbers = 1..=MAX_ISSUERS;
        let number = numbers
            .clone()
            .find(|number| !self.arena.has(Tag::Issuer.of(*number)))
            .or_else(|| numbers.find(|number| *number != self.flow.tokens))
            .unwrap_or(1);
        self.arena.retain(|key| key.group != number);
        self.arena.copy(url, Tag::Issuer.of(number))?;
        Ok(number)
    }

    /// Decodes a JSON string into the texts of the flow's issuer.
    pub(super) fn keep(&mut self, tag: Tag, text: JsonStr<'_>) -> FlowResult<()> {
        let key = tag.of(self.flow.issuer);
        self.arena.write(key, |_, out| {
            decode(text, out);
            Ok(())
        })
    }

    /// Returns the number of an issuer whose texts are kept.
    pub(super) fn known(&self, issuer: &str) -> Option<u8> {
        (1..=MAX_ISSUERS).find(|number| self.arena.get(Tag::Issuer.of(*number)) == Some(issuer))
    }

    /// Erases the tokens of an issuer.
    pub(super) fn drop_tokens(&mut self, issuer: u8) {
        self.arena.retain(|key| !(key.group == issuer && is_token(key)));
        if self.flow.tokens == issuer {
            self.flow.tokens = 0;
        }
    }

    /// Erases what belongs to the flow alone.
    pub(super) fn drop_flow(&mut self) {
        self.arena.retain(|key| !key.is_within(Tag::ChallengeUrl, Tag::Shown));
    }

    /// Begins a flow: all counters start again.
    pub(super) fn restart(&mut self, phase: Phase) {
        self.drop_flow();
        self.arena.retain(|key| !key.is_within(Tag::FailureUrl, Tag::FailureAnswer));
        self.flow.phase = phase;
        self.flow.requests = 0;
        self.flow.tried = Tried::default();
        self.flow.wants_proof = false;
    }
}

/// Whether the text is a token, or about it.
pub(super) const fn is_token(key: Key) -> bool {
    key.is_within(Tag::TokenClient, Tag::TokenDue)
        || key.is_within(Tag::GrantedScope, Tag::GrantedScope)
}

/// Whether the text is about a client that was registered.
pub(super) const fn is_client(key: Key) -> bool {
    key.is_within(Tag::ClientId, Tag::RegisteredRedirect)
}

/// Writes the text of a JSON string.
pub(super) fn decode(text: JsonStr<'_>, out: &mut Writer<'_>) {
    match text.as_plain() {
        Some(text) => out.put(text),
        // The writer remembers what does not fit.
        None => text.chars().for_each(|c| {
            let _ = out.write_char(c);
        }),
    }
}
