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
        let memory = &mut Memory::new(memory);
        let jws = Jws::parse(token, memory)?;
        let header = jws.header(memory)?;
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

// Omits the token.
mcp_sansio::opaque_debug!(SignedToken<'_> |it| { kid: it.header.kid });

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
#[derive(Clone, Copy, PartialEq, Eq)]
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

mcp_sansio::error_type!(Refusal => |it| it.description());

/// Types of tokens: that of RFC 9068, and what many servers say instead. An ID token of OpenID
/// Connect is a `JWT`, too, but its audience is a client.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "JWT"];
/// The clocks of two machines may differ by this many seconds.
const SKEW: u64 = 60;
/// The end of the year 9999.
const LAST_SECOND: f64 = 253_402_300_799.0;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::borrow::ToOwned as _;
    use std::string::{String, ToString as _};
    use std::vec::Vec;
    use std::{format, vec};

    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;
    use crate::jwk::KeySetError;
    use crate::jws::MAX_TOKEN;

    const ISSUER: &str = "https://auth.example.com";
    const AUDIENCE: &str = "https://mcp.example.com/mcp";
    const RULES: TokenRules<'_> = TokenRules::new(ISSUER, AUDIENCE);
    const NOW: u64 = 1_800_000_000;
    const HEADER: &str = r#"{"typ":"at+jwt","alg":"ES256","kid":"ES256"}"#;
    /// RFC 7515, A.3.
    const P256: &str = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
    /// RFC 8037, A.2.
    const ED25519: &str =
        r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

    /// Claims that are accepted, for an hour, with others beside them.
    fn claims(others: &str) -> String {
        let exp = NOW + 3600;
        format!(r#"{{"iss":"{ISSUER}","aud":"{AUDIENCE}","sub":"ada","exp":{exp}{others}}}"#)
    }

    fn set(keys: &[String]) -> String {
        format!(r#"{{"keys":[{}]}}"#, keys.join(","))
    }

    /// A key for each algorithm, which is its id.
    fn keys() -> String {
        let n = URL_SAFE_NO_PAD.encode([0xc0; 256]);
        let rsa = format!(r#"{{"kty":"RSA","e":"AQAB","n":"{n}"}}"#);
        let keys = [("RS256", &*rsa), ("PS256", &*rsa), ("ES256", P256), ("EdDSA", ED25519)];
        set(&keys.map(|(kid, key)| key.replacen('{', &format!(r#"{{"kid":"{kid}","#), 1)))
    }

    /// Makes a token whose signature counts as valid.
    fn token(header: &str, claims: &str) -> String {
        [header, claims, "signed"].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".")
    }

    fn verify(rules: TokenRules<'_>, set: &str, token: &str) -> Result<(), Refusal> {
        let (mut memory, mut key_memory) = (vec![0; 2 * token.len()], vec![0; 2 * set.len()]);
        let signed = rules.check_jwt(token, UnixTime::from_secs(NOW), &mut memory)?;
        let mut keys = Vec::new();
        let _ = Jwk::read_set(set.as_bytes(), &mut key_memory, |jwk| keys.push(jwk));
        signed.verify(&keys, |signature| signature.signature == b"signed").map(|_| ())
    }

    fn check(header: &str, claims: &str) -> Result<(), Refusal> {
        verify(RULES, &keys(), &token(header, claims))
    }

    fn number_of_keys(set: &str) -> Result<usize, KeySetError> {
        let mut count = 0;
        Jwk::read_set(set.as_bytes(), &mut vec![0; 2 * set.len()], |_| count += 1).map(|()| count)
    }

    #[test]
    fn auth_154_auth_144_a_token_is_refused_for_its_claims() {
        let good = claims("");
        let replaced = |what: &str, by: &str| {
            let claims = good.replacen(what, by, 1);
            assert_ne!(claims, good, "{what}");
            claims
        };
        let iss = format!(r#""iss":"{ISSUER}""#);
        let aud = format!(r#""aud":"{AUDIENCE}""#);
        let exp = format!(r#""exp":{}"#, NOW + 3600);
        let cases = [
            (replaced(&iss, r#""x":1"#), Refusal::Issuer),
            (replaced(&iss, r#""iss":"https://auth.example.com/""#), Refusal::Issuer),
            (replaced(&iss, r#""iss":"https://AUTH.example.com""#), Refusal::Issuer),
            (replaced(&iss, r#""iss":"https://auth.example.com.evil.example""#), Refusal::Issuer),
            (replaced(&iss, &format!(r#""iss":["{ISSUER}"]"#)), Refusal::Issuer),
            (replaced(&aud, r#""x":1"#), Refusal::Audience),
            (replaced(&aud, r#""aud":"https://mcp.example.com""#), Refusal::Audience),
            (replaced(&aud, r#""aud":"https://mcp.example.com/mcp-evil""#), Refusal::Audience),
            (replaced(&aud, r#""aud":"https://mcp.example.com/mcp/""#), Refusal::Audience),
            (replaced(&aud, r#""aud":"https://mcp.example.com/mc""#), Refusal::Audience),
            (replaced(&aud, r#""aud":[]"#), Refusal::Audience),
            (replaced(&aud, &format!(r#""aud":["{AUDIENCE}",1]"#)), Refusal::Audience),
            (replaced(&aud, &format!(r#""aud":{{"a":"{AUDIENCE}"}}"#)), Refusal::Audience),
            (replaced(&exp, r#""x":1"#), Refusal::Malformed),
            (replaced(&exp, r#""exp":"4000000000""#), Refusal::Malformed),
            (replaced(&exp, r#""exp":null"#), Refusal::Malformed),
            (replaced(&exp, r#""exp":-1"#), Refusal::Malformed),
            (replaced(&exp, r#""exp":1e400"#), Refusal::Malformed),
            (replaced(&exp, r#""exp":18446744073709551616"#), Refusal::Malformed),
            (replaced(&exp, r#""exp":253402300800"#), Refusal::Malformed),
            (replaced(&exp, r#""exp":1"#), Refusal::Expired),
            (replaced(&exp, &format!(r#""exp":{}.9"#, NOW - 60)), Refusal::Expired),
            (claims(&format!(r#","nbf":{}"#, NOW + 61)), Refusal::NotYet),
            (claims(r#","nbf":"soon""#), Refusal::Malformed),
            (replaced(r#""sub":"ada""#, r#""x":1"#), Refusal::Subject),
            (replaced(r#""sub":"ada""#, r#""sub":"""#), Refusal::Subject),
            (replaced(r#""sub":"ada""#, r#""sub":7"#), Refusal::Malformed),
            // Others might read the second of them.
            (claims(&format!(r#","aud":"{AUDIENCE}""#)), Refusal::Malformed),
            (claims(r#","\u0073ub":"root""#), Refusal::Malformed),
            (claims(r#","scope":["a"]"#), Refusal::Malformed),
            (claims(r#","cnf":{"x5t#S256":"x"}"#), Refusal::Bound),
            (claims(r#","cnf":{"jkt":"x","x5t#S256":"x"}"#), Refusal::Bound),
            ("[]".to_owned(), Refusal::Malformed),
            (format!("{good} x"), Refusal::Malformed),
        ];
        for (claims, why) in cases {
            assert_eq!(check(HEADER, &claims).err(), Some(why), "{claims}");
        }
        let late = replaced(&exp, &format!(r#""exp":{}"#, NOW - 59));
        let early = claims(&format!(r#","nbf":{}"#, NOW + 60));
        for claims in [late, early] {
            assert_eq!(check(HEADER, &claims), Ok(()), "{claims}");
        }
    }

    #[test]
    fn auth_154_a_token_is_refused_for_its_header() {
        let own = format!(r#""jwk":{ED25519}"#);
        let cases = [
            (r#"{"typ":"at+jwt","alg":"none"}"#.to_owned(), Refusal::Algorithm),
            (r#"{"typ":"at+jwt","alg":"None"}"#.to_owned(), Refusal::Algorithm),
            (r#"{"typ":"at+jwt","alg":"HS256","kid":"RS256"}"#.to_owned(), Refusal::Algorithm),
            (r#"{"typ":"at+jwt","alg":"es256","kid":"ES256"}"#.to_owned(), Refusal::Algorithm),
            (r#"{"typ":"at+jwt","alg":["ES256"]}"#.to_owned(), Refusal::Malformed),
            (r#"{"typ":"at+jwt","kid":"ES256"}"#.to_owned(), Refusal::Malformed),
            (r#"{"alg":"ES256","kid":"ES256"}"#.to_owned(), Refusal::Type),
            (r#"{"typ":"dpop+jwt","alg":"ES256","kid":"ES256"}"#.to_owned(), Refusal::Type),
            (r#"{"typ":"at+jwt","alg":"ES256","kid":"ES256","crit":[]}"#.to_owned(), Refusal::Critical),
            (
                r#"{"typ":"at+jwt","alg":"ES256","kid":"ES256","crit":["b64"],"b64":false}"#.to_owned(),
                Refusal::Critical,
            ),
            (r#"{"typ":"at+jwt","alg":"ES256","alg":"none","kid":"ES256"}"#.to_owned(), Refusal::Malformed),
            (format!(r#"{{"typ":"at+jwt","alg":"ES256","kid":"{}"}}"#, "x".repeat(257)), Refusal::Malformed),
            // A key id is a name, neither a path nor a query, and says nothing about another key.
            (r#"{"typ":"at+jwt","alg":"ES256","kid":"../../dev/null"}"#.to_owned(), Refusal::Key),
            (r#"{"typ":"at+jwt","alg":"ES256","kid":"x' OR '1'='1"}"#.to_owned(), Refusal::Key),
            (r#"{"typ":"at+jwt","alg":"ES256","kid":"RS256"}"#.to_owned(), Refusal::Key),
            (r#"{"typ":"at+jwt","alg":"ES256","kid":"https://evil.example/key"}"#.to_owned(), Refusal::Key),
            // Keys that a token brings along are ignored.
            (format!(r#"{{"typ":"at+jwt","alg":"EdDSA","kid":"x",{own}}}"#), Refusal::Key),
            (
                r#"{"typ":"at+jwt","alg":"EdDSA","kid":"x","jku":"https://evil.example/jwks"}"#.to_owned(),
                Refusal::Key,
            ),
            (
                r#"{"typ":"at+jwt","alg":"EdDSA","kid":"x","x5u":"https://evil.example/x","x5c":["x"]}"#
                    .to_owned(),
                Refusal::Key,
            ),
        ];
        for (header, why) in cases {
            assert_eq!(check(&header, &claims("")), Err(why), "{header}");
        }
    }

    #[test]
    fn r3_a5_a_token_with_half_a_surrogate_pair_is_refused() {
        // Half a pair is read as U+FFFD, which is in the names of this server.
        let rules = TokenRules::new("i\u{fffd}", "a\u{fffd}");
        let exp = NOW + 3600;
        let refused = |iss: &str, aud: &str, sub: &str, scope: &str| {
            let claims = format!(
                r#"{{"iss":"{iss}","aud":{aud},"sub":"{sub}","scope":"{scope}","exp":{exp}}}"#
            );
            verify(rules, &keys(), &token(HEADER, &claims)).err()
        };
        let aud = r#""a\ufffd""#;
        assert_eq!(refused(r"i\ufffd", aud, r"ada\uFFFD\ud83d\ude00", "a"), None);
        assert_eq!(refused("i\u{fffd}", aud, "ada\u{fffd}", "a"), None);
        for (refused, why) in [
            (refused(r"i\ud800", aud, "ada", "a"), Refusal::Issuer),
            (refused(r"i\ufffd", r#""a\udfff""#, "ada", "a"), Refusal::Audience),
            (refused(r"i\ufffd", r#"["a\ufffd","\ud800"]"#, "ada", "a"), Refusal::Audience),
            (refused(r"i\ufffd", aud, r"ada\ud800", "a"), Refusal::Malformed),
            (refused(r"i\ufffd", aud, r"\ud800\ud800\udc00", "a"), Refusal::Malformed),
            (refused(r"i\ufffd", aud, "ada", r"a \udbff"), Refusal::Malformed),
        ] {
            assert_eq!(refused, Some(why));
        }
    }

    #[test]
    fn auth_154_an_audience_is_one_of_several_and_a_type_is_one_of_three() {
        let aud = format!(r#""aud":["https://other.example","{AUDIENCE}"]"#);
        let several = claims("").replace(&format!(r#""aud":"{AUDIENCE}""#), &aud);
        // PHP writes `/` with an escape.
        for typ in
            ["at+jwt", "AT+JWT", "application/at+jwt", r"application\/at+jwt", "JWT", r"\u006awt"]
        {
            assert_eq!(check(&HEADER.replace("at+jwt", typ), &several), Ok(()), "{typ}");
        }
        let keys = keys().replace("ES256", "a/b");
        let header = HEADER.replace(r#""kid":"ES256""#, r#""kid":"a\/b""#);
        assert_eq!(verify(RULES, &keys, &token(&header, &several)), Ok(()));
    }

    #[test]
    fn auth_154_eddsa_on_ed25519_has_two_names() {
        for (of_key, of_token, is_good) in [
            ("EdDSA", "Ed25519", true),
            ("Ed25519", "EdDSA", true),
            ("Ed25519", "Ed25519", true),
            ("Ed448", "Ed25519", false),
            ("Ed25519", "Ed448", false),
        ] {
            let key = ED25519.replacen('{', &format!(r#"{{"alg":"{of_key}","#), 1);
            let header = format!(r#"{{"typ":"at+jwt","alg":"{of_token}"}}"#);
            let verified = verify(RULES, &set(&[key]), &token(&header, &claims("")));
            assert_eq!(verified.is_ok(), is_good, "{of_key} {of_token}");
        }
    }

    #[test]
    fn auth_154_keys_that_are_not_for_signatures_are_ignored() {
        let with = |member: &str| set(&[P256.replacen('{', &format!("{{{member},"), 1)]);
        for ignored in [
            r#""use":"enc""#,
            r#""key_ops":["sign"]"#,
            r#""alg":"ES384""#,
            r#""alg":"HS256""#,
            r#""alg":7"#,
            r#""kid":7"#,
        ] {
            assert_eq!(number_of_keys(&with(ignored)), Err(KeySetError::NoKey), "{ignored}");
        }
        for used in [r#""use":"sig""#, r#""key_ops":["verify"]"#, r#""alg":"ES256""#, r#""x5c":[]"#]
        {
            assert_eq!(number_of_keys(&with(used)), Ok(1), "{used}");
        }
        for bad in [
            r#"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#,
            r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#,
            r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#,
            r#"{"kty":"OKP","crv":"X25519","x":"AA"}"#,
            r#"{"kty":"oct","k":"AA"}"#,
            "7",
        ] {
            let set = set(&[bad.to_owned()]);
            assert_eq!(number_of_keys(&set), Err(KeySetError::NoKey), "{bad}");
        }
        // Others in the set are used all the same, at most 100.
        assert_eq!(number_of_keys(&set(&["7".into(), P256.into(), ED25519.into()])), Ok(2));
        assert_eq!(number_of_keys(&set(&vec![P256.into(); 101])), Ok(100));
        for bad in ["", "[]", "{}", r#"{"keys":{}}"#, &with(r#""kid":"a","kid":"b""#)] {
            assert_eq!(number_of_keys(bad), Err(KeySetError::NotASet), "{bad}");
        }
    }

    #[test]
    fn auth_154_a_signature_that_is_not_valid_is_refused() {
        let good = token(HEADER, &claims(""));
        assert_eq!(verify(RULES, &keys(), &good), Ok(()));
        let (signed, _) = good.rsplit_once('.').unwrap();
        assert_eq!(verify(RULES, &keys(), &format!("{signed}.AAAA")), Err(Refusal::Signature));
        let other = RULES.algorithms(&[Algorithm::EdDsa]);
        assert_eq!(verify(other, &keys(), &good), Err(Refusal::Algorithm));
    }

    #[test]
    fn auth_154_the_memory_is_twice_as_long_as_the_text() {
        // Of all texts these need the most: every member takes five bytes.
        let deep = (0..60).fold("{}".to_owned(), |inner, _| format!(r#"{{"":{inner}}}"#));
        let claims = format!(r#"{{"":[{}]}}"#, vec![deep; 38].join(","));
        let long = token(r#"{"alg":"ES256","typ":"JWT"}"#, &claims);
        assert_eq!(verify(RULES, &keys(), &long), Err(Refusal::Issuer));
        let now = UnixTime::from_secs(NOW);
        for len in [0, 1, long.len(), 2 * long.len() - 1] {
            let refused = RULES.check_jwt(&long, now, &mut vec![0; len]).unwrap_err();
            assert_eq!(refused, Refusal::TooLong);
        }
        for huge in ["A".repeat(MAX_TOKEN + 1), format!("{}.A.A", "A".repeat(MAX_TOKEN))] {
            assert_eq!(verify(RULES, "", &huge), Err(Refusal::TooLong));
        }
    }

    #[test]
    fn r3_a6_auth_154_members_of_any_object_have_different_names() {
        for json in [
            r#"{"a":1,"b":2}"#,
            r#"{"a":{"a":{"a":1}},"b":["a",{"a":1},{"a":1}]}"#,
            r#"{"a\"":1,"a\\":2,"a":"b","b":"a" , "c" : ":"}"#,
            r#"{"":1,"\u0000":2}"#,
        ] {
            let mut memory = vec![0; 2 * json.len()];
            assert!(object(json, &mut memory).is_some(), "{json}");
        }
        for json in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"b":2,"c":3,"\u0061" :4}"#,
            r#"{"a":[{"b":1,"c":{},"b":2}]}"#,
            r#"{"a":{"c":1},"b":{"c":1,"d":2},"a":1}"#,
            r#"{"\ud800":1,"\udfff":2}"#,
        ] {
            let mut memory = vec![0; 2 * json.len()];
            assert!(object(json, &mut memory).is_none(), "{json}");
        }
        assert!(object("[]", &mut [0; 8]).is_none() && object("7", &mut [0; 8]).is_none());
        assert!(object(r#"{"":0}"#, &mut [0; 7]).is_none(), "no memory");
    }

    #[test]
    fn r3_a5_auth_155_auth_144_a_token_is_refused_for_what_the_answer_says_of_it() {
        let read = |rules: TokenRules<'_>, answer: &str| {
            let mut memory = vec![0; 2 * answer.len()];
            let now = UnixTime::from_secs(NOW);
            let token = rules.check_introspection(answer.as_bytes(), now, &mut memory)?;
            Ok((token.subject.to_string(), token.expires.map(UnixTime::as_secs)))
        };
        let active = |others: &str| format!(r#"{{"active":true,"aud":"{AUDIENCE}",{others}}}"#);
        let exp = format!(r#""sub":"ada","exp":{}"#, NOW - 59);
        assert_eq!(read(RULES, &active(&exp)), Ok(("ada".to_owned(), Some(NOW - 59))));
        for (answer, why) in [
            (r#"{"active":false,"sub":"ada"}"#.to_owned(), Refusal::Inactive),
            (r#"{"active":true,"sub":"ada"}"#.to_owned(), Refusal::Audience),
            (active(r#""client_id":"""#), Refusal::Subject),
            (active(r#""sub":"ada","iss":"https://auth.example.com/""#), Refusal::Issuer),
            (active(r#""sub":"ada","exp":1"#), Refusal::Expired),
            (active(r#""sub":"ada","exp":"never""#), Refusal::Malformed),
            (active(r#""sub":"ada\udc00\ud800""#), Refusal::Malformed),
            (active(r#""client_id":"bot\ud800""#), Refusal::Malformed),
            (active(r#""sub":"ada","cnf":{"x5t#S256":"x"}"#), Refusal::Bound),
            (active(r#""sub":"ada","active":true"#), Refusal::Unavailable),
            (r#"{"active":"true"}"#.to_owned(), Refusal::Unavailable),
            ("<html>".to_owned(), Refusal::Unavailable),
        ] {
            assert_eq!(read(RULES, &answer), Err(why), "{answer}");
        }
        let lenient = RULES.demands_audience(false);
        let program = r#"{"active":true,"client_id":"x"}"#;
        assert_eq!(read(lenient, program), Ok(("client:x".to_owned(), None)));
        for (sub, expected) in [
            ("bot", "bot"),
            ("Client:bot", "Client:bot"),
            ("client:bot", "sub:client:bot"),
            ("sub:", "sub:sub:"),
        ] {
            let answer = active(&format!(r#""sub":"{sub}","client_id":"x""#));
            assert_eq!(read(RULES, &answer).unwrap().0, expected);
        }
    }
}
