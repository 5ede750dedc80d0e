//! What a client keeps for us between two attempts (2026-07-28, `requestState`), signed so that
//! nobody can change it.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};

use hmac::{Hmac, KeyInit as _, Mac as _};
use mcp_sansio::{Method, Request, methods};
use mcp_sansio_adapters::asynchronous::StateProtector;
use sha2::Sha256;

/// A key that lives as long as the process. Nobody else's signature, and none of an earlier
/// process, fits.
pub(super) struct Signature([u8; 64]);

impl Default for Signature {
    fn default() -> Self {
        // The standard library has no other randomness: 128 bits of the operating system's are
        // behind it. A server that must recognize its states after a restart, or in several
        // processes, reads its key from its configuration.
        let random = RandomState::new();
        let mut key = [0; 64];
        for (index, part) in key.chunks_exact_mut(8).enumerate() {
            part.copy_from_slice(&random.hash_one(index).to_ne_bytes());
        }
        Self(key)
    }
}

impl Signature {
    /// The text with its signature, which is worth something only for the same `purpose`.
    fn sign(&self, purpose: &str, text: &str) -> String {
        let mut sealed = format!("{text}.");
        for byte in self.signature(purpose, text).finalize().into_bytes() {
            let _ = write!(sealed, "{byte:02x}");
        }
        sealed
    }

    /// The text, if it was closed here and for this `purpose`.
    fn verify<'s>(&self, purpose: &str, sealed: &'s str) -> Option<&'s str> {
        let (text, signature) = sealed.rsplit_once('.')?;
        let signature = from_hex(signature)?;
        // In constant time: how long a refusal takes must not say how much was right.
        self.signature(purpose, text).verify_slice(&signature).is_ok().then_some(text)
    }

    fn signature(&self, purpose: &str, text: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new((&self.0).into());
        // The length keeps the two apart: without it, text could pass for a part of the purpose.
        mac.update(&(purpose.len() as u64).to_be_bytes());
        mac.update(purpose.as_bytes());
        mac.update(text.as_bytes());
        mac
    }
}

impl StateProtector for Signature {
    fn protect(&self, request: &Request<'_>, state: &str) -> String {
        self.sign(&purpose(request), state)
    }

    fn unprotect(&self, request: &Request<'_>, sealed: &str) -> Option<String> {
        self.verify(&purpose(request), sealed).map(str::to_owned)
    }
}

/// What a state is worth something for: not for another tool, nor for a prompt of the same name.
/// Where more depends on it, the arguments, the client and an expiry belong in here too.
fn purpose(request: &Request<'_>) -> String {
    let method = if request.method == Method::ToolsCall {
        methods::TOOLS_CALL
    } else {
        methods::PROMPTS_GET
    };
    format!("{method} {}", request.name().map(|name| name.to_string()).unwrap_or_default())
}

/// Only lower case: there is one way to write a signature.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::Signature;

    #[test]
    fn a_state_opens_only_unchanged_for_its_purpose_and_under_its_key() {
        let signature = Signature::default();
        let sealed = signature.sign("tools/call a", "{}");
        assert_eq!(signature.verify("tools/call a", &sealed), Some("{}"));
        assert_eq!(signature.verify("tools/call b", &sealed), None);
        assert_eq!(Signature::default().verify("tools/call a", &sealed), None);
        for at in 0..sealed.len() {
            // The second makes another letter case.
            for bit in [1, 0x20] {
                let mut changed = sealed.clone().into_bytes();
                changed[at] ^= bit;
                assert_eq!(
                    signature.verify("tools/call a", &String::from_utf8(changed).unwrap()),
                    None,
                    "changed at {at}"
                );
            }
            assert_eq!(signature.verify("tools/call a", &sealed[..at]), None, "cut at {at}");
        }
    }
}
