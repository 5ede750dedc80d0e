//! The common part of the checks of all kinds of tokens.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use mcp_sansio::http::site::Principal;

use super::claims::Verified;
use super::dpop::{BadProof, Dpop};
use super::refusal::Refusal;
use crate::asynchronous::http::{AuthorizationError, Credentials, Scheme};

/// Reads the token of a request, checks its proof, and writes challenges.
#[derive(Default)]
pub(super) struct Gate {
    pub(super) scope: Option<Cow<'static, str>>,
    pub(super) dpop: Option<Dpop>,
}

impl Gate {
    /// Returns scheme and token of a request.
    pub(super) fn token<'c>(
        &self,
        credentials: &'c Credentials,
    ) -> Result<(Scheme, &'c str), AuthorizationError> {
        credentials.authorization().ok_or_else(|| {
            let missing = || self.with_scope(AuthorizationError::missing_token());
            match &self.dpop {
                None => missing(),
                Some(dpop) if dpop.is_required() => missing().dpop(ALGORITHMS),
                Some(_) => missing().or(missing().dpop(ALGORITHMS)),
            }
        })
    }

    /// Returns the principal of a request with a bearer token that `known` knows.
    pub(super) fn known(
        &self,
        credentials: &Credentials,
        known: impl FnOnce(&[u8], Moment) -> Option<Arc<Verified>>,
    ) -> Option<Arc<Principal>> {
        let (Scheme::Bearer, token) = credentials.token_bytes()? else { return None };
        let verified = known(token, Moment::of(credentials))?;
        self.admit_bearer(&verified).is_ok().then(|| Arc::clone(&verified.principal))
    }

    /// Returns the response to a request whose token is refused.
    pub(super) fn refused(&self, scheme: Scheme, refusal: Refusal) -> AuthorizationError {
        if refusal == Refusal::Unavailable {
            return AuthorizationError::unavailable();
        }
        let error = AuthorizationError::invalid_token().description(refusal.description());
        let error = self.with_scope(error);
        let needs_proof = matches!(refusal, Refusal::Bound | Refusal::Bearer);
        if self.dpop.is_some() && (scheme == Scheme::Dpop || needs_proof) {
            error.dpop(ALGORITHMS)
        } else {
            error
        }
    }

    /// Returns the principal of a request, if its token may be used in this way.
    pub(super) fn admit(
        &self,
        scheme: Scheme,
        token: &str,
        verified: &Verified,
        credentials: &Credentials,
        now: Moment,
    ) -> Result<Arc<Principal>, AuthorizationError> {
        let refused = |refusal| self.refused(scheme, refusal);
        match (scheme, &self.dpop, &verified.jkt) {
            (Scheme::Bearer, ..) => self.admit_bearer(verified).map_err(refused)?,
            (Scheme::Dpop, None, _) => return Err(refused(Refusal::Scheme)),
            (Scheme::Dpop, Some(_), None) => return Err(refused(Refusal::Unbound)),
            (Scheme::Dpop, Some(dpop), Some(jkt)) => {
                dpop.check(credentials, token, jkt, now.unix).map_err(|bad| match bad {
                    BadProof::Invalid(why) => {
                        AuthorizationError::invalid_dpop_proof(ALGORITHMS).description(why)
                    }
                    BadProof::Nonce(nonce) => AuthorizationError::use_dpop_nonce(ALGORITHMS, nonce),
                })?;
            }
        }
        Ok(Arc::clone(&verified.principal))
    }

    /// Checks that a token needs no proof.
    fn admit_bearer(&self, verified: &Verified) -> Result<(), Refusal> {
        match &self.dpop {
            _ if verified.jkt.is_some() => Err(Refusal::Bound),
            Some(dpop) if dpop.is_required() => Err(Refusal::Bearer),
            _ => Ok(()),
        }
    }

    fn with_scope(&self, error: AuthorizationError) -> AuthorizationError {
        match &self.scope {
            Some(scope) => error.scope(scope.clone()),
            None => error,
        }
    }
}

/// The algorithms of proofs: all of [`Algorithm`](super::Algorithm), by all their names.
const ALGORITHMS: &str = "RS256 PS256 ES256 EdDSA Ed25519";

/// The time of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Seconds since 1970.
    pub(super) unix: u64,
    pub(super) instant: Instant,
}

impl Moment {
    pub(super) fn of(credentials: &Credentials) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self { unix, instant: credentials.at() }
    }
}
