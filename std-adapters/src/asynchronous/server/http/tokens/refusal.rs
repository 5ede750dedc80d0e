//! Refusals of tokens.

/// Reason why a token is refused. It does not quote the token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    TooLong,
    Malformed,
    Critical,
    Algorithm,
    Type,
    Key,
    Signature,
    Issuer,
    Audience,
    Expired,
    NotYet,
    Subject,
    Inactive,
    /// The token is bound to a key, and there is no proof of it.
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
    pub(super) const fn description(self) -> &'static str {
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
