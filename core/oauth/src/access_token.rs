//! Access tokens as a server checks them: JWTs (RFC 9068, 4; RFC 8725), and what an authorization
//! server says about a token (RFC 7662).

use core::fmt;

use super::jwk::{Algorithm, Jwk, Signature};
use super::jws::{Header, Jws, Memory, object};
use super::token::UnixTime;
use mcp_sansio::{JsonStr, RawJson};

/// What a server demands of access tokens. Issuer and audience are compared character by character.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct TokenRules<'r> {
    issuer: &'r str,
    audience: &'r str,
    algorithms: &'r [Algorithm],
    demands_audience: bool,
}

impl<'r> TokenRules<'r> {
    /// Accepts tokens of this issuer, which were issued for this audience: the URL of the protected
    /// resource as clients know it.
    pub const fn new(issuer: &'r str, audience: &'r str) -> Self {
        Self { issuer, audience, algorithms: &Algorithm::ALL, demands_audience: true }
    }

    /// Sets the allowed algorithms. Default: all of [`Algorithm`].
    pub const fn algorithms(self, algorithms: &'r [Algorithm]) -> Self {
        Self { algorithms, ..self }
    }

    /// Accepts also tokens whose introspection has no `aud`: only if the authorization server
    /// issues no tokens for anything else than this server. Default: `true`.
    pub const fn demands_audience(self, demands_audience: bool) -> Self {
        Self { demands_audience, ..self }
    }

    /// Checks all of a JWT but its signature, so that a token that is not meant for this server
    /// causes no request for keys. It is good if
    /// - it has at most 16 KiB, and no object in its header or claims has two members of the same
    ///   name;
    /// - its `typ` is `at+jwt`, `application/at+jwt` or `JWT`, and it has no `crit`;
    /// - its `alg` is allowed;
    /// - `iss` is the issuer and `aud` is the audience, or an array with it;
    /// - `exp` is in the future and `nbf` is not, give or take 60 seconds;
    /// - it has a `sub`.
    ///
    /// `memory` is twice as long as the token.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn check_jwt<'m>(
        &self,
        token: &'m str,
        now: UnixTime,
        memory: &'m mut [u8],
    ) -> Result<SignedToken<'m>, Refusal> {
        let jws = Jws::parse(token, &mut Memory::new(memory))?;
        let header = jws.header()?;
        if !self.algorithms.contains(&header.algorithm) {
            return Err(Refusal::Algorithm);
        }
        if !TYPES.iter().any(|typ| header.typ.eq_ignore_ascii_case(typ)) {
            return Err(Refusal::Type);
        }
        let claims = jws.claims;
        self.check_issuer(claims)?;
        self.check_audience(claims)?;
        let until = check_times(claims, now)?.ok_or(Refusal::Malformed)?;
        let subject = text(claims, "sub")?.map(Subject::new);
        let token = AccessToken::read(claims, subject, Some(until))?;
        Ok(SignedToken { jws, header, token })
    }

    /// Checks the answer of an introspection. The token is good if it has `active: true`, the
    /// audience in `aud`, no other issuer in `iss`, and times that fit, give or take 60 seconds.
    /// `memory` is twice as long as the answer.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Unavailable`] if it is no such answer, which says nothing about the
    /// token.
    pub fn check_introspection<'m>(
        &self,
        answer: &'m [u8],
        now: UnixTime,
        memory: &mut [u8],
    ) -> Result<AccessToken<'m>, Refusal> {
        let answer = core::str::from_utf8(answer).map_err(|_| Refusal::Unavailable)?;
        let answer = object(answer, memory).ok_or(Refusal::Unavailable)?;
        match answer.get("active").and_then(RawJson::as_bool) {
            Some(true) => {}
            Some(false) => return Err(Refusal::Inactive),
            None => return Err(Refusal::Unavailable),
        }
        if answer.get("iss").is_some() {
            self.check_issuer(answer)?;
        }
        if self.demands_audience || answer.get("aud").is_some() {
            self.check_audience(answer)?;
        }
        let until = check_times(answer, now)?;
        AccessToken::read(answer, Subject::of_user_or_program(answer)?, until)
    }

    /// Compares the issuer without any normalization.
    fn check_issuer(&self, claims: RawJson<'_>) -> Result<(), Refusal> {
        let issuer = claims.get("iss").and_then(string);
        if issuer.is_some_and(|issuer| issuer == *self.issuer) {
            Ok(())
        } else {
            Err(Refusal::Issuer)
        }
    }

    /// Compares the audience, a string or an array of strings, without any normalization.
    fn check_audience(&self, claims: RawJson<'_>) -> Result<(), Refusal> {
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
}

/// A JWT that passed all checks but that of its signature.
#[derive(Clone, Copy)]
#[must_use]
pub struct SignedToken<'m> {
    jws: Jws<'m>,
    header: Header<'m>,
    token: AccessToken<'m>,
}

impl<'m> SignedToken<'m> {
    /// Whether it names its key. If not, a signature that is invalid may be that of a newer key.
    #[must_use]
    pub const fn names_key(&self) -> bool {
        self.header.kid.is_some()
    }

    /// Verifies the signature under the key of the issuer that `kid` names, or its only one without
    /// `kid`. Members of the header that bring a key along are ignored (RFC 8725, 3.10).
    ///
    /// # Errors
    /// [`Refusal::Key`], [`Refusal::Signature`].
    pub fn verify<T: PartialEq<str>, B: AsRef<[u8]>>(
        &self,
        keys: &[Jwk<T, B>],
        is_valid: impl FnOnce(&Signature<'_>) -> bool,
    ) -> Result<AccessToken<'m>, Refusal> {
        let key = Jwk::find(keys, &self.header).ok_or(Refusal::Key)?;
        if is_valid(&self.jws.signature(self.header.algorithm, key.map(AsRef::as_ref))) {
            Ok(self.token)
        } else {
            Err(Refusal::Signature)
        }
    }
}

/// Omits the token.
impl fmt::Debug for SignedToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedToken").field("kid", &self.header.kid).finish_non_exhaustive()
    }
}

/// An access token that was found good, by its claims (RFC 9068, 2.2) or its introspection (RFC
/// 7662, 2.2).
#[derive(Clone, Copy, Debug)]
pub struct AccessToken<'m> {
    /// Whose token it is.
    pub subject: Subject<'m>,
    /// The scope.
    pub scope: Option<JsonStr<'m>>,
    /// When it expires (`exp`).
    pub expires: Option<UnixTime>,
    /// When it is no longer accepted, which is later as clocks differ.
    pub until: Option<UnixTime>,
    /// Thumbprint of the key to which it is bound (RFC 9449, 6.1).
    pub jkt: Option<JsonStr<'m>>,
    /// All claims. Nothing else of them is checked.
    pub claims: RawJson<'m>,
}

impl<'m> AccessToken<'m> {
    fn read(
        claims: RawJson<'m>,
        subject: Option<Subject<'m>>,
        until: Option<UnixTime>,
    ) -> Result<Self, Refusal> {
        let subject = subject.filter(|subject| !subject.text.inner().is_empty());
        let subject = subject.ok_or(Refusal::Subject)?;
        let scope = text(claims, "scope")?;
        // A binding of another kind, for example to a certificate, cannot be checked here.
        let jkt = match claims.get("cnf") {
            None => None,
            Some(cnf) => {
                let jkt = cnf.get("jkt").and_then(string);
                let is_alone = cnf.members().count() == 1;
                Some(jkt.filter(|_| is_alone).ok_or(Refusal::Bound)?)
            }
        };
        Ok(Self { subject, scope, expires: time(claims, "exp")?, until, jkt, claims })
    }
}

/// Whose token it is. Its `Display` output is the `sub` of a JWT. Of an introspection it also says
/// whether it is a user or a program: it is `sub`, and without one `client:` and the `client_id`. A
/// `sub` that begins with `client:` or `sub:` gets another `sub:` in front, so that no user is a
/// program.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'m> {
    prefix: &'static str,
    text: JsonStr<'m>,
}

impl<'m> Subject<'m> {
    const fn new(text: JsonStr<'m>) -> Self {
        Self { prefix: "", text }
    }

    fn of_user_or_program(answer: RawJson<'m>) -> Result<Option<Self>, Refusal> {
        const CLIENT: &str = "client:";
        const USER: &str = "sub:";
        let Some(text) = text(answer, "sub")? else {
            let client = text(answer, "client_id")?;
            return Ok(client.map(|text| Self { prefix: CLIENT, text }));
        };
        let begins = |prefix: &str| {
            let mut chars = text.chars();
            prefix.chars().all(|c| chars.next() == Some(c))
        };
        let prefix = if begins(CLIENT) || begins(USER) { USER } else { "" };
        Ok(Some(Self { prefix, text }))
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix)?;
        fmt::Display::fmt(&self.text, f)
    }
}

/// Checks the times of a token. Returns when it is no longer accepted, if it says so.
fn check_times(claims: RawJson<'_>, now: UnixTime) -> Result<Option<UnixTime>, Refusal> {
    let until = time(claims, "exp")?.map(|expires| later(expires, SKEW));
    if until.is_some_and(|until| until <= now) {
        return Err(Refusal::Expired);
    }
    if time(claims, "nbf")?.is_some_and(|begins| begins > later(now, SKEW)) {
        return Err(Refusal::NotYet);
    }
    Ok(until)
}

/// Returns the time that is this many seconds later.
pub(super) const fn later(time: UnixTime, seconds: u64) -> UnixTime {
    UnixTime::from_secs(time.as_secs().saturating_add(seconds))
}

/// Reads a time in seconds since 1970, which may have a fraction (RFC 7519, 2).
pub(super) fn time(claims: RawJson<'_>, name: &str) -> Result<Option<UnixTime>, Refusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| (0.0..=LAST_SECOND).contains(seconds));
    // The fraction is dropped.
    let time = seconds.map(|seconds| UnixTime::from_secs(seconds as u64));
    time.map(Some).ok_or(Refusal::Malformed)
}

/// Reads a string.
pub(super) fn text<'j>(claims: RawJson<'j>, name: &str) -> Result<Option<JsonStr<'j>>, Refusal> {
    claims.get(name).map(|value| string(value).ok_or(Refusal::Malformed)).transpose()
}

/// Returns a string that is text: others that differ would be the same user.
fn string(value: RawJson<'_>) -> Option<JsonStr<'_>> {
    value.as_string().filter(|text| text.is_well_formed())
}

/// Reason why a token is refused. It does not quote the token; its `Display` output is the text for
/// developers in a challenge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// It is longer than 16 KiB, or than half of the memory.
    TooLong,
    /// It is no JWT, or a claim has a wrong type or value, or occurs twice.
    Malformed,
    /// It has `crit`.
    Critical,
    /// The signature algorithm is not allowed.
    Algorithm,
    /// It is no access token.
    Type,
    /// The key is unknown.
    Key,
    /// The signature is invalid.
    Signature,
    /// The issuer is another one.
    Issuer,
    /// It was issued for another server.
    Audience,
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYet,
    /// It has no subject.
    Subject,
    /// It is not active.
    Inactive,
    /// The token is bound to a key, and there is no proof of it; or to something else.
    Bound,
    /// The token comes with a proof of a key, to which it is not bound.
    Unbound,
    /// Proofs are not checked here.
    Scheme,
    /// Bearer tokens are refused here.
    Bearer,
    /// Keys or introspection cannot be reached.
    Unavailable,
}

impl Refusal {
    /// Returns the text for developers.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::TooLong => "the token is longer than 16 KiB",
            Self::Malformed => "the token is malformed",
            Self::Critical => "there is an unknown critical extension",
            Self::Algorithm => "the signature algorithm is not allowed",
            Self::Type => "the token is no access token",
            Self::Key => "the token is signed with an unknown key",
            Self::Signature => "the signature is invalid",
            Self::Issuer => "the token has another issuer",
            Self::Audience => "the token was issued for another server",
            Self::Expired => "the token has expired",
            Self::NotYet => "the token is not valid yet",
            Self::Subject => "the token has no subject",
            Self::Inactive => "the token is not active",
            Self::Bound => "the token is bound to a key, whose proof is missing",
            Self::Unbound => "the token is not bound to a key",
            Self::Scheme => "tokens are accepted as bearer tokens only",
            Self::Bearer => "the token must be bound to a key",
            Self::Unavailable => "the authorization server cannot be reached",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description())
    }
}

impl core::error::Error for Refusal {}

/// Types of tokens: that of RFC 9068, and what many servers say instead. An ID token of OpenID
/// Connect is a `JWT`, too, but its audience is a client.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "JWT"];
/// The clocks of two machines may differ by this many seconds.
const SKEW: u64 = 60;
/// The end of the year 9999.
const LAST_SECOND: f64 = 253_402_300_799.0;
