//! Private keys in PKCS#8 (RFC 5958), and PEM around them (RFC 7468, 10).

use super::arena::decode_base64url;
use super::setup::KeyError;
use pkcs8::{DecodePrivateKey, Error};
use zeroize::Zeroizing;

/// Reads a key in DER.
pub(super) fn from_der<K: DecodePrivateKey>(der: &[u8]) -> Result<K, KeyError> {
    K::from_pkcs8_der(der).map_err(|error| match error {
        Error::PublicKey(_) => KeyError::OtherAlgorithm,
        Error::KeyMalformed(_) => KeyError::Value,
        _ => KeyError::Encoding,
    })
}

/// Reads a key whose PEM begins with `-----BEGIN PRIVATE KEY-----`.
pub(super) fn from_pem<K: DecodePrivateKey>(pem: &str) -> Result<K, KeyError> {
    let body = pem.trim().strip_prefix("-----BEGIN PRIVATE KEY-----");
    let body = body.and_then(|body| body.strip_suffix("-----END PRIVATE KEY-----"));
    let digits = body.ok_or(KeyError::Encoding)?.bytes();
    let digits = digits.filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=');
    let mut text = Zeroizing::new([0; MAX_PEM]);
    let mut len = 0;
    for digit in digits {
        let place = text.get_mut(len).ok_or(KeyError::OtherAlgorithm)?;
        *place = match digit {
            b'+' => b'-',
            b'/' => b'_',
            b'-' | b'_' => return Err(KeyError::Encoding),
            digit => digit,
        };
        len += 1;
    }
    let text = text.get(..len).and_then(|text| core::str::from_utf8(text).ok());
    let mut der = Zeroizing::new([0; MAX_PEM]);
    let der = text.and_then(|text| decode_base64url(text, &mut *der));
    from_der(der.ok_or(KeyError::Encoding)?)
}

/// Maximum length of the Base64 text of a key; those of P-256 have 184 characters, and of the
/// algorithms with longer keys, none is read.
const MAX_PEM: usize = 512;

#[cfg(all(feature = "eddsa", feature = "es256"))]
#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;
    use std::string::ToString as _;

    use super::*;
    use crate::{Ed25519, Es256};

    #[test]
    fn a_key_of_another_algorithm_is_told_from_a_broken_one() {
        use KeyError::OtherAlgorithm;
        // openssl genpkey
        for (name, es256, eddsa, key) in [
            (
                "P-256",
                None,
                Some(OtherAlgorithm),
                "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJW3Mc8p4f9z4PNJfc3EqPsYLXxyKQ1zY\
             nVxbkWaoFGmhRANCAARdkaoN18NyA5gQlxeCHe9Tsa7MjNHMZppjyWDVaq6j0LCMwa5040FvqL4h/JAz\
             nro7FRg5MeKn+qJxNbm5tzAY",
            ),
            (
                "P-384",
                Some(OtherAlgorithm),
                Some(OtherAlgorithm),
                "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDB3xESyXuiS1rOaHbB66kYqnxDk0XCFkVgR\
             6XgnIEbjuRuga5WicYp0DlbZ8s3tkFihZANiAARrgK32LNIzQphGzS0ao6vOtQAL309StETVxf1pvPec\
             wpXhW6LDxl7Typs2+JQl8aqhDv3EVG2uaP6/sELTPjXMvvn+zaZ4DEDk0mZ+PGuyGLg+rhYbVPxSPVoI\
             vgg92Xg=",
            ),
            (
                "Ed25519",
                Some(OtherAlgorithm),
                None,
                "MC4CAQAwBQYDK2VwBCIEIChIBFxT6mqesDQ6bAZuZSrKjdTs8n9imbqFfeuJPDu7",
            ),
            (
                "X25519",
                Some(OtherAlgorithm),
                Some(OtherAlgorithm),
                "MC4CAQAwBQYDK2VuBCIEIFD6rlTa3I6igltXaEblNEq6o6ke48y19IJ2Klanl6dg",
            ),
            (
                "RSA, 1024 bits",
                Some(OtherAlgorithm),
                Some(OtherAlgorithm),
                "MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBALymrBd9qsfa0MG+nI6BqQ5MgcJZ4PVy\
             DTxA+Xp35aI+ibA7nd51oq3AB1j3Zfoja81pMNJwalTFF/my4bA0vyQgnZe9IhHzNhF8ZrlMHibST9c7\
             tuyvo+g2N6ggFxIH7UBDjp90zy2o6JrQmZiZwiuarCsAazNdWErikbl1jlEFAgMBAAECgYATtlbFHZx6\
             xaKKnCA/w8ymcdgdNscK3qADa8alxWF5Uo+QmqokVKZrAWXDJhbBzHG3RQaU9qolsXKP5OEwSFKwhclj\
             6zAoHJda2JIUO/5pSOIwrQ38vND6o4xwpwidrqdq6BtvZ0kTJLzRH1jTP9m/fMlu2C6w74j+FYmkbmBh\
             AQJBAN8jhnJKbo1HIfwuMBOZxovx8v5lcVAN8Ca8Q0uz1BVgNDefVdblnWLv+gWNrVUHpErwBvQDuBkg\
             2OmVf9WYHJsCQQDYbvA5WBzwuDpFHu+SvGcuAzdobwW8YackwAWY04OoMSz2KjjEeVK/ZKuz8hoyTH9K\
             ncypNOXM0UD7FsSwh5LfAkAWAwojQiZvt2Gp3+CMPnIwofiHkfhAnm9fUtkMobu9NBVSm1w7a8E/3k56\
             t8QujCdv4Qe+kJNbnzrmqAHJT00bAkAv1g1IT15OIhnW7yh6YSPY+qMDdQ5qfZbou3xBM/a0dPIAEoLr\
             gfk1DjYZFpiNp3S29Duo5mUoKNPY60Zb0gs3AkAI/ZTnXZ07s/VS5JOAIUJUZj/YZeEL12ouIup2ZgxJ\
             V6/iN4TfDhkt8VJY3zW5UEbtzc76gbyAcWXV7vqT+BA4",
            ),
        ] {
            let pem = format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----");
            assert_eq!(Es256::from_pkcs8_pem(&pem).err(), es256, "{name}");
            assert_eq!(Ed25519::from_pkcs8_pem(&pem).err(), eddsa, "{name}");
        }
        assert!(OtherAlgorithm.to_string().contains("P-256"));
        for other in ["EC PRIVATE", "ENCRYPTED PRIVATE", "RSA PRIVATE"] {
            let pem = format!("-----BEGIN {other} KEY-----\nMAA=\n-----END {other} KEY-----");
            assert_eq!(Es256::from_pkcs8_pem(&pem).err(), Some(KeyError::Encoding), "{other}");
        }
    }
}
