//! The client's id at an authorization server.

use super::arena::{Entries, Tag};
use super::failure::Reason;
use super::flow_discovery::ServerFlags;
use super::registration::{ClientMetadata, RegistrationResponse};
use super::setup::{Grant, RegisteredClient, Setup, TokenEndpointAuth};
use super::signer::Signer;
use super::state::{Authorization, FlowResult, Phase, is_client};
use super::token::OAuthError;
use super::unix_time::UnixTime;
use super::url::Url;
use crate::http::ResponseHead;

/// The client as an authorization server knows it.
#[derive(Clone, Copy)]
pub(super) struct Client<'m> {
    pub(super) id: &'m str,
    pub(super) secret: Option<&'m str>,
    pub(super) method: Option<TokenEndpointAuth>,
    pub(super) key: Option<&'m dyn Signer>,
}

impl<'m> Client<'m> {
    /// Returns the client for an issuer: configured, kept, or with a metadata document.
    pub(super) fn find(setup: &Setup<'m>, entries: Entries<'m>, issuer: u8) -> Option<Self> {
        let name = entries.get(Tag::Issuer.of(issuer))?;
        if let Some(client) = configured(setup, entries.get(Tag::BoundIssuer), name) {
            return Some(Self::registered(client));
        }
        if let Some(id) = entries.get(Tag::ClientId.of(issuer)) {
            let method = entries.get(Tag::ClientMethod.of(issuer));
            let named = TokenEndpointAuth::ALL.iter().find(|known| Some(known.name()) == method);
            let secret = entries.get(Tag::ClientSecret.of(issuer));
            return Some(Self { id, secret, method: named.copied(), key: None });
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
        let id = id.filter(|_| may_be_document && flags.supports_metadata_documents());
        id.map(|id| Self { id, secret: None, method: None, key: setup.document_key })
    }

    /// Returns a client that was registered beforehand.
    pub(super) const fn registered(client: &RegisteredClient<'m>) -> Self {
        Self { id: client.id, secret: client.secret, method: client.method, key: client.key }
    }

    /// Returns how the client authenticates: as it was registered, else by what the metadata lists,
    /// else with what it has.
    pub(super) fn method(&self, flags: ServerFlags) -> TokenEndpointAuth {
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
    pub(super) fn choose_client(&mut self, now: Option<UnixTime>) -> FlowResult<()> {
        let is_code = matches!(self.setup.grant, Grant::AuthorizationCode);
        if is_code && !self.arena.has(Tag::Redirect) {
            self.flow.phase = Phase::Redirect;
            return Ok(());
        }
        let number = self.flow.issuer;
        if !self.is_registration_usable(now) {
            self.drop_client();
        }
        let issuer = self.of_issuer(Tag::Issuer).unwrap_or_default();
        if self.configured(issuer).is_some_and(|client| client.issuer.is_none()) {
            self.arena.copy(Tag::Issuer.of(number), Tag::BoundIssuer)?;
        }
        self.flow.phase = if Client::find(self.setup, self.arena.entries(), number).is_some() {
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
    fn is_registration_usable(&self, now: Option<UnixTime>) -> bool {
        let ends = self.arena.number(Tag::SecretEnds.of(self.flow.issuer));
        let has_ended = ends.zip(now).is_some_and(|(ends, now)| ends <= now.as_secs());
        let registered = self.of_issuer(Tag::RegisteredRedirect);
        !has_ended && registered.is_none_or(|uri| self.arena.get(Tag::Redirect) == Some(uri))
    }

    /// Forgets the client that is kept for the flow's issuer.
    pub(super) fn drop_client(&mut self) {
        let issuer = self.flow.issuer;
        self.arena.retain(|key| !(key.group == issuer && is_client(key)));
    }

    /// Answers [`Step::Redirect`](super::Step::Redirect). Ignored when none is due.
    pub fn redirect_uri(&mut self, uri: &str) {
        if self.flow.phase != Phase::Redirect {
            return;
        }
        let is_allowed = Url::parse(uri).is_ok_and(|url| url.is_secure() || url.is_loopback());
        let taken = if is_allowed {
            self.arena.set(Tag::Redirect, uri).map_err(Reason::from)
        } else {
            Err(Reason::RedirectUri)
        };
        match taken {
            Ok(()) => self.flow.phase = Phase::Client,
            Err(reason) => self.fail(reason),
        }
    }

    /// Answers [`Step::AskClient`](super::Step::AskClient). Ignored when none is due.
    pub fn client(&mut self, id: &str, secret: Option<&str>) {
        if self.flow.phase != Phase::AskClient {
            return;
        }
        let issuer = self.flow.issuer;
        self.drop_client();
        let kept = self.arena.set(Tag::ClientId.of(issuer), id);
        match kept.and_then(|()| self.arena.set_or_remove(Tag::ClientSecret.of(issuer), secret)) {
            Ok(()) => {
                self.flow.keep_due = true;
                self.flow.phase = Phase::Client;
            }
            Err(error) => self.fail(error.into()),
        }
    }

    /// Answers [`Step::AskAssertion`](super::Step::AskAssertion). Ignored when none is due.
    pub fn assertion(&mut self, jwt: &str) {
        if self.flow.phase != Phase::AskAssertion {
            return;
        }
        match self.arena.set(Tag::Assertion, jwt) {
            Ok(()) => {
                self.flow.phase = match self.setup.grant {
                    Grant::Enterprise(_) => Phase::Provider,
                    _ => Phase::Token,
                };
            }
            Err(error) => self.fail(error.into()),
        }
    }

    /// Writes the request for a registration (RFC 7591, 2).
    pub(super) fn write_registration(&mut self) -> FlowResult<()> {
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
            let is_redirect = OAuthError::parse(body)
                .is_some_and(|error| error.code() == *"invalid_redirect_uri");
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
            (Tag::ClientId, Some(answer.client_id())),
            (Tag::ClientSecret, answer.client_secret()),
            (Tag::ClientMethod, answer.token_endpoint_auth_method()),
        ] {
            if let Some(text) = text {
                self.keep(tag, text)?;
            }
        }
        if let Some(ends) = answer.client_secret_expires_at() {
            self.arena.set_number(Tag::SecretEnds.of(issuer), ends)?;
        }
        self.arena.copy(Tag::Redirect, Tag::RegisteredRedirect.of(issuer))?;
        self.flow.keep_due = true;
        self.flow.phase = Phase::Show;
        Ok(())
    }
}
