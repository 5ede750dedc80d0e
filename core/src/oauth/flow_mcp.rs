//! Requests to the MCP server: their fields, and what its challenges lead to.

use core::fmt;

use super::arena::{Key, NoRoom, Tag};
use super::dpop::{Proof, put_proof};
use super::failure::Reason;
use super::flow_token::DPOP;
use super::scope;
use super::state::{Authorization, Phase, StepUp};
use super::step::{Attempts, NotReady, Reaction};
use super::unix_time::UnixTime;
use super::url::Url;
use super::writer::write_to;
use crate::bytes::split;
use crate::http::ResponseHead;
use crate::http::client::{Challenge, challenges};

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
    #[must_use]
    pub fn generation(&self) -> u32 {
        if self.has_token() { self.flow.generation } else { 0 }
    }

    /// Returns the scope of the access token, as the authorization server wrote it: that of its
    /// answer, else the one that was asked for (RFC 6749, 5.1). `None` if it is not known.
    #[must_use]
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
        self.keep_nonce_as(Tag::ResourceNonce.into(), head);
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
            return attempts.take_again();
        }
        if error == Some("use_dpop_nonce") && !is_step_up {
            let has_nonce = self.setup.dpop.is_some() && self.arena.has(Tag::ResourceNonce);
            return if has_nonce && !core::mem::replace(&mut attempts.nonce, true) {
                Reaction::SendAgain
            } else {
                Reaction::Report
            };
        }
        if self.flow.phase.is_running() {
            return attempts.take_again().and(Reaction::Authorize);
        }
        let count = if is_step_up { &mut attempts.forbidden } else { &mut attempts.unauthorized };
        if *count >= MAX_ATTEMPTS {
            return Reaction::Report;
        }
        *count += 1;
        if is_step_up { self.begin_step_up(challenge) } else { self.begin_challenged(challenge) }
    }

    /// Returns the challenge to be met: one for proofs if there is a key for it, else `Bearer`.
    fn challenge_of<'h>(&self, head: &ResponseHead<'h>) -> Option<Challenge<'h>> {
        let of = |scheme: &str| {
            challenges(head).find(|challenge| challenge.scheme.eq_ignore_ascii_case(scheme))
        };
        let (first, second) =
            if self.setup.dpop.is_some() { (DPOP, "Bearer") } else { ("Bearer", DPOP) };
        of(first).or_else(|| of(second))
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
    /// for before. One that was asked for and, as the authorization server says, not granted ends
    /// it. Where the server does not say what it granted, it is asked for once more.
    fn begin_step_up(&mut self, challenge: Option<Challenge<'_>>) -> Reaction {
        let wanted = challenge.and_then(|challenge| challenge.get("scope"));
        let narrow = self.setup.scope;
        let Some(wanted) = wanted.filter(|wanted| {
            scope::is_valid(wanted)
                && scope::tokens(wanted)
                    .any(|token| narrow.is_none_or(|narrow| scope::contains(narrow, token)))
        }) else {
            return Reaction::Report;
        };
        if self.flow.tokens > 0
            && let Some(missing) = scope::tokens(wanted).find(|token| self.is_refused(token))
        {
            return self.end_ungranted(missing);
        }
        if self.flow.tokens == 0 || self.flow.count_step_up(scope_hash(wanted)).is_none() {
            return Reaction::Report;
        }
        self.restart(Phase::Server);
        self.flow.issuer = self.flow.tokens;
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
        // Without room the error says less.
        let _ = self.arena.copy(Tag::Issuer.of(number), Tag::FailureUrl);
        let _ = self.arena.write(Tag::FailureAnswer, |entries, out| {
            let granted = entries.get(Tag::GrantedScope.of(number)).unwrap_or_default();
            for (before, text) in [("it gave `", granted), ("` and not `", missing)] {
                out.put(before);
                text.chars().take(MAX_SHOWN_SCOPE).for_each(|c| write_to(out, c));
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

    /// Keeps the nonce of a server to which this phase sends a request.
    pub(super) fn keep_nonce(&mut self, head: &ResponseHead<'_>) {
        match self.flow.phase {
            Phase::Token | Phase::Refresh => {
                self.keep_nonce_as(Tag::ServerNonce.of(self.flow.issuer), head);
            }
            _ => {}
        }
    }

    fn keep_nonce_as(&mut self, key: Key, head: &ResponseHead<'_>) {
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
            let _ = self.arena.set(key, nonce);
        }
    }
}

impl Attempts {
    /// Creates the attempts of a request that was not sent yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { unauthorized: 0, forbidden: 0, again: 0, nonce: false }
    }

    fn take_again(&mut self) -> Reaction {
        if self.again >= MAX_AGAIN {
            return Reaction::Report;
        }
        self.again += 1;
        Reaction::SendAgain
    }
}

impl Reaction {
    fn and(self, other: Self) -> Self {
        if self == Self::Report { self } else { other }
    }
}

impl super::state::Flow {
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
