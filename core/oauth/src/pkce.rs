//! Proof key for code exchange (RFC 7636), method S256.

use super::arena::{Writer, put_base64url};
use mcp_sansio::internal::sha256;

/// Writes the challenge of a verifier: 43 characters. A verifier is random bytes, 32 or more, in
/// [base64url](super::put_base64url).
pub fn put_challenge(verifier: &str, out: &mut Writer<'_>) {
    put_base64url(&sha256(verifier.as_bytes()), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auth_52_auth_54_the_challenge_is_that_of_rfc_7636() {
        // Appendix B.
        let random = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212,
            37, 77, 105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
        ];
        let mut memory = [0; 43];
        let mut verifier = Writer::new(&mut memory);
        put_base64url(&random, &mut verifier);
        let verifier = verifier.finish().unwrap();
        assert_eq!(verifier, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        let mut memory = [0; 43];
        let mut challenge = Writer::new(&mut memory);
        put_challenge(verifier, &mut challenge);
        assert_eq!(challenge.finish(), Ok("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
    }
}
