//! The flow of an authorization: its state between two calls, its steps, and the client's id.

use core::fmt;

use super::arena::{Arena, Entries, Key, NoRoom, Tag, Writer, issuers, write_to};
use super::flow_start::ServerFlags;
use super::metadata::{ClientMetadata, RegistrationResponse};
use super::setup::{Failure, Grant, Lost, Reason, RegisteredClient, Setup, TokenEndpointAuth};
use super::token::{OAuthError, UnixTime};
use super::url::Url;
use mcp_sansio::Revision;
use mcp_sansio::http::ResponseHead;
use mcp_sansio::internal::split;

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
    /// The time of the day, as the last call had it.
    pub(super) now: Option<UnixTime>,
}

/// State of a flow. Its texts are in the arena.
#[derive(Default)]
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
    /// The access token came of a refresh.
    pub(super) by_refresh: bool,
    /// The generation whose refresh failed before its end. It is not tried again.
    pub(super) refresh_failed: u32,
    /// The last requests for more scope since the last login.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Phase {
    #[default]
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
        Self { memory, len: 0, flow: Flow::default() }
    }

    /// Makes a view for calls. The setup has to be the same each time.
    pub fn open<'s>(&'s mut self, setup: &'s Setup<'s>) -> Authorization<'s> {
        let Self { memory, len, flow } = self;
        Authorization { setup, arena: Arena::new(memory.as_mut(), len), flow, now: None }
    }
}

impl<A: AsMut<[u8]>> Drop for AuthorizationState<A> {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(self.memory.as_mut());
    }
}

impl Phase {
    /// Whether a flow runs.
    pub(super) const fn is_running(self) -> bool {
        !matches!(self, Self::Idle | Self::Failed(_))
    }

    /// Returns the purpose of the request that is the next step, if it is one.
    const fn request(self) -> Option<Purpose> {
        match self {
            Self::ChallengeMetadata
            | Self::ResourceMetadata { .. }
            | Self::LegacyMetadata
            | Self::ServerMetadata(_) => Some(Purpose::Metadata),
            Self::Register => Some(Purpose::Registration),
            Self::Provider | Self::Token | Self::Refresh => Some(Purpose::Token),
            _ => None,
        }
    }
}

/// The end of a flow, or what a part of it could not do.
pub(super) type FlowResult<T> = Result<T, Reason>;

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
        let mut numbers = issuers();
        let number = numbers
            .clone()
            .find(|number| !self.arena.has(Tag::Issuer.of(*number)))
            .or_else(|| numbers.find(|number| *number != self.flow.tokens))
            .unwrap_or(1);
        self.arena.retain(|key| key.group != number);
        self.arena.copy(url, Tag::Issuer.of(number))?;
        Ok(number)
    }

    /// Returns the number of an issuer whose texts are kept.
    pub(super) fn known(&self, issuer: &str) -> Option<u8> {
        issuers().find(|number| self.arena.get(Tag::Issuer.of(*number)) == Some(issuer))
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
const fn is_client(key: Key) -> bool {
    key.is_within(Tag::ClientId, Tag::RegisteredRedirect)
}

// Steps of a flow, for the program to carry out.

/// The next thing to do, returned by [`Authorization::step`](super::Authorization::step).
#[derive(Debug)]
#[must_use]
pub enum Step<'m> {
    /// Nothing: send the request, or send it again.
    Ready,
    /// Send this, and answer with [`response`](super::Authorization::response) or
    /// [`failed`](super::Authorization::failed).
    Send(Request<'m>),
    /// Lock the store against other programs, and answer with
    /// [`locked`](super::Authorization::locked). Unlock it after the next [`Keep`](Self::Keep),
    /// [`Forget`](Self::Forget), [`Ready`](Self::Ready) or [`Failed`](Self::Failed), and before a
    /// person is asked.
    Lock,
    /// Answer with the URI to which the browser shall return:
    /// [`redirect_uri`](super::Authorization::redirect_uri).
    Redirect {
        /// The URI that is registered. Using it again, with its port, saves a registration.
        last: Option<&'m str>,
    },
    /// Show this URL to a person, and answer with
    /// [`redirected`](super::Authorization::redirected). It has no secret.
    Show(&'m str),
    /// Ask for an id of this client at the issuer, and answer with
    /// [`client`](super::Authorization::client).
    AskClient {
        /// The issuer of the authorization server.
        issuer: &'m str,
    },
    /// Get a token of the platform for this audience, or, with
    /// [`Grant::Enterprise`](super::Grant::Enterprise), the person's identity token of this
    /// provider, and answer with [`assertion`](super::Authorization::assertion).
    AskAssertion {
        /// The issuer of the authorization server, or of the identity provider.
        audience: &'m str,
        /// Its token endpoint, which some platforms take for the audience.
        token_endpoint: &'m str,
    },
    /// Save the [record](super::Authorization::record) now, then go on.
    Keep,
    /// Remove the record now, then go on: nothing is left in it.
    Forget,
    /// The authorization has failed.
    Failed(Failure<'m>),
}

/// An HTTP request to a resource's metadata, to an authorization server, or to an identity
/// provider. `Debug` does not show secrets.
#[derive(Clone, Copy)]
pub struct Request<'m> {
    pub(super) purpose: Purpose,
    pub(super) url: &'m str,
    pub(super) body: &'m str,
    pub(super) entries: Entries<'m>,
}

/// Purpose of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Reads metadata.
    Metadata,
    /// Registers the client.
    Registration,
    /// Gets a token: it carries secrets, and so does the answer.
    Token,
}

impl<'m> Request<'m> {
    /// Returns what the request is for.
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Returns the method.
    pub const fn method(&self) -> &'static str {
        match self.purpose {
            Purpose::Metadata => "GET",
            Purpose::Registration | Purpose::Token => "POST",
        }
    }

    /// Returns the URL.
    pub const fn url(&self) -> &'m str {
        self.url
    }

    /// Passes name and value of each header field to `put`. The caller adds `Host` and
    /// `Content-Length`.
    pub fn fields(&self, put: &mut dyn FnMut(&str, &dyn fmt::Display)) {
        put("accept", &"application/json");
        match self.purpose {
            Purpose::Metadata => put("mcp-protocol-version", &Revision::LATEST.as_str()),
            Purpose::Registration => put("content-type", &"application/json"),
            Purpose::Token => put("content-type", &"application/x-www-form-urlencoded"),
        }
        if self.purpose == Purpose::Token {
            if let Some(credentials) = self.entries.get(Tag::Credentials) {
                put("authorization", &credentials);
            }
            if let Some(proof) = self.entries.get(Tag::Proof) {
                put("dpop", &proof);
            }
        }
    }

    /// Returns the body; empty for a GET.
    pub const fn body(&self) -> &'m [u8] {
        self.body.as_bytes()
    }

    /// Returns how many bytes of a body are read at most; a caller with less memory reads less. A
    /// longer one is [`Lost::TooLarge`](super::Lost::TooLarge).
    pub const fn max_response(&self) -> usize {
        MAX_RESPONSE
    }

    /// Returns how many redirects may be followed, all to the origin of the URL; the last answer is
    /// then the response.
    pub const fn max_redirects(&self) -> u8 {
        match self.purpose {
            Purpose::Metadata => 3,
            Purpose::Registration | Purpose::Token => 0,
        }
    }
}

mcp_sansio::opaque_debug!(Request<'_> { purpose, url });

/// The answer to a 401 or 403 of the MCP server, returned by
/// [`Authorization::challenged`](super::Authorization::challenged).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reaction {
    /// Send the request again, with new [fields](super::Authorization::fields).
    SendAgain,
    /// Take [steps](super::Authorization::step) until [`Step::Ready`], then send it again.
    Authorize,
    /// Report it: the request has failed.
    Report,
}

/// Attempts for one MCP request, to be kept beside it. There are at most two authorizations for a
/// 401, two for a 403, four repetitions with a token of another request, and one with a nonce for
/// each token.
#[derive(Clone, Copy, Default, Debug)]
pub struct Attempts {
    pub(super) unauthorized: u8,
    pub(super) forbidden: u8,
    pub(super) again: u8,
    /// The generation that was sent again with a nonce. Nonces end while a person logs in.
    pub(super) nonce: Option<u32>,
}

/// Reason why there are no fields for a request.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotReady {
    /// An authorization runs, and there is no token until it is done: take its
    /// [steps](super::Authorization::step).
    Authorizing,
    /// A proof needs the time of the day.
    NoClock,
    /// The proof could not be signed.
    Signature,
    /// The arena has no room for a proof.
    ArenaFull,
}

mcp_sansio::error_type!(NotReady {
    Authorizing => "an authorization runs: take its steps first",
    NoClock => "a proof of possession needs the time of the day",
    Signature => "the key did not sign the proof of possession",
    ArenaFull => "the memory for the authorization has no room: give it more",
});

/// Maximum length of a response's body, in bytes.
const MAX_RESPONSE: usize = 1 << 20;

// Transitions of a flow: from a phase to its step, and from an answer to the next phase.

impl Authorization<'_> {
    /// Returns what to do next. Between an answer and the next step nothing happens by itself.
    ///
    /// `now` is the time of the day, if it is known; `random` fills memory with bytes that others
    /// cannot guess. A step that was not answered is returned again, except that a request with an
    /// authorization code is not sent twice.
    pub fn step(&mut self, now: Option<UnixTime>, random: &mut dyn FnMut(&mut [u8])) -> Step<'_> {
        if core::mem::take(&mut self.flow.keep_due) {
            let is_empty = !self.arena.entries().iter().any(|(key, _)| key.is_of_issuer());
            return if is_empty { Step::Forget } else { Step::Keep };
        }
        self.now = now;
        let due = self.next(random).unwrap_or_else(|reason| {
            self.fail(reason);
            self.flow.phase
        });
        if matches!(due, Phase::Failed(_)) {
            self.flow.phase = Phase::Idle;
        }
        self.lend(due)
    }

    /// Begins a flow without a challenge, for example to log in before the first request. Forgets
    /// which requests for more scope were in vain: a scope that was not granted is asked for again.
    /// A flow that runs goes on.
    pub fn begin(&mut self) {
        self.flow.step_ups = Default::default();
        if !self.flow.phase.is_running() {
            self.restart(Phase::ResourceMetadata { at_root: false });
            // A refresh gives no more scope.
            self.flow.tried.refresh = self.has_refused_scope();
        }
    }

    /// Ends the flow. Tokens stay. After a question that was asked to renew a token before its end
    /// the token is used on, and not renewed before a server refuses it.
    pub fn cancel(&mut self) {
        let is_asked = matches!(self.flow.phase, Phase::AskClient | Phase::AskAssertion);
        if self.flow.tried.early && is_asked {
            // The next step would ask again.
            self.end_early_renewal();
        } else if self.flow.phase.is_running() {
            self.restart(Phase::Idle);
        }
    }

    /// Whether [`step`](Self::step) has something to do.
    pub fn is_running(&self) -> bool {
        self.flow.phase != Phase::Idle || self.flow.keep_due
    }

    /// Goes on to the next phase whose step is one for the program, and returns it.
    fn next(&mut self, random: &mut dyn FnMut(&mut [u8])) -> FlowResult<Phase> {
        loop {
            if self.flow.phase.is_running() {
                self.setup.check()?;
            }
            match self.flow.phase {
                Phase::Idle if self.is_due(self.now) => self.renew(),
                Phase::Server => self.flow.phase = self.with_server_metadata(),
                Phase::Client => self.choose_client()?,
                Phase::Show if !self.arena.has(Tag::Shown) => self.write_shown(random)?,
                due => {
                    if due.request().is_some() {
                        self.prepare(random)?;
                    }
                    return Ok(due);
                }
            }
        }
    }

    /// Writes the request of this phase.
    fn prepare(&mut self, random: &mut dyn FnMut(&mut [u8])) -> FlowResult<()> {
        if self.flow.requests >= MAX_REQUESTS {
            return Err(Reason::TooMany);
        }
        self.flow.requests += 1;
        let is_again = self.arena.has(Tag::Url);
        self.drop_request();
        match self.flow.phase {
            Phase::Register => self.write_registration()?,
            Phase::Token if is_again && self.arena.has(Tag::Code) => {
                return Err(Reason::Lost(Lost::Network));
            }
            Phase::Provider | Phase::Token | Phase::Refresh => {
                self.write_token_request(random)?;
            }
            _ => self.write_metadata_url()?,
        }
        // A setup, a challenge or a record may name any URL.
        self.check_url(Tag::Url.into())
    }

    /// Checks that a URL may be used.
    pub(super) fn check_url(&self, key: Key) -> FlowResult<()> {
        let url = self.arena.get(key).unwrap_or_default();
        Url::parse(url).and_then(|url| url.check(self.setup.policy.urls)).map_err(Reason::Url)
    }

    /// Returns the step of a phase.
    fn lend(&self, due: Phase) -> Step<'_> {
        let text = |tag| self.arena.get(tag).unwrap_or_default();
        match due {
            Phase::Lock => Step::Lock,
            Phase::Redirect => Step::Redirect { last: self.of_issuer(Tag::RegisteredRedirect) },
            Phase::Show => Step::Show(text(Tag::Shown)),
            Phase::AskClient => {
                Step::AskClient { issuer: self.of_issuer(Tag::Issuer).unwrap_or_default() }
            }
            Phase::AskAssertion => match &self.setup.grant {
                Grant::Enterprise(provider) => Step::AskAssertion {
                    audience: provider.issuer,
                    token_endpoint: provider.token_endpoint,
                },
                _ => Step::AskAssertion {
                    audience: self.of_issuer(Tag::Issuer).unwrap_or_default(),
                    token_endpoint: self.of_issuer(Tag::TokenEndpoint).unwrap_or_default(),
                },
            },
            Phase::Failed(reason) => Step::Failed(Failure {
                reason,
                url: self.arena.get(Tag::FailureUrl),
                answer: self.arena.get(Tag::FailureAnswer),
            }),
            _ => match due.request() {
                Some(purpose) => Step::Send(Request {
                    purpose,
                    url: text(Tag::Url),
                    body: text(Tag::Body),
                    entries: self.arena.entries(),
                }),
                None => Step::Ready,
            },
        }
    }

    /// Takes the response to [`Step::Send`]. Ignored when none is due.
    pub fn response(&mut self, now: Option<UnixTime>, head: &ResponseHead<'_>, body: &[u8]) {
        if !self.is_request_sent() {
            return;
        }
        self.now = now;
        if matches!(self.flow.phase, Phase::Token | Phase::Refresh) {
            self.keep_nonce(Tag::ServerNonce.of(self.flow.issuer), head);
        }
        let taken = match self.flow.phase {
            Phase::Register => self.registered(head, body),
            Phase::Provider => self.provided(head, body),
            Phase::Token => self.token(head, body),
            Phase::Refresh => self.refreshed(head, body),
            _ => self.metadata(head, body),
        };
        if let Err(reason) = taken {
            let is_refused =
                matches!(reason, Reason::Registration(_) | Reason::Token(_) | Reason::Provider(_));
            if is_refused && let Some(error) = OAuthError::parse(body) {
                self.explain(&error);
            }
            self.fail(reason);
        }
        self.drop_request();
    }

    /// Says that there is no response to [`Step::Send`]. Ignored when none is due.
    pub fn failed(&mut self, why: Lost) {
        if self.is_request_sent() {
            self.fail(Reason::Lost(why));
            self.drop_request();
        }
    }

    fn is_request_sent(&self) -> bool {
        self.flow.phase.request().is_some() && self.arena.has(Tag::Url)
    }

    fn drop_request(&mut self) {
        self.arena.retain(|key| !key.is_within(Tag::Url, Tag::Proof));
    }

    /// Ends the flow with an error. The URL is that of the request, unless one was refused. A
    /// renewal before the end of a token just ends: the token is used on.
    pub(super) fn fail(&mut self, reason: Reason) {
        if self.flow.tried.early {
            return self.end_early_renewal();
        }
        if !self.arena.has(Tag::FailureUrl) {
            self.show_url(Tag::Url);
        }
        self.drop_flow();
        self.flow.phase = Phase::Failed(reason);
    }

    /// Keeps a URL for the error, without its query, if there is one.
    pub(super) fn show_url(&mut self, key: impl Into<Key>) {
        let key = key.into();
        if !self.arena.has(key) {
            return;
        }
        // Without room the error has no URL.
        let _ = self.arena.write(Tag::FailureUrl, |entries, out| {
            let url = entries.get(key).and_then(|url| split(url, '?').next());
            out.put(cut(url.unwrap_or_default(), MAX_ANSWER));
            Ok::<_, Reason>(())
        });
    }

    /// Keeps what a server answered for the error. Its text is bounded.
    pub(super) fn explain(&mut self, answer: &dyn fmt::Display) {
        let mut text = [0; MAX_ANSWER];
        let mut out = Writer::new(&mut text);
        // A text without room is cut off.
        write_to(&mut out, answer);
        // Without room in the arena the error has no text.
        let _ = self.arena.set(Tag::FailureAnswer, &out.as_str());
    }
}

/// Returns so much of a text that it has at most so many bytes.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Requests of a flow.
const MAX_REQUESTS: u8 = 12;
/// Maximum length of an answer or a URL in an error, in bytes.
const MAX_ANSWER: usize = 512;

// Registration: the client's id at an authorization server.

impl<'m> RegisteredClient<'m> {
    /// Returns the client for an issuer: configured, kept, or with a metadata document.
    pub(super) fn find(setup: &Setup<'m>, entries: Entries<'m>, issuer: u8) -> Option<Self> {
        let name = entries.get(Tag::Issuer.of(issuer))?;
        if let Some(client) = configured(setup, entries.get(Tag::BoundIssuer), name) {
            return Some(*client);
        }
        if let Some(id) = entries.get(Tag::ClientId.of(issuer)) {
            let method = entries.get(Tag::ClientMethod.of(issuer));
            let named = TokenEndpointAuth::ALL.iter().find(|known| Some(known.name()) == method);
            let secret = entries.get(Tag::ClientSecret.of(issuer));
            return Some(Self { secret, method: named.copied(), ..Self::new(id) });
        }
        let flags = entries.get(Tag::ServerFlags.of(issuer)).and_then(|bits| bits.parse().ok());
        let flags = ServerFlags(flags.unwrap_or_default());
        // Both grants take it (ext-auth, enterprise-managed authorization, 5).
        let may_be_document =
            matches!(setup.grant, Grant::AuthorizationCode | Grant::Enterprise(_));
        let is_document = |url: &&str| {
            Url::parse(url).is_ok_and(|url| url.is_secure() && !matches!(url.path(), "" | "/"))
        };
        let id = setup.metadata_document.filter(is_document);
        let id = id.filter(|_| may_be_document && flags.has(ServerFlags::METADATA_DOCUMENTS));
        id.map(|id| Self { key: setup.document_key, ..Self::new(id) })
    }

    /// Returns the client to which the tokens of an issuer belong. If it has registered itself
    /// again since, its id is enough, unless it had a secret.
    pub(super) fn of_tokens(setup: &Setup<'m>, entries: Entries<'m>, issuer: u8) -> Option<Self> {
        let id = entries.get(Tag::TokenClient.of(issuer))?;
        let name = entries.get(Tag::Issuer.of(issuer))?;
        let client = Self::find(setup, entries, issuer).filter(|client| client.id == id);
        let is_configured = configured(setup, entries.get(Tag::BoundIssuer), name).is_some();
        client.or_else(|| (!is_configured).then(|| Self::new(id)))
    }

    /// Returns how the client authenticates: as it was registered, else by what the metadata lists,
    /// else with what it has.
    pub(super) fn method_for(&self, flags: ServerFlags) -> TokenEndpointAuth {
        let can = |method: TokenEndpointAuth| match method {
            TokenEndpointAuth::None => true,
            TokenEndpointAuth::Basic | TokenEndpointAuth::Post => self.secret.is_some(),
            TokenEndpointAuth::PrivateKeyJwt => self.key.is_some(),
        };
        let own = self.method.filter(|method| can(*method));
        let mut all = TokenEndpointAuth::ALL.into_iter().filter(|method| can(*method));
        own.or_else(|| all.clone().find(|method| flags.lists(*method)))
            .or_else(|| all.next())
            .unwrap_or(TokenEndpointAuth::None)
    }
}

/// Returns the configured client for an issuer.
fn configured<'s>(
    setup: &Setup<'s>,
    bound: Option<&str>,
    issuer: &str,
) -> Option<&'s RegisteredClient<'s>> {
    setup.clients.iter().find(|client| match client.issuer {
        Some(named) => named == issuer,
        None => bound.is_none_or(|bound| bound == issuer),
    })
}

impl Authorization<'_> {
    /// Returns the configured client for an issuer.
    pub(super) fn configured(&self, issuer: &str) -> Option<&RegisteredClient<'_>> {
        configured(self.setup, self.arena.get(Tag::BoundIssuer), issuer)
    }

    /// Looks for a client id (2025-11-25 and later, basic/authorization, client registration
    /// approaches): configured or kept, with a metadata document, registered now, or asked for.
    fn choose_client(&mut self) -> FlowResult<()> {
        // The nonce of an earlier request may end while a person logs in.
        self.flow.tried.nonce = false;
        let is_code = matches!(self.setup.grant, Grant::AuthorizationCode);
        if is_code && !self.arena.has(Tag::Redirect) {
            self.flow.phase = Phase::Redirect;
            return Ok(());
        }
        let number = self.flow.issuer;
        if !self.is_registration_usable() {
            self.drop_client();
        }
        let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
        if self.configured(issuer).is_some_and(|client| client.issuer.is_none()) {
            self.arena.copy(Tag::Issuer.of(number), Tag::BoundIssuer)?;
        }
        let client = RegisteredClient::find(self.setup, self.arena.entries(), number);
        self.flow.phase = if client.is_some() {
            match self.setup.grant {
                Grant::AuthorizationCode => Phase::Show,
                Grant::ClientCredentials => Phase::Token,
                Grant::Enterprise(_) | Grant::WorkloadIdentity => Phase::AskAssertion,
            }
        } else if is_code
            && self.setup.registers
            && self.of_issuer(Tag::RegistrationEndpoint).is_some()
        {
            Phase::Register
        } else {
            Phase::AskClient
        };
        Ok(())
    }

    /// Whether the client that is kept can be used: its secret has not ended, and the redirect URI
    /// is the one that was registered.
    fn is_registration_usable(&self) -> bool {
        let ends = self.arena.number(Tag::SecretEnds.of(self.flow.issuer));
        let has_ended = ends.zip(self.now).is_some_and(|(ends, now)| ends <= now.as_secs());
        let registered = self.of_issuer(Tag::RegisteredRedirect);
        !has_ended && registered.is_none_or(|uri| self.arena.get(Tag::Redirect) == Some(uri))
    }

    /// Forgets the client that is kept for the flow's issuer.
    pub(super) fn drop_client(&mut self) {
        let issuer = self.flow.issuer;
        self.arena.retain(|key| !(key.group == issuer && is_client(key)));
    }

    /// Takes the answer to the step of this phase. Nothing happens when it is not due.
    fn answered(&mut self, due: Phase, take: impl FnOnce(&mut Self) -> FlowResult<()>) {
        if self.flow.phase == due
            && let Err(reason) = take(self)
        {
            self.fail(reason);
        }
    }

    /// Answers [`Step::Redirect`](super::Step::Redirect). Ignored when none is due.
    pub fn redirect_uri(&mut self, uri: &str) {
        self.answered(Phase::Redirect, |this| {
            if !Url::parse(uri).is_ok_and(|url| url.is_secure() || url.is_loopback()) {
                return Err(Reason::RedirectUri);
            }
            this.arena.set(Tag::Redirect, &uri)?;
            this.flow.phase = Phase::Client;
            Ok(())
        });
    }

    /// Answers [`Step::AskClient`](super::Step::AskClient). Ignored when none is due.
    pub fn client(&mut self, id: &str, secret: Option<&str>) {
        self.answered(Phase::AskClient, |this| {
            let issuer = this.flow.issuer;
            this.drop_client();
            this.arena.set(Tag::ClientId.of(issuer), &id)?;
            this.arena.set_or_remove(Tag::ClientSecret.of(issuer), secret)?;
            this.flow.keep_due = true;
            this.flow.phase = Phase::Client;
            Ok(())
        });
    }

    /// Answers [`Step::AskAssertion`](super::Step::AskAssertion). Ignored when none is due.
    pub fn assertion(&mut self, jwt: &str) {
        self.answered(Phase::AskAssertion, |this| {
            this.arena.set(Tag::Assertion, &jwt)?;
            this.flow.phase = match this.setup.grant {
                Grant::Enterprise(_) => Phase::Provider,
                _ => Phase::Token,
            };
            Ok(())
        });
    }

    /// Writes the request for a registration (RFC 7591, 2).
    fn write_registration(&mut self) -> FlowResult<()> {
        let (issuer, flags) = (self.flow.issuer, self.server_flags());
        let name = self.setup.client_name;
        // A client that people have on their machines keeps no secret. `client_secret_basic` comes
        // last: servers on the official Python SDK want the id in the body beside it.
        let method = [TokenEndpointAuth::None, TokenEndpointAuth::Post, TokenEndpointAuth::Basic]
            .into_iter()
            .find(|method| flags.lists(*method))
            .unwrap_or(TokenEndpointAuth::None);
        let is_other = self.flow.tried.another_application_type;
        self.arena.copy(Tag::RegistrationEndpoint.of(issuer), Tag::Url)?;
        self.arena.write(Tag::Body, |entries, out| {
            let redirect = entries.get(Tag::Redirect).unwrap_or_default();
            let is_native = Url::parse(redirect).is_ok_and(Url::is_loopback) != is_other;
            ClientMetadata::new(name, &[redirect])
                .application_type(if is_native { "native" } else { "web" })
                .token_endpoint_auth_method(method.name())
                .put(out);
            Ok(())
        })
    }

    /// Takes the response to a registration (RFC 7591, 3.2).
    pub(super) fn registered(&mut self, head: &ResponseHead<'_>, body: &[u8]) -> FlowResult<()> {
        if !matches!(head.status, 200 | 201) {
            let is_redirect = OAuthError::is(body, "invalid_redirect_uri");
            if is_redirect && !self.flow.tried.another_application_type {
                self.flow.tried.another_application_type = true;
                return Ok(());
            }
            // No document names the endpoint, and it is not there: there is no login at all.
            if head.status == 404 && self.flow.tried.guesses {
                self.show_url(Tag::Resource);
                return Err(Reason::NoResourceMetadata);
            }
            return Err(Reason::Registration(head.status));
        }
        let answer = RegistrationResponse::parse(body).map_err(Reason::Document)?;
        self.drop_client();
        let issuer = self.flow.issuer;
        for (tag, text) in [
            (Tag::ClientId, Some(answer.client_id)),
            (Tag::ClientSecret, answer.client_secret),
            (Tag::ClientMethod, answer.token_endpoint_auth_method),
        ] {
            if let Some(text) = text {
                self.arena.set(tag.of(issuer), &text)?;
            }
        }
        if let Some(ends) = answer.client_secret_expires_at {
            self.arena.set(Tag::SecretEnds.of(issuer), &ends)?;
        }
        self.arena.copy(Tag::Redirect, Tag::RegisteredRedirect.of(issuer))?;
        self.flow.keep_due = true;
        self.flow.phase = Phase::Show;
        Ok(())
    }
}
