//! What the checks of all kinds of tokens have in common.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use mcp_sansio::http::site::Principal;

use super::claims::Verified;
use super::refusal::Refusal;
use crate::asynchronous::http::{AuthorizationError, Credentials, Scheme};

/// Reads the token of a request, and writes challenges.
#[derive(Default)]
pub(super) struct Gate {
    pub(super) scope: Option<Cow<'static, str>>,
}

impl Gate {
    /// Returns scheme and token of a request.
    pub(super) fn token<'c>(
        &self,
        credentials: &'c Credentials,
    ) -> Result<(Scheme, &'c str), AuthorizationError> {
        let missing = || self.with_scope(AuthorizationError::missing_token());
        credentials.authorization().ok_or_else(missing)
    }

    /// Returns the response to a request whose token is refused.
    pub(super) fn refused(&self, refusal: Refusal) -> AuthorizationError {
        match refusal {
            Refusal::Unavailable => AuthorizationError::unavailable(),
            _ => {
                let error = AuthorizationError::invalid_token().description(refusal.description());
                self.with_scope(error)
            }
        }
    }

    /// Returns the principal of a request, if its token may be used in this way.
    pub(super) fn admit(
        &self,
        scheme: Scheme,
        verified: &Verified,
    ) -> Result<Arc<Principal>, AuthorizationError> {
        if scheme != Scheme::Bearer || verified.jkt.is_some() {
            return Err(self.refused(Refusal::Bound));
        }
        Ok(Arc::clone(&verified.principal))
    }

    fn with_scope(&self, error: AuthorizationError) -> AuthorizationError {
        match &self.scope {
            Some(scope) => error.scope(scope.clone()),
            None => error,
        }
    }
}

/// The time of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Seconds since 1970.
    pub(super) unix: u64,
    pub(super) instant: Instant,
}

impl Moment {
    pub(super) fn now() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self { unix, instant: Instant::now() }
    }
}
