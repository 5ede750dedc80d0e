//! Discovery: metadata of the resource and of its authorization server.

use super::arena::Tag;
use super::failure::Reason;
use super::metadata::{DocumentError, List, ResourceMetadata, ServerMetadata};
use super::scope;
use super::setup::{Grant, Setup, TokenEndpointAuth};
use super::state::{Authorization, FlowResult, Phase, decode};
use super::unix_time::UnixTime;
use super::url::{Place, Url, resource_matches};
use super::writer::write_to;
use crate::http::ResponseHead;
use crate::http::client::UrlError;
use crate::json::{JsonStr, RawJson};

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
            let (suffix, place) = match phase {
                Phase::ChallengeMetadata => {
                    out.put(entries.get(Tag::ChallengeUrl).unwrap_or_default());
                    return Ok::<_, Reason>(());
                }
                Phase::ResourceMetadata { at_root: true } => (PROTECTED_RESOURCE, Place::Root),
                Phase::ResourceMetadata { at_root: false } => (PROTECTED_RESOURCE, Place::Inserted),
                Phase::ServerMetadata(at) => server_place(url, at).unwrap_or(FIRST_PLACE),
                _ => (AUTHORIZATION_SERVER, Place::Root),
            };
            write_to(out, url.well_known(suffix, place));
            Ok(())
        })
    }

    /// Takes the response to a request for metadata.
    pub(super) fn metadata(
        &mut self,
        now: Option<UnixTime>,
        head: &ResponseHead<'_>,
        body: &[u8],
    ) -> FlowResult<()> {
        let is_found = is_found(head, body)?;
        match self.flow.phase {
            Phase::ServerMetadata(_) if is_found => self.use_server(now, body),
            Phase::ServerMetadata(at) => {
                let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
                let issuer = Url::parse(issuer).map_err(Reason::Url)?;
                let next = at + 1;
                server_place(issuer, next).ok_or(Reason::NoServerMetadata)?;
                self.flow.phase = Phase::ServerMetadata(next);
                Ok(())
            }
            Phase::LegacyMetadata => self.use_legacy(now, is_found.then_some(body)),
            _ if is_found => self.use_resource(now, body),
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

    fn use_resource(&mut self, now: Option<UnixTime>, body: &[u8]) -> FlowResult<()> {
        let metadata = ResourceMetadata::parse(body).map_err(Reason::Document)?;
        self.decode(metadata.resource())?;
        if !resource_matches(self.decoded(), self.setup.endpoint) {
            return Err(Reason::OtherResource);
        }
        self.arena.copy(Tag::Decoded, Tag::Resource)?;
        let algs = metadata.dpop_signing_algs();
        if self.setup.dpop.is_some_and(|key| metadata.requires_dpop() || algs.contains(key.alg())) {
            self.flow.wants_proof = true;
        }
        self.choose_issuer(metadata.authorization_servers())?;
        self.keep_scopes(metadata.scopes_supported())?;
        let issuer = self.flow.issuer;
        let can_refresh = self.flow.tokens == issuer
            && self.arena.has(Tag::RefreshToken.of(issuer))
            && !self.flow.tried.refresh
            && !self.flow.tried.step_up;
        self.flow.phase = if can_refresh { Phase::Lock } else { self.with_server_metadata(now) };
        Ok(())
    }

    /// Returns the phase that needs the authorization server's metadata: it is read if it is not
    /// known, or old.
    pub(super) fn with_server_metadata(&self, now: Option<UnixTime>) -> Phase {
        let read_at = self.arena.number(Tag::ReadAt.of(self.flow.issuer));
        let is_fresh = now.zip(read_at).is_some_and(|(now, read_at)| {
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
            for issuer in issuers.iter() {
                self.decode(issuer)?;
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

    fn use_server(&mut self, now: Option<UnixTime>, body: &[u8]) -> FlowResult<()> {
        let metadata = ServerMetadata::parse(body).map_err(Reason::Document)?;
        let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
        if !metadata.is_of_issuer(issuer) {
            return Err(Reason::IssuerMismatch);
        }
        let is_code = matches!(self.setup.grant, Grant::AuthorizationCode);
        let has_pkce = metadata.code_challenge_methods_supported().contains("S256");
        if is_code && !has_pkce && !self.setup.policy.without_pkce.contains(&issuer) {
            return Err(Reason::NoPkce);
        }
        self.keep_server(now, &metadata)
    }

    /// Takes the metadata of a server of 2025-03-26, or what that revision says without any.
    fn use_legacy(&mut self, now: Option<UnixTime>, body: Option<&[u8]>) -> FlowResult<()> {
        let endpoint = self.setup.endpoint;
        let base = Url::parse(endpoint).map_err(Reason::Url)?.origin_text();
        let metadata = body.map(ServerMetadata::parse).transpose().map_err(Reason::Document)?;
        if let Some(metadata) = &metadata {
            let named = metadata.issuer();
            self.decode(named)?;
            let named = self.decoded();
            if named.strip_suffix('/').unwrap_or(named) != base {
                return Err(Reason::IssuerMismatch);
            }
        } else {
            self.arena.set(Tag::Decoded, base)?;
        }
        self.setup.policy.allows(self.decoded())?;
        if !self.setup.clients.is_empty() && self.configured(self.decoded()).is_none() {
            return Err(Reason::OtherIssuer);
        }
        self.flow.issuer = self.number_of_decoded()?;
        self.arena.set(Tag::Resource, endpoint)?;
        match &metadata {
            Some(metadata) => self.keep_server(now, metadata),
            None => {
                self.flow.tried.guesses = true;
                let issuer = self.flow.issuer;
                for (tag, path) in [
                    (Tag::AuthorizationEndpoint, "/authorize"),
                    (Tag::TokenEndpoint, "/token"),
                    (Tag::RegistrationEndpoint, "/register"),
                ] {
                    self.arena.write(tag.of(issuer), |_, out| {
                        out.put(base);
                        out.put(path);
                        Ok::<_, Reason>(())
                    })?;
                }
                self.arena.set_number(Tag::ServerFlags.of(issuer), 0)?;
                self.flow.phase = Phase::Client;
                Ok(())
            }
        }
    }

    /// Keeps what is needed of an authorization server's metadata, and checks its URLs.
    fn keep_server(
        &mut self,
        now: Option<UnixTime>,
        metadata: &ServerMetadata<'_>,
    ) -> FlowResult<()> {
        let issuer = self.flow.issuer;
        let is_code = matches!(self.setup.grant, Grant::AuthorizationCode);
        self.arena.remove(Tag::ReadAt.of(issuer));
        for (tag, url, required) in [
            (Tag::TokenEndpoint, metadata.token_endpoint(), Some("token_endpoint")),
            (
                Tag::AuthorizationEndpoint,
                metadata.authorization_endpoint(),
                is_code.then_some("authorization_endpoint"),
            ),
            (Tag::RegistrationEndpoint, metadata.registration_endpoint(), None),
        ] {
            let Some(url) = url else {
                if let Some(name) = required {
                    return Err(Reason::Document(DocumentError::Missing(name)));
                }
                self.arena.remove(tag.of(issuer));
                continue;
            };
            self.decode(url)?;
            if let Err(reason) = self.check_url(Tag::Decoded.into()) {
                self.show_url(Tag::Decoded);
                return Err(reason);
            }
            self.arena.copy(Tag::Decoded, tag.of(issuer))?;
        }
        self.arena.remove(Tag::Decoded);
        self.arena
            .set_number(Tag::ServerFlags.of(issuer), ServerFlags::read(metadata, self.setup).0)?;
        if let Some(now) = now {
            self.arena.set_number(Tag::ReadAt.of(issuer), now.as_secs())?;
        }
        self.flow.phase = Phase::Client;
        Ok(())
    }

    /// Decodes a JSON string into the arena.
    fn decode(&mut self, text: JsonStr<'_>) -> FlowResult<()> {
        self.arena.write(Tag::Decoded, |_, out| {
            decode(text, out);
            Ok(())
        })
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
    const DPOP: u64 = 1 << 4;
    const SENDS_ISSUER: u64 = 1 << 5;
    const METADATA_DOCUMENTS: u64 = 1 << 6;
    const OFFLINE_ACCESS: u64 = 1 << 7;

    fn read(metadata: &ServerMetadata<'_>, setup: &Setup<'_>) -> Self {
        let methods = metadata.token_endpoint_auth_methods_supported();
        let dpop = metadata.dpop_signing_algs();
        let mut bits = 0;
        for method in TokenEndpointAuth::ALL {
            if methods.contains(method.name()) {
                bits |= method.bit();
            }
        }
        for (is_set, bit) in [
            (setup.dpop.is_some_and(|key| dpop.contains(key.alg())), Self::DPOP),
            (metadata.sends_issuer(), Self::SENDS_ISSUER),
            (metadata.supports_client_id_metadata_document(), Self::METADATA_DOCUMENTS),
            (metadata.scopes_supported().contains(scope::OFFLINE_ACCESS), Self::OFFLINE_ACCESS),
        ] {
            if is_set {
                bits |= bit;
            }
        }
        Self(bits)
    }

    pub(super) const fn lists(self, method: TokenEndpointAuth) -> bool {
        self.0 & method.bit() != 0
    }

    pub(super) const fn takes_proofs(self) -> bool {
        self.0 & Self::DPOP != 0
    }

    pub(super) const fn sends_issuer(self) -> bool {
        self.0 & Self::SENDS_ISSUER != 0
    }

    pub(super) const fn supports_metadata_documents(self) -> bool {
        self.0 & Self::METADATA_DOCUMENTS != 0
    }

    pub(super) const fn offers_offline_access(self) -> bool {
        self.0 & Self::OFFLINE_ACCESS != 0
    }
}

impl TokenEndpointAuth {
    /// Its bit in [`ServerFlags`] and, as a number, in the record.
    pub(super) const fn bit(self) -> u64 {
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

/// Returns the n-th place of an authorization server's metadata (2025-11-25 and later,
/// basic/authorization, server metadata discovery).
fn server_place(issuer: Url<'_>, at: u8) -> Option<(&'static str, Place)> {
    let has_path = !matches!(issuer.path(), "" | "/");
    match at {
        0 => Some(FIRST_PLACE),
        1 => Some((OPENID, Place::Inserted)),
        2 if has_path => Some((OPENID, Place::Appended)),
        _ => None,
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

const FIRST_PLACE: (&str, Place) = (AUTHORIZATION_SERVER, Place::Inserted);
const PROTECTED_RESOURCE: &str = "oauth-protected-resource";
const AUTHORIZATION_SERVER: &str = "oauth-authorization-server";
const OPENID: &str = "openid-configuration";
/// An authorization server's metadata is used for this many seconds.
const METADATA_AGE: u64 = 3600;
