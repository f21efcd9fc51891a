//! The data key of a segment, wrapped with RSA-OAEP: SHA3-512 for the label and for MGF1, an empty label.
//!
//! The crate `rsa` has the open advisory RUSTSEC-2023-0071: the time of a decryption depends on the key. An attacker who can have
//! a service decrypt many chosen messages, and can measure each decryption, may recover the key. Reading an archive is not such a
//! service: only the wrapped keys of the manifests are decrypted, a few for each key pair, nobody can measure a single decryption,
//! and it is blinded. `aws-lc-rs` and `ring` do not support OAEP with SHA3-512; OpenSSL does, but would have to be part of every
//! wheel.

use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPrivateKey};
use sha3::Sha3_512;
use zeroize::Zeroizing;

/// The length of an AES-256 key in bytes.
pub const DATA_KEY_LENGTH: usize = 32;

/// Why a data key is not available. The errors contain no part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// The PEM text is not a private key.
    #[error("not an RSA private key in PEM form (PKCS #8 or PKCS #1, without a password)")]
    NotAPrivateKey,
    /// The padding of OAEP is invalid.
    #[error(
        "the private key does not decrypt the data key: it is that of another key pair, or the manifest is corrupt"
    )]
    Unwrap,
    /// The decrypted bytes are not an AES-256 key.
    #[error("the data key has {0} bytes, not 32")]
    Length(usize),
}

/// An AES-256 key, overwritten when it is dropped.
pub struct DataKey(Zeroizing<[u8; DATA_KEY_LENGTH]>);

impl std::fmt::Debug for DataKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DataKey(..)")
    }
}

impl DataKey {
    /// Decrypts a wrapped key with the private key `pem`.
    ///
    /// # Errors
    /// [`KeyFault`].
    pub fn unwrap_with(pem: &str, wrapped: &[u8]) -> Result<Self, KeyFault> {
        let key = RsaPrivateKey::from_pkcs8_pem(pem)
            .or_else(|_| RsaPrivateKey::from_pkcs1_pem(pem))
            .map_err(|_| KeyFault::NotAPrivateKey)?;
        let data = key.decrypt_blinded(&mut OsRng, Oaep::new::<Sha3_512>(), wrapped).map_err(|_| KeyFault::Unwrap)?;
        let data = Zeroizing::new(data);
        let key: [u8; DATA_KEY_LENGTH] = data.as_slice().try_into().map_err(|_| KeyFault::Length(data.len()))?;
        Ok(Self(Zeroizing::new(key)))
    }

    /// The key's bytes.
    pub(crate) fn bytes(&self) -> &[u8; DATA_KEY_LENGTH] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_is_refused_without_being_quoted() {
        for text in ["", "secret", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"] {
            let fault = DataKey::unwrap_with(text, &[0; 256]).err();
            assert_eq!(fault, Some(KeyFault::NotAPrivateKey));
            assert!(!KeyFault::NotAPrivateKey.to_string().contains("secret"));
        }
    }

    #[test]
    fn a_data_key_is_not_shown() {
        let key = DataKey(Zeroizing::new([0xAB; DATA_KEY_LENGTH]));
        assert_eq!(format!("{key:?}"), "DataKey(..)");
    }
}
