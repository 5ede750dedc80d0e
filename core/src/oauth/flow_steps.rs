//! The steps of a flow: what is to be done, and what came of it.

use core::fmt::Write as _;

use super::arena::{Key, Tag};
use super::failure::{Failure, Lost, Reason};
use super::setup::Grant;
use super::state::{Authorization, FlowResult, Phase};
use super::step::{Purpose, Request, Step};
use super::token::OAuthError;
use super::unix_time::UnixTime;
use super::url::Url;
use super::writer::{Writer, write_to};
use crate::bytes::split;
use crate::http::ResponseHead;

/// A [`Step`] without what it lends.
enum Next {
    Ready,
    Send(Purpose),
    Lock,
    Redirect,
    Show,
    AskClient,
    AskAssertion,
    Keep,
    Forget,
    Failed(Reason),
}

impl Authorization<'_> {
    /// Returns what to do next. Between an answer and the next step nothing happens by itself.
    ///
    /// `now` is the time of the day, if it is known; `random` fills memory with bytes that others
    /// cannot guess. A step that was not answered is returned again, except that a request with an
    /// authorization code is not sent twice.
    pub fn step(&mut self, now: Option<UnixTime>, random: &mut dyn FnMut(&mut [u8])) -> Step<'_> {
        let next = self.next(now, random).unwrap_or_else(|reason| {
            self.fail(reason);
            if self.flow.phase == Phase::Idle { Next::Ready } else { Next::Failed(reason) }
        });
        if matches!(next, Next::Failed(_)) {
            self.flow.phase = Phase::Idle;
        }
        self.lend(&next)
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

    /// Ends the flow. Tokens stay.
    pub fn cancel(&mut self) {
        if self.flow.phase.is_running() {
            self.restart(Phase::Idle);
        }
    }

    /// Whether [`step`](Self::step) has something to do.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.flow.phase != Phase::Idle || self.flow.keep_due
    }

    fn next(
        &mut self,
        now: Option<UnixTime>,
        random: &mut dyn FnMut(&mut [u8]),
    ) -> FlowResult<Next> {
        if core::mem::take(&mut self.flow.keep_due) {
            let is_empty = !self.arena.entries().iter().any(|(key, _)| key.is_of_issuer());
            return Ok(if is_empty { Next::Forget } else { Next::Keep });
        }
        loop {
            match self.flow.phase {
                Phase::Idle if self.is_due(now) => self.renew(),
                Phase::Idle => return Ok(Next::Ready),
                Phase::Failed(reason) => return Ok(Next::Failed(reason)),
                Phase::Server => self.flow.phase = self.with_server_metadata(now),
                Phase::Client => self.choose_client(now)?,
                Phase::AskClient => return Ok(Next::AskClient),
                Phase::AskAssertion => return Ok(Next::AskAssertion),
                Phase::Redirect => return Ok(Next::Redirect),
                Phase::Lock => return Ok(Next::Lock),
                Phase::Show => {
                    if !self.arena.has(Tag::Shown) {
                        self.write_shown(random)?;
                    }
                    return Ok(Next::Show);
                }
                Phase::ChallengeMetadata
                | Phase::ResourceMetadata { .. }
                | Phase::LegacyMetadata
                | Phase::ServerMetadata(_)
                | Phase::Register
                | Phase::Provider
                | Phase::Token
                | Phase::Refresh => return self.prepare(now, random).map(Next::Send),
            }
        }
    }

    /// Writes the request of this phase.
    fn prepare(
        &mut self,
        now: Option<UnixTime>,
        random: &mut dyn FnMut(&mut [u8]),
    ) -> FlowResult<Purpose> {
        if self.flow.requests >= MAX_REQUESTS {
            return Err(Reason::TooMany);
        }
        self.flow.requests += 1;
        let is_again = self.arena.has(Tag::Url);
        self.drop_request();
        let purpose = match self.flow.phase {
            Phase::Register => {
                self.write_registration()?;
                Purpose::Registration
            }
            Phase::Token if is_again && self.arena.has(Tag::Code) => {
                return Err(Reason::Lost(Lost::Network));
            }
            Phase::Provider | Phase::Token | Phase::Refresh => {
                self.write_token_request(now, random)?;
                Purpose::Token
            }
            _ => {
                self.write_metadata_url()?;
                Purpose::Metadata
            }
        };
        // A setup, a challenge or a record may name any URL.
        self.check_url(Tag::Url.into())?;
        Ok(purpose)
    }

    /// Checks that a URL may be used.
    pub(super) fn check_url(&self, key: Key) -> FlowResult<()> {
        let url = self.arena.get(key).unwrap_or_default();
        Url::parse(url).and_then(|url| url.check(self.setup.policy.urls)).map_err(Reason::Url)
    }

    fn lend(&self, next: &Next) -> Step<'_> {
        let text = |tag| self.arena.get(tag).unwrap_or_default();
        match *next {
            Next::Ready => Step::Ready,
            Next::Send(purpose) => Step::Send(Request {
                purpose,
                url: text(Tag::Url),
                body: text(Tag::Body),
                entries: self.arena.entries(),
            }),
            Next::Lock => Step::Lock,
            Next::Redirect => Step::Redirect { last: self.of_issuer(Tag::RegisteredRedirect) },
            Next::Show => Step::Show(text(Tag::Shown)),
            Next::AskClient => {
                Step::AskClient { issuer: self.of_issuer(Tag::Issuer).unwrap_or_default() }
            }
            Next::AskAssertion => match &self.setup.grant {
                Grant::Enterprise(provider) => Step::AskAssertion {
                    audience: provider.issuer,
                    token_endpoint: provider.token_endpoint,
                },
                _ => Step::AskAssertion {
                    audience: self.of_issuer(Tag::Issuer).unwrap_or_default(),
                    token_endpoint: self.of_issuer(Tag::TokenEndpoint).unwrap_or_default(),
                },
            },
            Next::Keep => Step::Keep,
            Next::Forget => Step::Forget,
            Next::Failed(reason) => Step::Failed(Failure {
                reason,
                url: self.arena.get(Tag::FailureUrl),
                answer: self.arena.get(Tag::FailureAnswer),
            }),
        }
    }

    /// Takes the response to [`Step::Send`]. Ignored when none is due.
    pub fn response(&mut self, now: Option<UnixTime>, head: &ResponseHead<'_>, body: &[u8]) {
        if !self.is_request_sent() {
            return;
        }
        self.keep_nonce(head);
        let taken = match self.flow.phase {
            Phase::Register => self.registered(head, body),
            Phase::Provider => self.provided(head, body),
            Phase::Token => self.token(now, head, body),
            Phase::Refresh => self.refreshed(now, head, body),
            _ => self.metadata(now, head, body),
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
        self.flow.phase.is_request() && self.arena.has(Tag::Url)
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

    /// Keeps a URL for the error, without its query. Its text is bounded.
    pub(super) fn show_url(&mut self, tag: Tag) {
        if !self.arena.has(tag) {
            return;
        }
        // Without room the error has no URL.
        let _ = self.arena.write(Tag::FailureUrl, |entries, out| {
            let url = entries.get(tag).and_then(|url| split(url, '?').next()).unwrap_or_default();
            url.chars().take(MAX_ANSWER).for_each(|c| write_to(out, c));
            Ok::<_, Reason>(())
        });
    }

    /// Keeps what a server answered for the error. Its text is bounded.
    pub(super) fn explain(&mut self, answer: &dyn core::fmt::Display) {
        let mut text = [0; MAX_ANSWER];
        let mut out = Writer::new(&mut text);
        // A text without room is cut off.
        let _ = write!(out, "{answer}");
        // Without room in the arena the error has no text.
        let _ = self.arena.set(Tag::FailureAnswer, out.as_str());
    }
}

/// Requests of a flow.
const MAX_REQUESTS: u8 = 12;
/// Maximum length of an answer or a URL in an error.
const MAX_ANSWER: usize = 512;
