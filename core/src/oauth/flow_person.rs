//! The authorization request that a person answers in a browser.

use super::arena::Tag;
use super::base64::put_base64url;
use super::failure::Reason;
use super::flow_client::Client;
use super::form::Form;
use super::pkce::put_challenge;
use super::redirect::{RedirectAnswer, RedirectOutcome};
use super::scope;
use super::state::{Authorization, FlowResult, Phase};
use super::writer::{Writer, write_to};

impl Authorization<'_> {
    /// Writes the URL for the person, with a verifier and a state of its own.
    pub(super) fn write_shown(&mut self, random: &mut dyn FnMut(&mut [u8])) -> FlowResult<()> {
        self.check_url(Tag::AuthorizationEndpoint.of(self.flow.issuer))?;
        for tag in [Tag::Verifier, Tag::State] {
            let mut bytes = zeroize::Zeroizing::new([0; 32]);
            random(&mut *bytes);
            self.arena.write(tag, |_, out| {
                put_base64url(&*bytes, out);
                Ok::<_, Reason>(())
            })?;
        }
        self.write_asked_scope()?;
        let (setup, issuer) = (self.setup, self.flow.issuer);
        let offline = self.server_flags().offers_offline_access();
        self.arena.write(Tag::Shown, |entries, out| {
            let client = Client::find(setup, entries, issuer).ok_or(Reason::NoClient)?;
            let text = |tag| entries.get(tag).unwrap_or_default();
            let endpoint = entries.get(Tag::AuthorizationEndpoint.of(issuer)).unwrap_or_default();
            let mut challenge = [0; 43];
            let mut challenge = Writer::new(&mut challenge);
            put_challenge(text(Tag::Verifier), &mut challenge);
            Form::query_of(out, endpoint)
                .pair("response_type", "code")
                .pair("client_id", client.id)
                .pair("redirect_uri", text(Tag::Redirect))
                .pair("code_challenge", challenge.as_str())
                .pair("code_challenge_method", "S256")
                .pair("state", text(Tag::State))
                .pair("resource", text(Tag::Resource))
                .pair_if("scope", entries.get(Tag::AskedScope.of(issuer)))
                // Without it servers of OpenID Connect ignore `offline_access` (Core 1.0, 11).
                .pair_if("prompt", offline.then_some("consent"));
            Ok(())
        })
    }

    /// Writes the scope to ask for (2025-11-25 and later, basic/authorization, scope selection):
    /// that of the challenge, else that of an earlier request, else that of the resource's
    /// metadata, narrowed by the setup; after a 403, united with what was asked before.
    pub(super) fn write_asked_scope(&mut self) -> FlowResult<()> {
        let (issuer, narrow) = (self.flow.issuer, self.setup.scope);
        let is_step_up = self.flow.tried.step_up;
        let is_code = matches!(self.setup.grant, super::Grant::AuthorizationCode);
        let offline = is_code && self.server_flags().offers_offline_access();
        self.arena.write(Tag::Decoded, |entries, out| {
            let before = entries.get(Tag::AskedScope.of(issuer));
            let challenge = entries.get(Tag::ChallengeScope);
            let wanted = challenge.or(before).or(entries.get(Tag::ResourceScope));
            let wanted = wanted.unwrap_or_default();
            let may = |token: &&str| narrow.is_none_or(|narrow| scope::contains(narrow, token));
            let first = before.filter(|_| is_step_up).unwrap_or_default();
            let all = scope::tokens(first)
                .chain(scope::tokens(wanted).filter(|token| !scope::contains(first, token)))
                .filter(may);
            let is_own = |token: &&str| *token != scope::OFFLINE_ACCESS;
            let has_none = all.clone().find(is_own).is_none();
            let narrow = narrow.filter(|_| has_none).unwrap_or_default();
            let all = all.chain(scope::tokens(narrow)).filter(is_own);
            for (at, token) in all.chain(offline.then_some(scope::OFFLINE_ACCESS)).enumerate() {
                out.put(if at > 0 { " " } else { "" });
                out.put(token);
            }
            Ok::<_, Reason>(())
        })?;
        let asked = Tag::AskedScope.of(issuer);
        if self.arena.get(Tag::Decoded) == Some("") {
            self.arena.remove(asked);
        } else {
            self.arena.copy(Tag::Decoded, asked)?;
        }
        self.arena.remove(Tag::Decoded);
        Ok(())
    }

    /// Answers [`Step::Show`](super::Step::Show) with the query with which the browser came back,
    /// without its `?`. Ignored when none is due. An answer to another login ends this one, so a
    /// listener that others can reach asks [`is_answer`](Self::is_answer) first.
    pub fn redirected(&mut self, query: &str) {
        if self.flow.phase != Phase::Show || !self.arena.has(Tag::Shown) {
            return;
        }
        if let Err(reason) = self.take_redirect(query) {
            self.fail(reason);
        }
    }

    /// Whether the query has the state of the URL that is [shown](super::Step::Show).
    #[must_use]
    pub fn is_answer(&self, query: &str) -> bool {
        self.arena.get(Tag::State).is_some_and(|state| {
            RedirectAnswer::parse(query).is_ok_and(|answer| answer.has_state(state))
        })
    }

    fn take_redirect(&mut self, query: &str) -> FlowResult<()> {
        let answer = RedirectAnswer::parse(query).map_err(Reason::Redirect)?;
        let state = self.arena.get(Tag::State).unwrap_or_default();
        let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
        let outcome = answer.check(state, issuer, self.server_flags().sends_issuer());
        match outcome.map_err(Reason::Redirect)? {
            RedirectOutcome::Code(code) => {
                self.arena.write(Tag::Code, |_, out| {
                    write_to(out, code);
                    Ok::<_, Reason>(())
                })?;
                self.arena.remove(Tag::Shown);
                self.arena.remove(Tag::State);
                self.flow.phase = Phase::Token;
                Ok(())
            }
            RedirectOutcome::Error { error, description } => {
                match description {
                    Some(text) => self.explain(&format_args!("{error}: {text}")),
                    None => self.explain(&error),
                }
                let is_denied = error == *"access_denied";
                Err(if is_denied { Reason::AccessDenied } else { Reason::Refused })
            }
        }
    }
}
