//! Keys of the RFCs, and signatures under them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_sansio::RawJson;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPairComponents, PublicKeyComponents};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
};

use crate::asynchronous::http::tokens::Algorithm;

/// RFC 7515, A.2.
pub(crate) const RSA: &str = r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#;
const RSA_PRIVATE: &str = r#"{"d":"Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ","p":"4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc","q":"uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc","dp":"BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-FOKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0","dq":"h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU","qi":"IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U"}"#;
/// RFC 7515, A.3.
pub(crate) const P256: &str = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
const P256_PRIVATE: &str = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI";
/// RFC 8037, A.2.
pub(crate) const ED25519: &str =
    r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
const ED25519_PRIVATE: &str = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";

/// Returns the public key of an algorithm.
pub(crate) const fn public(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Rs256 | Algorithm::Ps256 => RSA,
        Algorithm::Es256 => P256,
        _ => ED25519,
    }
}

/// Returns the public key with a `kid`.
pub(crate) fn named(algorithm: Algorithm, kid: &str) -> String {
    public(algorithm).replacen('{', &format!(r#"{{"kid":"{kid}","#), 1)
}

/// Returns a set of keys.
pub(crate) fn set(keys: &[String]) -> String {
    format!(r#"{{"keys":[{}]}}"#, keys.join(","))
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

fn member(key: &str, name: &str) -> Vec<u8> {
    let key = RawJson::parse(key).unwrap();
    decode(key.get(name).unwrap().as_string().unwrap().inner())
}

/// Signs a message with the private key of the RFC.
pub(crate) fn sign(algorithm: Algorithm, message: &[u8]) -> Vec<u8> {
    let random = SystemRandom::new();
    let with_rsa = |encoding: &'static dyn RsaEncoding| {
        let secret = |name| member(RSA_PRIVATE, name);
        let pair = RsaKeyPair::from_components(&KeyPairComponents {
            public_key: PublicKeyComponents { n: member(RSA, "n"), e: member(RSA, "e") },
            d: secret("d"),
            p: secret("p"),
            q: secret("q"),
            dP: secret("dp"),
            dQ: secret("dq"),
            qInv: secret("qi"),
        });
        let mut signature = vec![0; 256];
        pair.unwrap().sign(encoding, &random, message, &mut signature).unwrap();
        signature
    };
    match algorithm {
        Algorithm::Rs256 => with_rsa(&RSA_PKCS1_SHA256),
        Algorithm::Ps256 => with_rsa(&RSA_PSS_SHA256),
        Algorithm::Es256 => {
            let point = [vec![4], member(P256, "x"), member(P256, "y")].concat();
            let pair = EcdsaKeyPair::from_private_key_and_public_key(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                &decode(P256_PRIVATE),
                &point,
                &random,
            );
            pair.unwrap().sign(&random, message).unwrap().as_ref().to_vec()
        }
        _ => {
            let (seed, public) = (decode(ED25519_PRIVATE), member(ED25519, "x"));
            let pair = Ed25519KeyPair::from_seed_and_public_key(&seed, &public).unwrap();
            pair.sign(message).as_ref().to_vec()
        }
    }
}

/// Makes a token from its header and claims, both as JSON.
pub(crate) fn token(algorithm: Algorithm, header: &str, claims: &str) -> String {
    let signed = format!("{}.{}", encode(header), encode(claims));
    let signature = encode(sign(algorithm, signed.as_bytes()));
    format!("{signed}.{signature}")
}
