//! Signs the state that the client returns with a repeated call (`requestState`, 2026-07-28), so
//! that it cannot be altered.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};

use hmac::{Hmac, KeyInit as _, Mac as _};
use mcp_sansio::{Method, Request, methods};
use mcp_sansio_adapters::asynchronous::StateProtector;
use sha2::Sha256;

/// A key that is generated at the start of the process, so states of earlier processes are
/// rejected.
pub(super) struct Signature([u8; 64]);

impl Default for Signature {
    fn default() -> Self {
        // `RandomState` is the only source of randomness in the standard library: 128 bits of the
        // operating system's. A server that must accept its states after a restart, or in several
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
    /// Returns the text with its signature, valid only for the same `purpose`.
    fn sign(&self, purpose: &str, text: &str) -> String {
        let mut sealed = format!("{text}.");
        for byte in self.signature(purpose, text).finalize().into_bytes() {
            let _ = write!(sealed, "{byte:02x}");
        }
        sealed
    }

    /// Returns the text if this key signed it for this `purpose`.
    fn verify<'s>(&self, purpose: &str, sealed: &'s str) -> Option<&'s str> {
        let (text, signature) = sealed.rsplit_once('.')?;
        let signature = from_hex(signature)?;
        // In constant time, so that the duration of a rejection reveals nothing.
        self.signature(purpose, text).verify_slice(&signature).is_ok().then_some(text)
    }

    fn signature(&self, purpose: &str, text: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new((&self.0).into());
        // The length separates the two: otherwise text could pass for a part of the purpose.
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

/// The use for which a state is valid: not for another tool, nor for a prompt of the same name.
/// Where more depends on it, include the arguments, the client and an expiry.
fn purpose(request: &Request<'_>) -> String {
    let method = if request.method == Method::ToolsCall {
        methods::TOOLS_CALL
    } else {
        methods::PROMPTS_GET
    };
    format!("{method} {}", request.name().map(|name| name.to_string()).unwrap_or_default())
}

/// Accepts lower case only, so that a signature has one spelling.
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
    fn a_state_is_valid_only_unchanged_for_its_purpose_and_key() {
        let signature = Signature::default();
        let sealed = signature.sign("tools/call a", "{}");
        assert_eq!(signature.verify("tools/call a", &sealed), Some("{}"));
        assert_eq!(signature.verify("tools/call b", &sealed), None);
        assert_eq!(Signature::default().verify("tools/call a", &sealed), None);
        for at in 0..sealed.len() {
            // The second flips the letter case.
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
