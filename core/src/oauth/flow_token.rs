//! Token requests, and their answers.

use super::arena::{Entries, Tag};
use super::dpop::{Proof, put_proof, put_thumbprint};
use super::failure::Reason;
use super::flow_client::Client;
use super::flow_discovery::ServerFlags;
use super::form::{self, Form};
use super::jws;
use super::scope::MAX_SCOPE;
use super::setup::{Grant, IdentityProvider, Setup, TokenEndpointAuth};
use super::state::{Authorization, FlowResult, Phase, decode, is_token};
use super::token::{OAuthError, TokenResponse, TokenType};
use super::unix_time::UnixTime;
use crate::http::ResponseHead;
use crate::json::JsonStr;

impl Authorization<'_> {
    /// Writes the token request of this phase.
    pub(super) fn write_token_request(
        &mut self,
        now: Option<UnixTime>,
        random: &mut dyn FnMut(&mut [u8]),
    ) -> FlowResult<()> {
        let (setup, phase, issuer) = (self.setup, self.flow.phase, self.flow.issuer);
        let provider = match &setup.grant {
            Grant::Enterprise(provider) if phase == Phase::Provider => Some(provider),
            _ => None,
        };
        let flags = if provider.is_some() { ServerFlags(0) } else { self.server_flags() };
        match provider {
            Some(provider) => self.arena.set(Tag::Url, provider.token_endpoint)?,
            None => self.arena.copy(Tag::TokenEndpoint.of(issuer), Tag::Url)?,
        }
        let asks_here = match setup.grant {
            Grant::ClientCredentials | Grant::WorkloadIdentity => phase == Phase::Token,
            Grant::Enterprise(_) => phase == Phase::Provider,
            Grant::AuthorizationCode => false,
        };
        if asks_here {
            self.write_asked_scope()?;
        }
        let mut fresh = || -> FlowResult<(UnixTime, [u8; 16])> {
            let mut bytes = [0; 16];
            random(&mut bytes);
            Ok((now.ok_or(Reason::NoClock)?, bytes))
        };
        let method = client_of(setup, provider, self.arena.entries(), issuer)?.method(flags);
        match method {
            TokenEndpointAuth::Basic => self.arena.write(Tag::Credentials, |entries, out| {
                let client = client_of(setup, provider, entries, issuer)?;
                form::put_basic(client.id, client.secret.unwrap_or_default(), out);
                Ok::<_, Reason>(())
            })?,
            TokenEndpointAuth::PrivateKeyJwt => {
                let (now, bytes) = fresh()?;
                self.arena.write(Tag::ClientAssertion, |entries, out| {
                    let client = client_of(setup, provider, entries, issuer)?;
                    let audience = match provider {
                        Some(provider) => provider.issuer,
                        None => entries.get(Tag::Issuer.of(issuer)).unwrap_or_default(),
                    };
                    let key = client.key.ok_or(Reason::NoClient)?;
                    jws::put_assertion(client.id, audience, now, &bytes, key, out)
                        .map_err(|_| Reason::Signature)
                })?;
            }
            TokenEndpointAuth::None | TokenEndpointAuth::Post => {}
        }
        if let Some(key) = setup.dpop.filter(|_| provider.is_none() && self.uses_proofs(flags)) {
            let (now, random) = fresh()?;
            self.arena.write(Tag::Proof, |entries, out| {
                let proof = Proof {
                    method: "POST",
                    url: entries.get(Tag::Url).unwrap_or_default(),
                    now,
                    random,
                    access_token: None,
                    nonce: entries.get(Tag::ServerNonce.of(issuer)),
                };
                put_proof(&proof, key, out).map_err(|_| Reason::Signature)
            })?;
        }
        self.arena.write(Tag::Body, |entries, out| {
            let client = client_of(setup, provider, entries, issuer)?;
            let text = |tag| entries.get(tag).unwrap_or_default();
            let of_issuer = |tag: Tag| entries.get(tag.of(issuer));
            let mut form = Form::new(out);
            match (phase, &setup.grant) {
                (Phase::Refresh, _) => {
                    form.pair("grant_type", "refresh_token")
                        .pair_if("refresh_token", of_issuer(Tag::RefreshToken));
                }
                (Phase::Provider, _) => {
                    form.pair("grant_type", TOKEN_EXCHANGE)
                        .pair("requested_token_type", ID_JAG)
                        .pair("subject_token", text(Tag::Assertion))
                        .pair("subject_token_type", ID_TOKEN)
                        .pair_if("audience", of_issuer(Tag::Issuer))
                        .pair_if("scope", of_issuer(Tag::AskedScope));
                }
                (_, Grant::AuthorizationCode) => {
                    form.pair("grant_type", "authorization_code")
                        .pair("code", text(Tag::Code))
                        .pair("redirect_uri", text(Tag::Redirect))
                        .pair("code_verifier", text(Tag::Verifier));
                }
                (_, Grant::ClientCredentials) => {
                    form.pair("grant_type", "client_credentials")
                        .pair_if("scope", of_issuer(Tag::AskedScope));
                }
                (_, Grant::Enterprise(_)) => {
                    form.pair("grant_type", JWT_BEARER).pair("assertion", text(Tag::Grant));
                }
                (_, Grant::WorkloadIdentity) => {
                    form.pair("grant_type", JWT_BEARER)
                        .pair("assertion", text(Tag::Assertion))
                        .pair_if("scope", of_issuer(Tag::AskedScope));
                }
            }
            form.pair("resource", text(Tag::Resource));
            match method {
                TokenEndpointAuth::Basic => {}
                TokenEndpointAuth::Post => {
                    form.pair("client_id", client.id).pair_if("client_secret", client.secret);
                }
                TokenEndpointAuth::None => {
                    form.pair("client_id", client.id);
                }
                TokenEndpointAuth::PrivateKeyJwt => {
                    form.pair("client_id", client.id)
                        .pair("client_assertion_type", CLIENT_ASSERTION)
                        .pair("client_assertion", text(Tag::ClientAssertion));
                }
            }
            Ok(())
        })
    }

    /// Whether token requests carry a proof: the server takes them or has asked for one, or the
    /// tokens are bound.
    fn uses_proofs(&self, flags: ServerFlags) -> bool {
        flags.takes_proofs() || self.flow.wants_proof || self.of_issuer(Tag::TokenKey).is_some()
    }

    /// Whether the server wants the request again with the nonce that it has sent (RFC 9449, 8).
    pub(super) fn takes_nonce(&mut self, body: &[u8]) -> bool {
        let is_asked = OAuthError::parse(body).is_some_and(|e| e.code() == *"use_dpop_nonce");
        let has_nonce = self.arena.has(Tag::Proof) && self.of_issuer(Tag::ServerNonce).is_some();
        is_asked && has_nonce && !core::mem::replace(&mut self.flow.tried.nonce, true)
    }

    /// Takes the response to the last token request of a flow.
    pub(super) fn token(
        &mut self,
        now: Option<UnixTime>,
        head: &ResponseHead<'_>,
        body: &[u8],
    ) -> FlowResult<()> {
        if head.status != 200 {
            if self.takes_nonce(body) {
                return Ok(());
            }
            let error = OAuthError::parse(body);
            let is = |code: &str| error.as_ref().is_some_and(|error| error.code() == *code);
            if is("invalid_client") && self.can_register_again() {
                self.flow.tried.another_client = true;
                self.drop_client();
                self.flow.keep_due = true;
                self.flow.phase = Phase::Client;
                return Ok(());
            }
            return Err(Reason::Token(head.status));
        }
        self.keep_tokens(now, body)
    }

    /// Whether the client was registered or asked for by this flow or an earlier one, and can be
    /// once more.
    pub(super) fn can_register_again(&self) -> bool {
        let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
        !self.flow.tried.another_client
            && self.of_issuer(Tag::ClientId).is_some()
            && self.configured(issuer).is_none()
    }

    /// Keeps the tokens of an answer. All others are dropped: they are for the same server.
    pub(super) fn keep_tokens(&mut self, now: Option<UnixTime>, body: &[u8]) -> FlowResult<()> {
        let answer = TokenResponse::parse(body).map_err(Reason::Document)?;
        let token_type = answer.token_type().ok_or(Reason::TokenType)?;
        if token_type == TokenType::Dpop && !self.arena.has(Tag::Proof) {
            return Err(Reason::TokenType);
        }
        let issuer = self.flow.issuer;
        let is_refresh = self.flow.phase == Phase::Refresh;
        // The new tokens stand beside the old ones until all of them are there.
        self.write_new(Tag::NewAccessToken, answer.access_token())?;
        match answer.refresh_token() {
            Some(token) => self.write_new(Tag::NewRefreshToken, token)?,
            None if is_refresh => {
                self.arena.copy(Tag::RefreshToken.of(issuer), Tag::NewRefreshToken)?;
            }
            None => self.arena.remove(Tag::NewRefreshToken),
        }
        let setup = self.setup;
        self.arena.write(Tag::NewClient, |entries, out| {
            let client = Client::find(setup, entries, issuer);
            out.put(client.ok_or(Reason::NoClient)?.id);
            Ok::<_, Reason>(())
        })?;
        if let Some(key) = setup.dpop.filter(|_| token_type == TokenType::Dpop) {
            self.arena.write(Tag::NewKey, |_, out| {
                put_thumbprint(key, out);
                Ok::<_, Reason>(())
            })?;
        }
        self.write_granted_scope(answer.scope());
        if let Some((now, expires_in)) = now.zip(answer.expires_in().filter(|secs| *secs > 0)) {
            let due = expires_in - EARLY.min(expires_in / 2);
            self.arena.set_number(Tag::NewDue, now.as_secs().saturating_add(due))?;
        }
        self.arena.retain(|key| !is_token(key));
        for (new, tag) in [
            (Tag::NewClient, Tag::TokenClient),
            (Tag::NewAccessToken, Tag::AccessToken),
            (Tag::NewRefreshToken, Tag::RefreshToken),
            (Tag::NewKey, Tag::TokenKey),
            (Tag::NewDue, Tag::TokenDue),
            (Tag::NewScope, Tag::GrantedScope),
        ] {
            self.arena.rename(new.into(), tag.of(issuer));
        }
        self.drop_flow();
        self.flow.is_unused = true;
        self.flow.tokens = issuer;
        self.flow.generation = self.flow.generation.wrapping_add(1).max(1);
        self.flow.keep_due = true;
        self.flow.phase = Phase::Idle;
        Ok(())
    }

    /// Keeps the scope of an answer. Without one it is what was asked for (RFC 6749, 5.1), in a
    /// refresh that of the old tokens (6).
    fn write_granted_scope(&mut self, scope: Option<JsonStr<'_>>) {
        let (issuer, is_refresh) = (self.flow.issuer, self.flow.phase == Phase::Refresh);
        // Without room, or if it is too long, it counts as what was asked for.
        let _ = match scope.filter(|scope| scope.inner().len() <= MAX_SCOPE) {
            Some(scope) => self.write_new(Tag::NewScope, scope),
            None if is_refresh => {
                self.arena.copy(Tag::GrantedScope.of(issuer), Tag::NewScope).map_err(Reason::from)
            }
            None => Ok(()),
        };
    }

    fn write_new(&mut self, tag: Tag, text: JsonStr<'_>) -> FlowResult<()> {
        self.arena.write(tag, |_, out| {
            decode(text, out);
            Ok(())
        })
    }

    /// Takes the response of the identity provider (RFC 8693, 2.2).
    pub(super) fn provided(&mut self, head: &ResponseHead<'_>, body: &[u8]) -> FlowResult<()> {
        if head.status != 200 {
            return Err(Reason::Provider(head.status));
        }
        // Its token type is `N_A`.
        let answer = TokenResponse::parse(body).map_err(Reason::Document)?;
        if answer.issued_token_type().is_none_or(|issued| issued != *ID_JAG) {
            return Err(Reason::TokenType);
        }
        self.write_new(Tag::Grant, answer.access_token())?;
        self.arena.remove(Tag::Assertion);
        self.flow.phase = Phase::Token;
        Ok(())
    }
}

/// Returns the client at the identity provider, or at an authorization server.
fn client_of<'m>(
    setup: &Setup<'m>,
    provider: Option<&IdentityProvider<'m>>,
    entries: Entries<'m>,
    issuer: u8,
) -> FlowResult<Client<'m>> {
    match provider {
        Some(provider) => Ok(Client::registered(&provider.client)),
        None => Client::find(setup, entries, issuer).ok_or(Reason::NoClient),
    }
}

pub(super) const DPOP: &str = "DPoP";
/// A token is renewed this many seconds before its end, or after half of a shorter life.
const EARLY: u64 = 30;
const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
