//! Tokens of a flow: the page that a person answers, requests for tokens, and renewal.

use super::arena::{Entries, Tag, Writer, put_base64url};
use super::dpop::{Proof, put_proof, put_thumbprint};
use super::flow::{Authorization, FlowResult, Phase, is_token};
use super::flow_start::ServerFlags;
use super::form::{self, Form};
use super::jws;
use super::metadata::{RedirectAnswer, RedirectOutcome};
use super::pkce::put_challenge;
use super::scope::{self, MAX_SCOPE};
use super::setup::{Grant, Reason, RegisteredClient, Setup, TokenEndpointAuth};
use super::token::{OAuthError, TokenResponse, TokenType, UnixTime};
use mcp_sansio::JsonStr;
use mcp_sansio::http::ResponseHead;

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
        let offline = self.server_flags().has(ServerFlags::OFFLINE_ACCESS);
        self.arena.write(Tag::Shown, |entries, out| {
            let client = client_of(setup, Phase::Show, entries, issuer)?;
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
                .pair_if("scope", entries.get(Tag::NewAsked))
                // Without it servers of OpenID Connect ignore `offline_access` (Core 1.0, 11).
                .pair_if("prompt", offline.then_some("consent"));
            Ok(())
        })
    }

    /// Writes the scope to ask for (2025-11-25 and later, basic/authorization, scope selection):
    /// that of the challenge, else that of the resource's metadata, narrowed by the setup. The
    /// scope of an earlier request stays, and metadata adds nothing to it.
    fn write_asked_scope(&mut self) -> FlowResult<()> {
        let (issuer, narrow) = (self.flow.issuer, self.setup.scope);
        let is_code = matches!(self.setup.grant, Grant::AuthorizationCode);
        let offline = is_code && self.server_flags().has(ServerFlags::OFFLINE_ACCESS);
        self.arena.write(Tag::NewAsked, |entries, out| {
            // Other operations need it, also where the challenge does not name it.
            let before = entries.get(Tag::AskedScope.of(issuer));
            let challenge = entries.get(Tag::ChallengeScope);
            let wanted = challenge.or(before).or(entries.get(Tag::ResourceScope));
            let wanted = wanted.unwrap_or_default();
            let may = |token: &&str| narrow.is_none_or(|narrow| scope::contains(narrow, token));
            let first = before.unwrap_or_default();
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
        if self.arena.get(Tag::NewAsked) == Some("") {
            self.arena.remove(Tag::NewAsked);
        }
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
    pub fn is_answer(&self, query: &str) -> bool {
        self.arena.get(Tag::State).is_some_and(|state| {
            RedirectAnswer::parse(query).is_ok_and(|answer| answer.has_state(state))
        })
    }

    fn take_redirect(&mut self, query: &str) -> FlowResult<()> {
        let answer = RedirectAnswer::parse(query).map_err(Reason::Redirect)?;
        let state = self.arena.get(Tag::State).unwrap_or_default();
        let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
        let outcome =
            answer.check(state, issuer, self.server_flags().has(ServerFlags::SENDS_ISSUER));
        match outcome.map_err(Reason::Redirect)? {
            RedirectOutcome::Code(code) => {
                self.arena.set(Tag::Code, &code)?;
                self.arena.remove(Tag::Shown);
                self.arena.remove(Tag::State);
                self.flow.phase = Phase::Token;
                Ok(())
            }
            RedirectOutcome::Error { error, description } => {
                self.forget_asked_scope(error == *INVALID_SCOPE);
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

// Token requests, and their answers.

impl Authorization<'_> {
    /// Writes the token request of this phase.
    pub(super) fn write_token_request(
        &mut self,
        random: &mut dyn FnMut(&mut [u8]),
    ) -> FlowResult<()> {
        let (setup, now) = (self.setup, self.now);
        let (phase, issuer) = (self.flow.phase, self.flow.issuer);
        let provider = match &setup.grant {
            Grant::Enterprise(provider) if phase == Phase::Provider => Some(provider),
            _ => None,
        };
        let flags = if provider.is_some() { ServerFlags(0) } else { self.server_flags() };
        match provider {
            Some(provider) => self.arena.set(Tag::Url, &provider.token_endpoint)?,
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
        let method = client_of(setup, phase, self.arena.entries(), issuer)?.method_for(flags);
        match method {
            TokenEndpointAuth::Basic => self.arena.write(Tag::Credentials, |entries, out| {
                let client = client_of(setup, phase, entries, issuer)?;
                form::put_basic(client.id, client.secret.unwrap_or_default(), out);
                Ok::<_, Reason>(())
            })?,
            TokenEndpointAuth::PrivateKeyJwt => {
                let (now, bytes) = fresh()?;
                self.arena.write(Tag::ClientAssertion, |entries, out| {
                    let client = client_of(setup, phase, entries, issuer)?;
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
            let client = client_of(setup, phase, entries, issuer)?;
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
                        .pair_if("scope", entries.get(Tag::NewAsked));
                }
                (_, Grant::AuthorizationCode) => {
                    form.pair("grant_type", "authorization_code")
                        .pair("code", text(Tag::Code))
                        .pair("redirect_uri", text(Tag::Redirect))
                        .pair("code_verifier", text(Tag::Verifier));
                }
                (_, Grant::ClientCredentials) => {
                    form.pair("grant_type", "client_credentials")
                        .pair_if("scope", entries.get(Tag::NewAsked));
                }
                (_, Grant::Enterprise(_)) => {
                    form.pair("grant_type", JWT_BEARER).pair("assertion", text(Tag::Grant));
                }
                (_, Grant::WorkloadIdentity) => {
                    form.pair("grant_type", JWT_BEARER)
                        .pair("assertion", text(Tag::Assertion))
                        .pair_if("scope", entries.get(Tag::NewAsked));
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
        flags.has(ServerFlags::DPOP)
            || self.flow.wants_proof
            || self.of_issuer(Tag::TokenKey).is_some()
    }

    /// Whether the server wants the request again with the nonce that it has sent (RFC 9449, 8).
    fn takes_nonce(&mut self, body: &[u8]) -> bool {
        let is_asked = OAuthError::is(body, "use_dpop_nonce");
        let has_nonce = self.arena.has(Tag::Proof) && self.of_issuer(Tag::ServerNonce).is_some();
        is_asked && has_nonce && !core::mem::replace(&mut self.flow.tried.nonce, true)
    }

    /// Takes the response to the last token request of a flow.
    pub(super) fn token(&mut self, head: &ResponseHead<'_>, body: &[u8]) -> FlowResult<()> {
        if head.status != 200 {
            if self.takes_nonce(body) {
                return Ok(());
            }
            if self.forgets_client(body) {
                self.flow.phase = Phase::Client;
                return Ok(());
            }
            self.forget_asked_scope(OAuthError::is(body, INVALID_SCOPE));
            return Err(Reason::Token(head.status));
        }
        self.keep_tokens(body)
    }

    /// Forgets the scope of earlier requests if the scope of a login is refused: one of them may
    /// have been withdrawn, and every login would end in this way. After a 403 they stay, since it
    /// is the new one that is in doubt.
    fn forget_asked_scope(&mut self, is_refused: bool) {
        let has_some = self.of_issuer(Tag::AskedScope).is_some();
        if is_refused && has_some && !self.flow.tried.step_up {
            self.arena.remove(Tag::AskedScope.of(self.flow.issuer));
            self.flow.keep_due = true;
        }
    }

    /// Forgets a client that the server does not know, if it was registered or asked for by this
    /// flow or an earlier one, and can be once more. Returns whether it does.
    fn forgets_client(&mut self, body: &[u8]) -> bool {
        let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
        let (entries, flow) = (self.arena.entries(), &*self.flow);
        let client = client_of(self.setup, flow.phase, entries, flow.issuer).ok();
        let is_forgotten = OAuthError::is(body, "invalid_client")
            && !self.flow.tried.another_client
            && client.is_some_and(|client| self.of_issuer(Tag::ClientId) == Some(client.id))
            && self.configured(issuer).is_none();
        if is_forgotten {
            self.flow.tried.another_client = true;
            self.drop_client();
            self.flow.keep_due = true;
        }
        is_forgotten
    }

    /// Keeps the tokens of an answer. All others are dropped: they are for the same server.
    fn keep_tokens(&mut self, body: &[u8]) -> FlowResult<()> {
        let answer = TokenResponse::parse(body).map_err(Reason::Document)?;
        let token_type = answer.token_type().ok_or(Reason::TokenType)?;
        if token_type == TokenType::Dpop && !self.arena.has(Tag::Proof) {
            return Err(Reason::TokenType);
        }
        let issuer = self.flow.issuer;
        let is_refresh = self.flow.phase == Phase::Refresh;
        // The new tokens stand beside the old ones until all of them are there.
        self.arena.set(Tag::NewAccessToken, &answer.access_token)?;
        match answer.refresh_token {
            Some(token) => self.arena.set(Tag::NewRefreshToken, &token)?,
            None if is_refresh => {
                self.arena.copy(Tag::RefreshToken.of(issuer), Tag::NewRefreshToken)?;
            }
            None => self.arena.remove(Tag::NewRefreshToken),
        }
        let (setup, phase) = (self.setup, self.flow.phase);
        self.arena.write(Tag::NewClient, |entries, out| {
            out.put(client_of(setup, phase, entries, issuer)?.id);
            Ok::<_, Reason>(())
        })?;
        if let Some(key) = setup.dpop.filter(|_| token_type == TokenType::Dpop) {
            self.arena.write(Tag::NewKey, |_, out| {
                put_thumbprint(key, out);
                Ok::<_, Reason>(())
            })?;
        }
        self.write_granted_scope(answer.scope);
        if let Some((now, expires_in)) = self.now.zip(answer.expires_in.filter(|secs| *secs > 0)) {
            let due = expires_in - EARLY.min(expires_in / 2);
            self.arena.set(Tag::NewDue, &now.as_secs().saturating_add(due))?;
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
        if !is_refresh {
            self.arena.rename(Tag::NewAsked.into(), Tag::AskedScope.of(issuer));
            if !self.flow.tried.step_up {
                self.flow.step_ups = Default::default();
            }
        }
        self.drop_flow();
        self.flow.is_unused = true;
        self.flow.by_refresh = is_refresh;
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
            Some(scope) => self.arena.set(Tag::NewScope, &scope),
            None if is_refresh => self.arena.copy(Tag::GrantedScope.of(issuer), Tag::NewScope),
            None => Ok(()),
        };
    }

    /// Takes the response of the identity provider (RFC 8693, 2.2).
    pub(super) fn provided(&mut self, head: &ResponseHead<'_>, body: &[u8]) -> FlowResult<()> {
        if head.status != 200 {
            self.forget_asked_scope(OAuthError::is(body, INVALID_SCOPE));
            return Err(Reason::Provider(head.status));
        }
        // Its token type is `N_A`.
        let answer = TokenResponse::parse(body).map_err(Reason::Document)?;
        if answer.issued_token_type.is_none_or(|issued| issued != *ID_JAG) {
            return Err(Reason::TokenType);
        }
        self.arena.set(Tag::Grant, &answer.access_token)?;
        self.arena.remove(Tag::Assertion);
        self.flow.phase = Phase::Token;
        Ok(())
    }
}

/// Returns the client of a phase: at the identity provider, or at an authorization server.
fn client_of<'m>(
    setup: &Setup<'m>,
    phase: Phase,
    entries: Entries<'m>,
    issuer: u8,
) -> FlowResult<RegisteredClient<'m>> {
    let client = match (phase, &setup.grant) {
        (Phase::Provider, Grant::Enterprise(provider)) => Some(provider.client),
        (Phase::Refresh, _) => RegisteredClient::of_tokens(setup, entries, issuer),
        _ => RegisteredClient::find(setup, entries, issuer),
    };
    client.ok_or(Reason::NoClient)
}

pub(super) const DPOP: &str = "DPoP";
/// The error of a request whose scope is unknown or malformed (RFC 6749, 4.1.2.1 and 5.2).
const INVALID_SCOPE: &str = "invalid_scope";
/// A token is renewed this many seconds before its end, or after half of a shorter life.
const EARLY: u64 = 30;
const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

// Renewal of tokens without a person.

impl Authorization<'_> {
    /// Whether the access token ends within 30 seconds and can be renewed without a person: then
    /// [`step`](Self::step) renews it. If that fails, the token is used to its end.
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
    /// no other program has changed it since it was read or written: tokens that could not be saved
    /// are newer than it. A store without a record gives an empty one: another program
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
        let (entries, issuer) = (self.arena.entries(), self.flow.issuer);
        let has_client = client_of(self.setup, Phase::Refresh, entries, issuer).is_ok();
        let has = |tag| self.of_issuer(tag).is_some();
        let can_refresh = has_client && has(Tag::RefreshToken) && has(Tag::TokenEndpoint);
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
            self.flow.phase = self.or_legacy(Phase::ServerMetadata(0));
        }
    }

    /// Takes the response to a refresh (RFC 6749, 6).
    pub(super) fn refreshed(&mut self, head: &ResponseHead<'_>, body: &[u8]) -> FlowResult<()> {
        match head.status {
            200 => self.keep_tokens(body),
            400..=499 if self.takes_nonce(body) => Ok(()),
            400..=499 if !matches!(head.status, 408 | 429) => {
                let issuer = self.flow.issuer;
                self.forgets_client(body);
                if OAuthError::is(body, "invalid_grant") {
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
