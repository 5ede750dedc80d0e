//! Renewal of tokens without a person.

use super::arena::Tag;
use super::failure::Reason;
use super::flow_client::Client;
use super::setup::Grant;
use super::state::{Authorization, FlowResult, Phase};
use super::token::OAuthError;
use super::unix_time::UnixTime;
use crate::http::ResponseHead;

impl Authorization<'_> {
    /// Whether the access token ends within 30 seconds and can be renewed without a person: then
    /// [`step`](Self::step) renews it. If that fails, the token is used to its end.
    #[must_use]
    pub fn is_due(&self, now: Option<UnixTime>) -> bool {
        let flow = &self.flow;
        let due = self.arena.number(Tag::TokenDue.of(flow.tokens));
        let is_renewable = match self.setup.grant {
            Grant::AuthorizationCode => self.arena.has(Tag::RefreshToken.of(flow.tokens)),
            _ => true,
        };
        flow.tokens > 0
            && is_renewable
            && flow.refresh_failed != flow.generation
            && !flow.is_unused
            && now.zip(due).is_some_and(|(now, due)| now.as_secs() >= due)
    }

    /// Begins a renewal that the server did not ask for.
    pub(super) fn renew(&mut self) {
        self.restart(Phase::Idle);
        self.flow.issuer = self.flow.tokens;
        self.flow.tried.early = true;
        self.flow.phase = if self.arena.has(Tag::RefreshToken.of(self.flow.tokens)) {
            Phase::Lock
        } else {
            Phase::Server
        };
    }

    /// Ends a renewal that the server did not ask for: the access token is used on.
    pub(super) fn end_early_renewal(&mut self) {
        self.flow.refresh_failed = self.flow.generation;
        self.drop_flow();
        self.flow.phase = Phase::Idle;
    }

    /// Answers [`Step::Lock`](super::Step::Lock) with the record that the store has now: another
    /// program may have renewed the tokens, or found that they cannot be renewed. `None` says that
    /// no other program has the store. A store without a record gives an empty one: another program
    /// has logged out, and the tokens are forgotten. Ignored when none is due.
    pub fn locked(&mut self, record: Option<&[u8]>) {
        if self.flow.phase != Phase::Lock {
            return;
        }
        if let Some(record) = record {
            if self.load_newer(record) {
                return;
            }
            self.drop_removed(record);
        }
        let issuer = self.flow.issuer;
        let client = Client::find(self.setup, self.arena.entries(), issuer).map(|client| client.id);
        let is_same = client.is_some() && client == self.of_issuer(Tag::TokenClient);
        let has = |tag| self.of_issuer(tag).is_some();
        let can_refresh = is_same && has(Tag::RefreshToken) && has(Tag::TokenEndpoint);
        self.flow.tried.refresh = true;
        if can_refresh {
            self.flow.phase = Phase::Refresh;
        } else {
            self.after_refresh();
        }
    }

    /// Goes on without a refresh.
    fn after_refresh(&mut self) {
        if self.flow.tried.early {
            self.end_early_renewal();
        } else {
            self.flow.phase = Phase::ServerMetadata(0);
        }
    }

    /// Takes the response to a refresh (RFC 6749, 6).
    pub(super) fn refreshed(
        &mut self,
        now: Option<UnixTime>,
        head: &ResponseHead<'_>,
        body: &[u8],
    ) -> FlowResult<()> {
        match head.status {
            200 => self.keep_tokens(now, body),
            400..=499 if self.takes_nonce(body) => Ok(()),
            400..=499 if !matches!(head.status, 408 | 429) => {
                let error = OAuthError::parse(body);
                let is = |code: &str| error.as_ref().is_some_and(|error| error.code() == *code);
                let issuer = self.flow.issuer;
                if is("invalid_client") && self.can_register_again() {
                    self.flow.tried.another_client = true;
                    self.drop_client();
                    self.flow.keep_due = true;
                }
                if is("invalid_grant") {
                    self.arena.remove(Tag::RefreshToken.of(issuer));
                    if !self.flow.tried.early {
                        self.drop_tokens(issuer);
                    }
                    self.flow.keep_due = true;
                }
                self.after_refresh();
                Ok(())
            }
            status => Err(Reason::Token(status)),
        }
    }
}
