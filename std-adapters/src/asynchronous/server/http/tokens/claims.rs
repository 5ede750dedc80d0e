//! Claims of a token: those of a JWT (RFC 9068, 2.2) and of introspection (RFC 7662, 2.2).

use std::sync::Arc;

use mcp_sansio::http::site::Principal;
use mcp_sansio::{JsonStr, RawJson};

use super::refusal::Refusal;
use crate::asynchronous::http::Credentials;

/// A token that was found valid.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    pub(super) principal: Arc<Principal>,
    /// Thumbprint of the key to which the token is bound (RFC 9449, 6.1).
    pub(super) jkt: Option<String>,
}

/// Which tokens are accepted.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) issuer: String,
    pub(super) audience: String,
}

impl Expected {
    /// Compares the issuer without any normalization.
    pub(super) fn check_issuer(&self, claims: RawJson<'_>) -> Result<(), Refusal> {
        let issuer = claims.get("iss").and_then(string);
        if issuer.is_some_and(|issuer| issuer == *self.issuer) {
            Ok(())
        } else {
            Err(Refusal::Issuer)
        }
    }

    /// Compares the audience, a string or an array of strings, without any normalization.
    pub(super) fn check_audience(&self, claims: RawJson<'_>) -> Result<(), Refusal> {
        let is_ours = |one: RawJson<'_>| string(one).is_some_and(|aud| aud == *self.audience);
        let has_us = claims.get("aud").is_some_and(|aud| {
            if aud.is_array() {
                aud.elements().all(|one| string(one).is_some()) && aud.elements().any(is_ours)
            } else {
                is_ours(aud)
            }
        });
        if has_us { Ok(()) } else { Err(Refusal::Audience) }
    }

    /// Returns what is known of a token that passed all checks. `until` is [`u64::MAX`] if the
    /// token does not expire.
    pub(super) fn verified(
        &self,
        claims: RawJson<'_>,
        subject: Option<String>,
        until: u64,
        credentials: &Credentials,
    ) -> Result<Verified, Refusal> {
        let subject = subject.filter(|subject| !subject.is_empty()).ok_or(Refusal::Subject)?;
        let mut principal = Principal::new(&*self.issuer, subject);
        principal.scopes = text(claims, "scope")?.unwrap_or_default();
        claims.as_str().clone_into(&mut principal.claims);
        principal.expires = (until < u64::MAX).then(|| credentials.time_of(until));
        // A binding of another kind, for example to a certificate, cannot be checked here.
        let jkt = match claims.get("cnf") {
            None => None,
            Some(cnf) => {
                let jkt = cnf.get("jkt").and_then(string);
                let is_alone = cnf.members().count() == 1;
                Some(jkt.filter(|_| is_alone).ok_or(Refusal::Bound)?.to_string())
            }
        };
        Ok(Verified { principal: Arc::new(principal), jkt })
    }
}

/// Checks the times of a token. Returns when it is no longer accepted, if it says so.
pub(super) fn check_times(claims: RawJson<'_>, now: u64) -> Result<Option<u64>, Refusal> {
    let until = time(claims, "exp")?.map(|expires| expires + SKEW);
    if until.is_some_and(|until| until <= now) {
        return Err(Refusal::Expired);
    }
    if time(claims, "nbf")?.is_some_and(|begins| begins > now.saturating_add(SKEW)) {
        return Err(Refusal::NotYet);
    }
    Ok(until)
}

/// Reads a time in seconds since 1970, which may have a fraction (RFC 7519, 2).
pub(super) fn time(claims: RawJson<'_>, name: &str) -> Result<Option<u64>, Refusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| (0.0..=LAST_SECOND).contains(seconds));
    // The fraction is dropped.
    seconds.map(|seconds| Some(seconds as u64)).ok_or(Refusal::Malformed)
}

/// Reads a string.
pub(super) fn text(claims: RawJson<'_>, name: &str) -> Result<Option<String>, Refusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    string(value).map(|text| Some(text.to_string())).ok_or(Refusal::Malformed)
}

/// Returns a string that is text: others that differ would be the same user.
fn string(value: RawJson<'_>) -> Option<JsonStr<'_>> {
    value.as_string().filter(|text| text.is_well_formed())
}

/// The clocks of two machines may differ by this many seconds.
const SKEW: u64 = 60;
/// The end of the year 9999.
const LAST_SECOND: f64 = 253_402_300_799.0;
