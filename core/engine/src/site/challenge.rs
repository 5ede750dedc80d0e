//! Refusals of requests: status, challenges and other header fields.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::principal::Denied;
use super::protected_resource::ProtectedResource;

/// The reason why a request is denied, and its HTTP response.
#[derive(Clone, Debug)]
#[must_use]
pub struct AuthorizationError {
    status: u16,
    nonce: Option<String>,
    /// Empty if the client cannot do anything about it.
    challenges: Vec<Challenge>,
}

/// One challenge of `WWW-Authenticate`.
#[derive(Clone, Debug, Default)]
struct Challenge {
    /// The algorithms of proofs, if the scheme is `DPoP`.
    algs: Option<Cow<'static, str>>,
    error: Option<&'static str>,
    description: Option<Cow<'static, str>>,
    scope: Option<Cow<'static, str>>,
}

impl AuthorizationError {
    fn new(status: u16, error: impl Into<Option<&'static str>>) -> Self {
        let challenge = Challenge { error: error.into(), ..Challenge::default() };
        Self { status, nonce: None, challenges: vec![challenge] }
    }

    /// 401: authentication is required, and there is no token.
    pub fn missing_token() -> Self {
        Self::new(401, None)
    }

    /// 401: the token is unknown, issued for another server, or expired.
    pub fn invalid_token() -> Self {
        Self::new(401, "invalid_token")
    }

    /// 403: the token is valid, but its scope is insufficient. `scope` is the required one, e.g.
    /// `files:read files:write`: all that the operation takes, also what was granted.
    pub fn insufficient_scope(scope: impl Into<Cow<'static, str>>) -> Self {
        Self::new(403, "insufficient_scope").scope(scope)
    }

    /// 400: the credentials are malformed.
    pub fn invalid_request() -> Self {
        Self::new(400, "invalid_request")
    }

    /// 401: the proof of a bound token is missing or wrong (RFC 9449, 7.1). `algs` are the accepted
    /// algorithms, separated by spaces.
    pub fn invalid_dpop_proof(algs: impl Into<Cow<'static, str>>) -> Self {
        Self::new(401, "invalid_dpop_proof").dpop(algs)
    }

    /// 401: the proof has to contain this nonce (RFC 9449, 9).
    pub fn use_dpop_nonce(algs: impl Into<Cow<'static, str>>, nonce: impl Into<String>) -> Self {
        Self::new(401, "use_dpop_nonce").dpop(algs).nonce(nonce)
    }

    /// 503: the credentials cannot be checked now, for example because the keys or the
    /// authorization server cannot be reached. The client keeps its token and tries again.
    pub const fn unavailable() -> Self {
        Self { status: 503, nonce: None, challenges: Vec::new() }
    }

    fn with(mut self, set: impl FnOnce(&mut Challenge)) -> Self {
        self.challenges.last_mut().map(set);
        self
    }

    /// Sets the scope that a client should request. `offline_access` is left out: it is between the
    /// client and the authorization server (2026-07-28, basic/authorization). If nothing is left,
    /// there is no scope (RFC 6750, 3: it has at least one token).
    pub fn scope(self, scope: impl Into<Cow<'static, str>>) -> Self {
        let scope = Some(without_offline_access(scope.into())).filter(|scope| !scope.is_empty());
        self.with(|challenge| challenge.scope = scope)
    }

    /// Sets `error_description`, a text for people. It must not contain secrets.
    pub fn description(self, text: impl Into<Cow<'static, str>>) -> Self {
        self.with(|challenge| challenge.description = Some(text.into()))
    }

    /// Challenges with the scheme `DPoP` in place of `Bearer`. `algs` are the accepted algorithms
    /// of proofs, separated by spaces: `ES256 EdDSA`.
    pub fn dpop(self, algs: impl Into<Cow<'static, str>>) -> Self {
        self.with(|challenge| challenge.algs = Some(algs.into()))
    }

    /// Sets the field `DPoP-Nonce`, which the next proof has to contain.
    pub fn nonce(self, nonce: impl Into<String>) -> Self {
        Self { nonce: Some(nonce.into()), ..self }
    }

    /// Adds the challenges of another error: a client chooses one of them. The status stays.
    pub fn or(mut self, other: Self) -> Self {
        self.challenges.extend(other.challenges);
        self
    }

    /// Returns the HTTP status.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Returns the scope that a client should request, if there is one.
    pub fn wanted_scope(&self) -> Option<&str> {
        self.challenges.iter().find_map(|challenge| challenge.scope.as_deref())
    }

    /// Returns the response, for [`Site::authorized`](super::Site::authorized). Each challenge
    /// names the metadata of the resource.
    pub fn denied(&self, resource: Option<&ProtectedResource>) -> Denied {
        let metadata = resource.map(ProtectedResource::url);
        let denied = self.challenges.iter().fold(Denied::new(self.status), |denied, challenge| {
            denied.challenge(challenge.text(metadata.as_deref()))
        });
        match &self.nonce {
            Some(nonce) => denied.field("dpop-nonce", quoted(nonce)),
            None => denied,
        }
    }
}

/// Writes the reason: the error and its description.
impl fmt::Display for AuthorizationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(challenge) = self.challenges.first() else {
            return f.write_str("the credentials cannot be checked now");
        };
        f.write_str(challenge.error.unwrap_or("there is no token"))?;
        match &challenge.description {
            Some(description) => write!(f, ": {description}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for AuthorizationError {}

impl Challenge {
    /// Returns the value of `WWW-Authenticate`.
    fn text(&self, metadata: Option<&str>) -> String {
        let scheme = if self.algs.is_some() { "DPoP" } else { "Bearer" };
        let parts = [
            ("error", self.error),
            ("error_description", self.description.as_deref()),
            ("scope", self.scope.as_deref()),
            ("algs", self.algs.as_deref()),
            ("resource_metadata", metadata),
        ];
        let parts = parts
            .iter()
            .filter_map(|(name, value)| Some(format!("{name}=\"{}\"", quoted((*value)?))));
        let parts = parts.collect::<Vec<_>>().join(", ");
        if parts.is_empty() { scheme.into() } else { format!("{scheme} {parts}") }
    }
}

/// Removes the characters that a quoted string cannot contain.
fn quoted(text: &str) -> String {
    text.chars().filter(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\')).collect()
}

fn without_offline_access(scope: Cow<'static, str>) -> Cow<'static, str> {
    let is_other = |scope: &&str| *scope != OFFLINE_ACCESS;
    match scope.split(' ').all(|scope| is_other(&scope)) {
        true => scope,
        false => scope.split(' ').filter(is_other).collect::<Vec<_>>().join(" ").into(),
    }
}

/// The scope that asks for a refresh token.
pub(super) const OFFLINE_ACCESS: &str = "offline_access";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn sent(error: &AuthorizationError, resource: Option<&ProtectedResource>, expected: &[&str]) {
        let mut denied = Denied::new(error.status());
        for value in expected {
            denied = match value.strip_prefix("DPoP-Nonce: ") {
                Some(nonce) => denied.field("dpop-nonce", nonce),
                None => denied.challenge(*value),
            };
        }
        assert_eq!(error.denied(resource), denied);
    }

    #[test]
    fn a_challenge_says_what_is_missing_and_where_to_get_it() {
        let resource =
            ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com");
        let missing = AuthorizationError::missing_token();
        sent(&missing, None, &["Bearer"]);
        let error = AuthorizationError::insufficient_scope("a b").description("Say \"please\"\r\n");
        let expected = "Bearer error=\"insufficient_scope\", error_description=\"Say please\", \
             scope=\"a b\", \
             resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";
        sent(&error, Some(&resource), &[expected]);
        assert_eq!(quoted("a\"\r\nb\\"), "ab");
    }

    #[test]
    fn auth_141_a_wrong_proof_is_answered_with_a_dpop_challenge_and_its_algorithms() {
        let wrong = AuthorizationError::invalid_dpop_proof("ES256 EdDSA");
        sent(&wrong, None, &["DPoP error=\"invalid_dpop_proof\", algs=\"ES256 EdDSA\""]);
        let nonce = AuthorizationError::use_dpop_nonce("ES256", "n1\r\n");
        let expected = ["DPoP error=\"use_dpop_nonce\", algs=\"ES256\"", "DPoP-Nonce: n1"];
        sent(&nonce, None, &expected);
        let both = AuthorizationError::missing_token();
        let both = both.or(AuthorizationError::missing_token().dpop("ES256"));
        sent(&both, None, &["Bearer", "DPoP algs=\"ES256\""]);
    }

    #[test]
    fn auth_149_offline_access_is_in_no_challenge() {
        for (scope, expected) in [
            ("a offline_access b", "Bearer scope=\"a b\""),
            ("offline_access", "Bearer"),
            ("offline_access offline_access", "Bearer"),
            ("", "Bearer"),
            ("offline_access_not", "Bearer scope=\"offline_access_not\""),
        ] {
            sent(&AuthorizationError::missing_token().scope(scope), None, &[expected]);
        }
    }

    #[test]
    fn auth_156_what_cannot_be_checked_is_503_without_a_challenge() {
        assert_eq!(AuthorizationError::unavailable().status(), 503);
        sent(&AuthorizationError::unavailable(), None, &[]);
    }
}
