//! The start of a flow: fields of requests to the MCP server, its challenges, and discovery.

use core::fmt;

use super::arena::{Key, NoRoom, Tag, write_to};
use super::dpop::{Proof, put_proof};
use super::flow::{Attempts, Authorization, FlowResult, NotReady, Phase, Reaction, StepUp, cut};
use super::flow_grant::DPOP;
use super::metadata::{DocumentError, List, ResourceMetadata, ServerMetadata};
use super::scope;
use super::setup::{Grant, Reason, Setup, TokenEndpointAuth};
use super::token::UnixTime;
use super::url::{AUTHORIZATION_SERVER, PROTECTED_RESOURCE, Url, WellKnownPath, resource_matches};
use mcp_sansio::RawJson;
use mcp_sansio::http::ResponseHead;
use mcp_sansio::http::client::{Challenge, UrlError, challenges};
use mcp_sansio::internal::split;

impl Authorization<'_> {
    /// Passes name and value of the header fields of a request to `put`: none without a token, and
    /// none for a URL of another origin than the server's. A request that is repeated needs new
    /// ones.
    ///
    /// # Errors
    /// [`NotReady`]: nothing has been passed to `put`.
    pub fn fields(
        &mut self,
        now: Option<UnixTime>,
        random: &mut dyn FnMut(&mut [u8]),
        method: &str,
        url: &str,
        put: &mut dyn FnMut(&str, &dyn fmt::Display),
    ) -> Result<(), NotReady> {
        if !self.has_token() {
            return if self.flow.phase.is_running() { Err(NotReady::Authorizing) } else { Ok(()) };
        }
        let is_ours = match (Url::parse(url), Url::parse(self.setup.endpoint)) {
            (Ok(url), Ok(endpoint)) => url.is_same_origin(endpoint),
            _ => false,
        };
        if !is_ours {
            return Ok(());
        }
        let issuer = self.flow.tokens;
        let key = self.setup.dpop.filter(|_| self.arena.has(Tag::TokenKey.of(issuer)));
        if let Some(key) = key {
            let now = now.ok_or(NotReady::NoClock)?;
            let mut bytes = [0; 16];
            random(&mut bytes);
            self.arena.write(Tag::ResourceProof, |entries, out| {
                let proof = Proof {
                    method,
                    url,
                    now,
                    random: bytes,
                    access_token: entries.get(Tag::AccessToken.of(issuer)),
                    nonce: entries.get(Tag::ResourceNonce),
                };
                put_proof(&proof, key, out).map_err(|_| NotReady::Signature)
            })?;
        }
        self.flow.is_unused = false;
        let token = self.arena.get(Tag::AccessToken.of(issuer)).unwrap_or_default();
        let scheme = if key.is_some() { DPOP } else { "Bearer" };
        put("authorization", &format_args!("{scheme} {token}"));
        if let Some(proof) = self.arena.get(Tag::ResourceProof) {
            put("dpop", &proof);
        }
        self.arena.remove(Tag::ResourceProof);
        Ok(())
    }

    /// Returns a number that is another one for each access token; 0 without one. It is kept beside
    /// a request, for [`challenged`](Self::challenged).
    pub fn generation(&self) -> u32 {
        if self.has_token() { self.flow.generation } else { 0 }
    }

    /// Returns the scope of the access token, as the authorization server wrote it: that of its
    /// answer, else the one that was asked for (RFC 6749, 5.1). `None` if it is not known.
    pub fn scope(&self) -> Option<&str> {
        let of_tokens = |tag: Tag| self.arena.get(tag.of(self.flow.tokens));
        of_tokens(Tag::GrantedScope).or_else(|| of_tokens(Tag::AskedScope))
    }

    /// Whether there is a token, and the key to which it may be bound.
    fn has_token(&self) -> bool {
        let issuer = self.flow.tokens;
        let is_bound = self.arena.has(Tag::TokenKey.of(issuer));
        self.arena.has(Tag::AccessToken.of(issuer)) && (!is_bound || self.setup.dpop.is_some())
    }

    /// Takes the head of any response of the MCP server: it may have a nonce for proofs.
    pub fn observed(&mut self, head: &ResponseHead<'_>) {
        self.keep_nonce(Tag::ResourceNonce.into(), head);
    }

    /// Takes a response with status 401 or 403 to a request that was sent with the fields of this
    /// [generation](Self::generation).
    pub fn challenged(
        &mut self,
        head: &ResponseHead<'_>,
        generation: u32,
        attempts: &mut Attempts,
    ) -> Reaction {
        self.observed(head);
        let challenge = self.challenge_of(head);
        let error = challenge.and_then(|challenge| challenge.get("error"));
        let is_step_up = match (head.status, error) {
            (401, _) => false,
            (403, Some("insufficient_scope")) => true,
            _ => return Reaction::Report,
        };
        let present = self.generation();
        if present > 0 && present != generation {
            return attempts.take_again(Reaction::SendAgain);
        }
        if error == Some("use_dpop_nonce") && !is_step_up {
            let has_nonce = self.setup.dpop.is_some() && self.arena.has(Tag::ResourceNonce);
            return if has_nonce && attempts.nonce.replace(generation) != Some(generation) {
                Reaction::SendAgain
            } else {
                Reaction::Report
            };
        }
        if self.flow.phase.is_running() {
            return attempts.take_again(Reaction::Authorize);
        }
        let count = if is_step_up { &mut attempts.forbidden } else { &mut attempts.unauthorized };
        if *count >= MAX_ATTEMPTS {
            return Reaction::Report;
        }
        *count += 1;
        if is_step_up {
            return self.begin_step_up(challenge);
        }
        let reaction = self.begin_challenged(challenge);
        // One refresh, then a flow: another refresh would bring what was just refused.
        self.flow.tried.refresh = attempts.unauthorized > 1 && self.flow.by_refresh;
        reaction
    }

    /// Returns the challenge to be met: one for proofs if there is a key for it, else `Bearer`. Of
    /// several, the first with an error or a URL: a proxy may add one that says less.
    fn challenge_of<'h>(&self, head: &ResponseHead<'h>) -> Option<Challenge<'h>> {
        let has_key = self.setup.dpop.is_some();
        let (mut best, mut found) = (u8::MAX, None);
        for challenge in challenges(head) {
            let is = |scheme| challenge.scheme.eq_ignore_ascii_case(scheme);
            let says_more = challenge.get("error").or(challenge.get("resource_metadata")).is_some();
            let rank = u8::from(is(DPOP) != has_key) * 2 + u8::from(!says_more);
            if rank < best && (is(DPOP) || is("Bearer")) {
                (best, found) = (rank, Some(challenge));
            }
        }
        found
    }

    /// Begins the flow after a 401: the metadata is read anew, since the authorization server may
    /// have changed.
    fn begin_challenged(&mut self, challenge: Option<Challenge<'_>>) -> Reaction {
        let get = |name| challenge.and_then(|challenge| challenge.get(name));
        let url = get("resource_metadata");
        self.restart(if url.is_some() {
            Phase::ChallengeMetadata
        } else {
            Phase::ResourceMetadata { at_root: false }
        });
        self.keep_challenge(challenge, url, get("scope").filter(|scope| scope::is_valid(scope)))
    }

    /// Begins the flow after a 403 that names scopes: they are asked for with those that were asked
    /// for before. If all of them were, one that the authorization server, as it says, did not
    /// grant ends it. Where the server does not say what it granted, it is asked for once more.
    fn begin_step_up(&mut self, challenge: Option<Challenge<'_>>) -> Reaction {
        let wanted = challenge.and_then(|challenge| challenge.get("scope"));
        let wanted = wanted.filter(|wanted| scope::is_valid(wanted)).unwrap_or_default();
        let narrow = self.setup.scope;
        let is_allowed = |token: &&str| {
            // It is asked for where the metadata of the authorization server has it.
            *token != scope::OFFLINE_ACCESS
                && narrow.is_none_or(|narrow| scope::contains(narrow, token))
        };
        let asked = self.arena.get(Tag::AskedScope.of(self.flow.tokens)).unwrap_or_default();
        let are_new =
            scope::tokens(wanted).filter(is_allowed).map(|it| !scope::contains(asked, it));
        let Some(is_new) = are_new.max() else { return Reaction::Report };
        if !is_new && let Some(missing) = scope::tokens(wanted).find(|token| self.is_refused(token))
        {
            return self.end_ungranted(missing);
        }
        if self.flow.tokens == 0 || self.flow.count_step_up(scope_hash(wanted)).is_none() {
            return Reaction::Report;
        }
        self.restart(Phase::Idle);
        self.flow.issuer = self.flow.tokens;
        self.flow.phase = self.or_legacy(Phase::Server);
        self.flow.tried.step_up = true;
        self.keep_challenge(challenge, None, Some(wanted))
    }

    /// Whether the authorization server has been asked for this scope, and has granted others.
    fn is_refused(&self, token: &str) -> bool {
        let of_tokens = |tag: Tag| self.arena.get(tag.of(self.flow.tokens));
        // Some servers separate what they granted by commas.
        let is_granted = |granted: &str| {
            scope::tokens(granted)
                .any(|other| other == token || split(other, ',').any(|part| part == token))
        };
        of_tokens(Tag::AskedScope).is_some_and(|asked| scope::contains(asked, token))
            && of_tokens(Tag::GrantedScope).is_some_and(|granted| !is_granted(granted))
    }

    /// Whether the authorization server has not granted all that it was asked for.
    pub(super) fn has_refused_scope(&self) -> bool {
        let asked = self.arena.get(Tag::AskedScope.of(self.flow.tokens)).unwrap_or_default();
        scope::tokens(asked).any(|token| self.is_refused(token))
    }

    /// Ends a flow before it begins: the person would be asked again for what was not granted.
    fn end_ungranted(&mut self, missing: &str) -> Reaction {
        let number = self.flow.tokens;
        self.restart(Phase::Idle);
        self.show_url(Tag::Issuer.of(number));
        // Without room the error says less.
        let _ = self.arena.write(Tag::FailureAnswer, |entries, out| {
            let granted = entries.get(Tag::GrantedScope.of(number)).unwrap_or_default();
            for (before, text) in [("it gave `", granted), ("` and not `", missing)] {
                out.put(before);
                out.put(cut(text, MAX_SHOWN_SCOPE));
            }
            out.put("`");
            Ok::<_, NoRoom>(())
        });
        self.fail(Reason::ScopeNotGranted);
        Reaction::Authorize
    }

    fn keep_challenge(
        &mut self,
        challenge: Option<Challenge<'_>>,
        url: Option<&str>,
        wanted: Option<&str>,
    ) -> Reaction {
        self.flow.wants_proof =
            challenge.is_some_and(|challenge| challenge.scheme.eq_ignore_ascii_case(DPOP));
        let kept = self.arena.set_or_remove(Tag::ChallengeUrl, url);
        let kept = kept.and_then(|()| self.arena.set_or_remove(Tag::ChallengeScope, wanted));
        if let Err(error) = kept {
            self.fail(error.into());
        }
        Reaction::Authorize
    }

    /// Keeps the nonce that a response has, if there is one, for later proofs.
    pub(super) fn keep_nonce(&mut self, key: Key, head: &ResponseHead<'_>) {
        if self.setup.dpop.is_none() {
            return;
        }
        let nonce = head.fields.get("dpop-nonce").filter(|nonce| {
            // RFC 9449, 8.1.
            let is_valid = |byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
            !nonce.is_empty() && nonce.len() <= MAX_NONCE && nonce.bytes().all(is_valid)
        });
        if let Some(nonce) = nonce {
            // Without room the server asks again.
            let _ = self.arena.set(key, &nonce);
        }
    }
}

impl Attempts {
    /// Creates the attempts of a request that was not sent yet.
    pub const fn new() -> Self {
        Self { unauthorized: 0, forbidden: 0, again: 0, nonce: None }
    }

    fn take_again(&mut self, reaction: Reaction) -> Reaction {
        if self.again >= MAX_AGAIN {
            return Reaction::Report;
        }
        self.again += 1;
        reaction
    }
}

impl super::flow::Flow {
    /// Counts a request for more scope; `None` if there were enough.
    fn count_step_up(&mut self, scope: u32) -> Option<()> {
        let known = self.step_ups.iter().position(|step_up| step_up.scope == scope);
        let mut step_up = match known {
            Some(at) => self.step_ups.get(at).copied()?,
            None => StepUp { scope, count: 0 },
        };
        if step_up.count >= MAX_ATTEMPTS {
            return None;
        }
        step_up.count += 1;
        // The last one stands first.
        let end = known.unwrap_or(self.step_ups.len() - 1);
        for at in (0..end).rev() {
            let before = self.step_ups.get(at).copied()?;
            *self.step_ups.get_mut(at + 1)? = before;
        }
        *self.step_ups.first_mut()? = step_up;
        Some(())
    }
}

/// Returns a hash of the set of tokens, in any order.
fn scope_hash(wanted: &str) -> u32 {
    scope::tokens(wanted).fold(0, |sum: u32, token| {
        // FNV-1a.
        let hash = token
            .bytes()
            .fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        sum.wrapping_add(hash)
    })
}

impl From<NoRoom> for NotReady {
    fn from(_: NoRoom) -> Self {
        Self::ArenaFull
    }
}

/// Authorizations for the same request, each for 401 and for 403.
const MAX_ATTEMPTS: u8 = 2;
/// A request is sent again this many times because another one has brought a new token meanwhile.
const MAX_AGAIN: u8 = 4;
/// Maximum length of a scope in an error, in characters.
const MAX_SHOWN_SCOPE: usize = 200;
/// Maximum length of a nonce, in bytes.
const MAX_NONCE: usize = 256;

// Discovery: metadata of the resource and of its authorization server.

impl Authorization<'_> {
    /// Writes the URL of the metadata that this phase reads.
    pub(super) fn write_metadata_url(&mut self) -> FlowResult<()> {
        let (phase, issuer, endpoint) = (self.flow.phase, self.flow.issuer, self.setup.endpoint);
        self.arena.write(Tag::Url, |entries, out| {
            let about = match phase {
                Phase::ServerMetadata(_) => entries.get(Tag::Issuer.of(issuer)),
                _ => Some(endpoint),
            };
            let url = Url::parse(about.unwrap_or_default()).map_err(Reason::Url)?;
            let url = match phase {
                Phase::ChallengeMetadata => {
                    out.put(entries.get(Tag::ChallengeUrl).unwrap_or_default());
                    return Ok::<_, Reason>(());
                }
                Phase::ResourceMetadata { at_root: true } => {
                    url.well_known(PROTECTED_RESOURCE, WellKnownPath::Root)
                }
                Phase::ResourceMetadata { at_root: false } => {
                    url.well_known(PROTECTED_RESOURCE, WellKnownPath::Inserted)
                }
                Phase::ServerMetadata(at) => {
                    url.server_metadata(at).ok_or(Reason::NoServerMetadata)?
                }
                _ => url.well_known(AUTHORIZATION_SERVER, WellKnownPath::Root),
            };
            write_to(out, url);
            Ok(())
        })
    }

    /// Takes the response to a request for metadata.
    pub(super) fn metadata(&mut self, head: &ResponseHead<'_>, body: &[u8]) -> FlowResult<()> {
        let is_found = is_found(head, body)?;
        match self.flow.phase {
            Phase::ServerMetadata(_) if is_found => self.use_server(body),
            Phase::ServerMetadata(at) => {
                let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
                let issuer = Url::parse(issuer).map_err(Reason::Url)?;
                let next = at + 1;
                issuer.server_metadata(next).ok_or(Reason::NoServerMetadata)?;
                self.flow.phase = Phase::ServerMetadata(next);
                Ok(())
            }
            Phase::LegacyMetadata => self.use_legacy(is_found.then_some(body)),
            _ if is_found => self.use_resource(body),
            Phase::ChallengeMetadata => Err(Reason::NoResourceMetadata),
            Phase::ResourceMetadata { at_root: false } if self.has_path() => {
                self.flow.phase = Phase::ResourceMetadata { at_root: true };
                Ok(())
            }
            _ if self.setup.policy.legacy
                && matches!(self.setup.grant, Grant::AuthorizationCode) =>
            {
                self.flow.phase = Phase::LegacyMetadata;
                Ok(())
            }
            _ => Err(Reason::NoResourceMetadata),
        }
    }

    fn has_path(&self) -> bool {
        Url::parse(self.setup.endpoint).is_ok_and(|url| !matches!(url.path(), "" | "/"))
    }

    fn use_resource(&mut self, body: &[u8]) -> FlowResult<()> {
        let metadata = ResourceMetadata::parse(body).map_err(Reason::Document)?;
        self.arena.set(Tag::Decoded, &metadata.resource)?;
        if !resource_matches(self.decoded(), self.setup.endpoint) {
            return Err(Reason::OtherResource);
        }
        self.arena.copy(Tag::Decoded, Tag::Resource)?;
        let algs = metadata.dpop_signing_algs;
        if self.setup.dpop.is_some_and(|key| metadata.requires_dpop || algs.contains(key.alg())) {
            self.flow.wants_proof = true;
        }
        self.choose_issuer(metadata.authorization_servers)?;
        self.keep_scopes(metadata.scopes_supported)?;
        self.flow.phase = self.or_refresh(self.with_server_metadata());
        Ok(())
    }

    /// Returns the phase that renews the tokens if they are of the flow's issuer and that was not
    /// tried, else the other one.
    fn or_refresh(&self, other: Phase) -> Phase {
        let issuer = self.flow.issuer;
        let can_refresh = self.flow.tokens == issuer
            && self.arena.has(Tag::RefreshToken.of(issuer))
            && !self.flow.tried.refresh
            && !self.flow.tried.step_up;
        if can_refresh { Phase::Lock } else { other }
    }

    /// Returns the phase of a server of 2025-03-26, which has no metadata to be read again, else
    /// the other one.
    pub(super) fn or_legacy(&self, other: Phase) -> Phase {
        if self.server_flags().has(ServerFlags::LEGACY) { Phase::Client } else { other }
    }

    /// Returns the phase that needs the authorization server's metadata: it is read if it is not
    /// known, or old.
    pub(super) fn with_server_metadata(&self) -> Phase {
        let read_at = self.arena.number(Tag::ReadAt.of(self.flow.issuer));
        let is_fresh = self.now.zip(read_at).is_some_and(|(now, read_at)| {
            read_at <= now.as_secs() && now.as_secs() - read_at < METADATA_AGE
        });
        if is_fresh { Phase::Client } else { Phase::ServerMetadata(0) }
    }

    /// Chooses among the authorization servers of a resource: the first for which there are
    /// credentials, else the first that is allowed.
    fn choose_issuer(&mut self, issuers: List<'_>) -> FlowResult<()> {
        if issuers.iter().next().is_none() {
            return Err(Reason::NoAuthorizationServer);
        }
        let mut problem = Reason::IssuerNotAllowed;
        for with_credentials in [true, false] {
            for issuer in issuers.iter().take(MAX_LISTED_ISSUERS) {
                self.arena.set(Tag::Decoded, &issuer)?;
                let issuer = self.decoded();
                let allowed = is_issuer(issuer, self.setup.policy.urls)
                    .and_then(|()| self.setup.policy.allows(issuer));
                if let Err(reason) = allowed {
                    problem = reason;
                    continue;
                }
                let known = self.known(issuer);
                let has_credentials = self.configured(issuer).is_some()
                    || known.is_some_and(|known| self.arena.has(Tag::ClientId.of(known)));
                if with_credentials && !has_credentials {
                    continue;
                }
                if !self.setup.clients.is_empty() && !has_credentials {
                    return Err(Reason::OtherIssuer);
                }
                self.flow.issuer = self.number_of_decoded()?;
                return Ok(());
            }
        }
        if problem != Reason::IssuerNotAllowed {
            self.show_url(Tag::Decoded);
        }
        Err(problem)
    }

    /// Keeps the scopes of the resource for the authorization request.
    fn keep_scopes(&mut self, scopes: List<'_>) -> FlowResult<()> {
        self.arena.write(Tag::ResourceScope, |_, out| {
            write_to(out, scopes);
            if out.as_str().len() > scope::MAX_SCOPE {
                return Err(Reason::Document(DocumentError::Invalid("scopes_supported")));
            }
            Ok(())
        })?;
        if self.arena.get(Tag::ResourceScope) == Some("") {
            self.arena.remove(Tag::ResourceScope);
        }
        Ok(())
    }

    fn use_server(&mut self, body: &[u8]) -> FlowResult<()> {
        let metadata = ServerMetadata::parse(body).map_err(Reason::Document)?;
        let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
        if !metadata.is_of_issuer(issuer) {
            return Err(Reason::IssuerMismatch);
        }
        let is_code = matches!(self.setup.grant, Grant::AuthorizationCode);
        let has_pkce = metadata.code_challenge_methods_supported.contains("S256");
        if is_code && !has_pkce && !self.setup.policy.without_pkce.contains(&issuer) {
            return Err(Reason::NoPkce);
        }
        self.keep_server(&metadata)
    }

    /// Takes the metadata of a server of 2025-03-26, or what that revision says without any.
    fn use_legacy(&mut self, body: Option<&[u8]>) -> FlowResult<()> {
        let endpoint = self.setup.endpoint;
        let base = Url::parse(endpoint).map_err(Reason::Url)?.origin_text();
        let metadata = body.map(ServerMetadata::parse).transpose().map_err(Reason::Document)?;
        if let Some(metadata) = &metadata {
            self.arena.set(Tag::Decoded, &metadata.issuer)?;
            let named = self.decoded();
            if named.strip_suffix('/').unwrap_or(named) != base {
                return Err(Reason::IssuerMismatch);
            }
        } else {
            self.arena.set(Tag::Decoded, &base)?;
        }
        self.setup.policy.allows(self.decoded())?;
        if !self.setup.clients.is_empty() && self.configured(self.decoded()).is_none() {
            return Err(Reason::OtherIssuer);
        }
        self.flow.issuer = self.number_of_decoded()?;
        self.arena.set(Tag::Resource, &endpoint)?;
        let issuer = self.flow.issuer;
        let flags = match &metadata {
            Some(metadata) => {
                self.keep_server(metadata)?;
                self.server_flags()
            }
            None => {
                self.flow.tried.guesses = true;
                for (tag, path) in [
                    (Tag::AuthorizationEndpoint, "/authorize"),
                    (Tag::TokenEndpoint, "/token"),
                    (Tag::RegistrationEndpoint, "/register"),
                ] {
                    self.arena.set(tag.of(issuer), &format_args!("{base}{path}"))?;
                }
                ServerFlags(0)
            }
        };
        self.arena.set(Tag::ServerFlags.of(issuer), &(flags.0 | ServerFlags::LEGACY))?;
        self.flow.phase = self.or_refresh(Phase::Client);
        Ok(())
    }

    /// Keeps what is needed of an authorization server's metadata, and checks its URLs.
    fn keep_server(&mut self, metadata: &ServerMetadata<'_>) -> FlowResult<()> {
        let issuer = self.flow.issuer;
        let is_code = matches!(self.setup.grant, Grant::AuthorizationCode);
        self.arena.remove(Tag::ReadAt.of(issuer));
        for (tag, url, required) in [
            (Tag::TokenEndpoint, metadata.token_endpoint, Some("token_endpoint")),
            (
                Tag::AuthorizationEndpoint,
                metadata.authorization_endpoint,
                is_code.then_some("authorization_endpoint"),
            ),
            (Tag::RegistrationEndpoint, metadata.registration_endpoint, None),
        ] {
            let Some(url) = url else {
                if let Some(name) = required {
                    return Err(Reason::Document(DocumentError::Missing(name)));
                }
                self.arena.remove(tag.of(issuer));
                continue;
            };
            self.arena.set(Tag::Decoded, &url)?;
            if let Err(reason) = self.check_url(Tag::Decoded.into()) {
                self.show_url(Tag::Decoded);
                return Err(reason);
            }
            self.arena.copy(Tag::Decoded, tag.of(issuer))?;
        }
        self.arena.remove(Tag::Decoded);
        let ServerFlags(bits) = ServerFlags::read(metadata, self.setup);
        self.arena.set(Tag::ServerFlags.of(issuer), &bits)?;
        if let Some(now) = self.now {
            self.arena.set(Tag::ReadAt.of(issuer), &now.as_secs())?;
        }
        self.flow.phase = Phase::Client;
        Ok(())
    }

    fn decoded(&self) -> &str {
        self.arena.get(Tag::Decoded).unwrap_or_default()
    }

    /// Returns the number of the issuer that was decoded last.
    fn number_of_decoded(&mut self) -> FlowResult<u8> {
        let number = self.number_of(Tag::Decoded)?;
        self.arena.remove(Tag::Decoded);
        Ok(number)
    }

    /// Returns what the metadata of the flow's issuer lists.
    pub(super) fn server_flags(&self) -> ServerFlags {
        ServerFlags(self.arena.number(Tag::ServerFlags.of(self.flow.issuer)).unwrap_or_default())
    }
}

/// Members of an authorization server's metadata as bits, which are part of the record.
#[derive(Clone, Copy)]
pub(super) struct ServerFlags(pub(super) u64);

impl ServerFlags {
    /// Proofs by the client's key.
    pub(super) const DPOP: u64 = 1 << 4;
    pub(super) const SENDS_ISSUER: u64 = 1 << 5;
    pub(super) const METADATA_DOCUMENTS: u64 = 1 << 6;
    pub(super) const OFFLINE_ACCESS: u64 = 1 << 7;
    /// The server is of 2025-03-26: it has other metadata, or none.
    pub(super) const LEGACY: u64 = 1 << 8;

    fn read(metadata: &ServerMetadata<'_>, setup: &Setup<'_>) -> Self {
        let methods = metadata.token_endpoint_auth_methods_supported;
        let dpop = metadata.dpop_signing_algs;
        let mut bits = 0;
        for method in TokenEndpointAuth::ALL {
            if methods.contains(method.name()) {
                bits |= method.bit();
            }
        }
        for (is_set, bit) in [
            (setup.dpop.is_some_and(|key| dpop.contains(key.alg())), Self::DPOP),
            (metadata.sends_issuer, Self::SENDS_ISSUER),
            (metadata.supports_client_id_metadata_document, Self::METADATA_DOCUMENTS),
            (metadata.scopes_supported.contains(scope::OFFLINE_ACCESS), Self::OFFLINE_ACCESS),
        ] {
            if is_set {
                bits |= bit;
            }
        }
        Self(bits)
    }

    pub(super) const fn lists(self, method: TokenEndpointAuth) -> bool {
        self.has(method.bit())
    }

    pub(super) const fn has(self, bit: u64) -> bool {
        self.0 & bit != 0
    }
}

impl TokenEndpointAuth {
    /// Its bit in [`ServerFlags`] and, as a number, in the record.
    const fn bit(self) -> u64 {
        match self {
            Self::None => 1,
            Self::Basic => 1 << 1,
            Self::Post => 1 << 2,
            Self::PrivateKeyJwt => 1 << 3,
        }
    }
}

/// Whether a response has a document: else it is looked for at the next place.
fn is_found(head: &ResponseHead<'_>, body: &[u8]) -> FlowResult<bool> {
    match head.status {
        200 => {
            let json = core::str::from_utf8(body).ok().and_then(|text| RawJson::parse(text).ok());
            Ok(json.is_some_and(RawJson::is_object))
        }
        408 | 429 => Err(Reason::Status(head.status)),
        201..=299 | 400..=499 => Ok(false),
        status => Err(Reason::Status(status)),
    }
}

/// Checks the URL of an issuer (RFC 8414, 2).
fn is_issuer(issuer: &str, rules: super::UrlRules) -> FlowResult<()> {
    let url = Url::parse(issuer).map_err(Reason::Url)?;
    if url.query().is_some() {
        return Err(Reason::Url(UrlError::Characters));
    }
    url.check(rules).map_err(Reason::Url)
}

/// The authorization servers of a resource that are looked at.
const MAX_LISTED_ISSUERS: usize = 16;
/// An authorization server's metadata is used for this many seconds.
const METADATA_AGE: u64 = 3600;
