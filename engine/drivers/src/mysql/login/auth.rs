//! Responses to a server's challenge: `mysql_native_password`, `caching_sha2_password`,
//! `client_ed25519`. `policy` decides whether a server may learn the password itself.
//!
//! Sources: MySQL protocol, "Authentication Methods"; MariaDB knowledge base, "Authentication
//! Plugin - ed25519"; RFC 8032 (Ed25519), RFC 8017 (RSAES-OAEP). Why these crates and not
//! `mysql_common`: docs/decisions/mysql-authentication.md.

use curve25519_dalek::scalar::clamp_integer;
use curve25519_dalek::{EdwardsPoint, Scalar};
use dyno_core::error::{Error, Kind, Result};
use dyno_protocol::mysql::handshake::NONCE_BYTES;
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// Bytes of the challenge of `client_ed25519`.
const ED25519_NONCE_BYTES: usize = 32;

/// The supported authentication plug-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    /// SHA-1 challenge and response.
    Native,
    /// SHA-256 challenge and response, MySQL's default.
    CachingSha2,
    /// Ed25519 signature of the challenge (MariaDB).
    Ed25519,
    /// The password itself, or encrypted with the server's RSA key.
    Sha256,
    /// The password itself.
    Clear,
}

impl Plugin {
    /// By the name on the wire; none if unsupported.
    pub fn by_name(name: &[u8]) -> Option<Self> {
        match name {
            b"mysql_native_password" => Some(Self::Native),
            b"caching_sha2_password" => Some(Self::CachingSha2),
            b"client_ed25519" => Some(Self::Ed25519),
            b"sha256_password" => Some(Self::Sha256),
            b"mysql_clear_password" => Some(Self::Clear),
            _ => None,
        }
    }

    /// The name on the wire.
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Native => b"mysql_native_password",
            Self::CachingSha2 => b"caching_sha2_password",
            Self::Ed25519 => b"client_ed25519",
            Self::Sha256 => b"sha256_password",
            Self::Clear => b"mysql_clear_password",
        }
    }

    /// The response to `challenge`; None: the plug-in has none, or the challenge has the wrong
    /// length. The response to an empty password is empty, except with Ed25519, where the empty
    /// string is a key like any other.
    pub fn answer(self, password: &[u8], challenge: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Native | Self::CachingSha2 if password.is_empty() => Some(vec![]),
            Self::Native => Some(native(password, challenge.try_into().ok()?).to_vec()),
            Self::CachingSha2 => Some(caching_sha2(password, challenge.try_into().ok()?).to_vec()),
            Self::Ed25519 if challenge.len() == ED25519_NONCE_BYTES => {
                Some(ed25519(password, challenge).to_vec())
            }
            Self::Ed25519 | Self::Sha256 | Self::Clear => None,
        }
    }
}

/// SHA1(password) xor SHA1(nonce + SHA1(SHA1(password))).
fn native(password: &[u8], nonce: &[u8; NONCE_BYTES]) -> [u8; 20] {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new().chain_update(nonce).chain_update(twice).finalize();
    std::array::from_fn(|i| once[i] ^ mask[i])
}

/// SHA256(password) xor SHA256(SHA256(SHA256(password)) + nonce).
fn caching_sha2(password: &[u8], nonce: &[u8; NONCE_BYTES]) -> [u8; 32] {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new().chain_update(twice).chain_update(nonce).finalize();
    std::array::from_fn(|i| once[i] ^ mask[i])
}

/// RFC 8032 signature of `nonce`, with SHA512(password) in place of SHA512(seed): MariaDB allows
/// seeds of any length, so no ready-made signing key fits.
fn ed25519(password: &[u8], nonce: &[u8]) -> [u8; 64] {
    let hash = Sha512::digest(password);
    let (low, prefix) = hash.split_at(32);
    let secret = Scalar::from_bytes_mod_order(clamp_integer(std::array::from_fn(|i| low[i])));
    let public = EdwardsPoint::mul_base(&secret).compress();
    let wide = |digest: Sha512| Scalar::from_bytes_mod_order_wide(&digest.finalize().into());
    let r = wide(Sha512::new().chain_update(prefix).chain_update(nonce));
    let point = EdwardsPoint::mul_base(&r).compress();
    let k = wide(
        Sha512::new()
            .chain_update(point.as_bytes())
            .chain_update(public.as_bytes())
            .chain_update(nonce),
    );
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(point.as_bytes());
    signature[32..].copy_from_slice((r + k * secret).as_bytes());
    signature
}

/// The password, encrypted for a server that sent its RSA key over a plain connection: password and
/// a zero byte, xor the challenge, then RSAES-OAEP (SHA-1) with the key in `pem`.
pub fn rsa_password(password: &[u8], nonce: &[u8], pem: &[u8]) -> Result<Vec<u8>> {
    let refused = |why: &dyn std::fmt::Display| {
        Error::new(
            Kind::Authentication,
            format!("cannot encrypt the password with the server's RSA key: {why}"),
        )
        .hint("use TLS (tls: require) or a Unix socket")
    };
    if nonce.is_empty() {
        return Err(refused(&"the server sent no challenge"));
    }
    let text = std::str::from_utf8(pem).map_err(|why| refused(&why))?;
    let key = RsaPublicKey::from_public_key_pem(text)
        .or_else(|_| RsaPublicKey::from_pkcs1_pem(text))
        .map_err(|why| refused(&why))?;
    let hidden: Vec<u8> =
        password.iter().chain([&0]).zip(nonce.iter().cycle()).map(|(a, b)| a ^ b).collect();
    key.encrypt(&mut rsa::rand_core::OsRng, Oaep::new::<Sha1>(), &hidden)
        .map_err(|why| refused(&why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rsa::RsaPrivateKey;
    use rsa::pkcs1::EncodeRsaPublicKey;
    use rsa::pkcs8::{EncodePublicKey, LineEnding};

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
            .collect()
    }

    fn nonce() -> Vec<u8> {
        (1..=20).collect()
    }

    /// Computed with PyMySQL, which dbdyno's control connections use.
    #[test]
    fn answers_equal_another_implementations() {
        let of = |plugin: Plugin| plugin.answer(b"secret", &nonce()).unwrap();
        assert_eq!(of(Plugin::Native), hex("b32bb3a583e1340c0a1108d58b1be49781ad8c2f"));
        assert_eq!(
            of(Plugin::CachingSha2),
            hex("746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9")
        );
    }

    /// RFC 8032, section 7.1, tests 1 and 3: a 32-byte password is a seed.
    #[test]
    fn ed25519_signs_as_the_rfc_says() {
        for (seed, message, signature) in [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
                 5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
            ),
            (
                "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
                 18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
            ),
        ] {
            assert_eq!(ed25519(&hex(seed), &hex(message)).to_vec(), hex(signature));
        }
    }

    #[test]
    fn challenges_of_another_length_are_not_answered() {
        for plugin in [Plugin::Native, Plugin::CachingSha2, Plugin::Ed25519] {
            assert_eq!(plugin.answer(b"secret", &[1; 19]), None);
            assert_eq!(Plugin::by_name(plugin.name()), Some(plugin));
        }
        assert_eq!(Plugin::Native.answer(b"", &nonce()), Some(vec![]));
        assert_eq!(Plugin::by_name(b"dialog"), None);
    }

    #[test]
    fn the_server_reads_the_encrypted_password() {
        let key = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 1024).unwrap();
        let public = key.to_public_key();
        let pems = [
            public.to_public_key_pem(LineEnding::LF).unwrap(),
            public.to_pkcs1_pem(LineEnding::LF).unwrap(),
        ];
        let password = b"a password longer than the challenge";
        for pem in pems {
            let sent = rsa_password(password, &nonce(), pem.as_bytes()).unwrap();
            let hidden = key.decrypt(Oaep::new::<Sha1>(), &sent).unwrap();
            let plain: Vec<u8> =
                hidden.iter().zip(nonce().iter().cycle()).map(|(a, b)| a ^ b).collect();
            assert_eq!(plain, [&password[..], b"\0"].concat());
            let long = [b'x'; 200];
            assert!(rsa_password(&long, &nonce(), pem.as_bytes()).is_err(), "longer than the key");
        }
    }

    proptest! {
        #[test]
        fn keys_that_are_none_are_refused(body: Vec<u8>, kind in 0..3) {
            use rsa::pkcs8::der::pem::{LineEnding, encode_string};
            let pem = match kind {
                0 => body,
                1 => encode_string("PUBLIC KEY", LineEnding::LF, &body).unwrap().into_bytes(),
                _ => encode_string("RSA PUBLIC KEY", LineEnding::LF, &body).unwrap().into_bytes(),
            };
            let error = rsa_password(b"secret", &nonce(), &pem).unwrap_err();
            prop_assert_eq!(error.kind, Kind::Authentication);
        }

        /// The server's check: it stores the second hash and removes the mask.
        #[test]
        fn the_server_recognises_the_password(password: Vec<u8>, challenge: [u8; 20]) {
            let stored = Sha1::digest(Sha1::digest(&password));
            let mask = Sha1::new().chain_update(challenge).chain_update(stored).finalize();
            let answer = native(&password, &challenge);
            let once: [u8; 20] = std::array::from_fn(|i| answer[i] ^ mask[i]);
            prop_assert_eq!(Sha1::digest(once), stored);

            let stored = Sha256::digest(Sha256::digest(&password));
            let mask = Sha256::new().chain_update(stored).chain_update(challenge).finalize();
            let answer = caching_sha2(&password, &challenge);
            let once: [u8; 32] = std::array::from_fn(|i| answer[i] ^ mask[i]);
            prop_assert_eq!(Sha256::digest(once), stored);
        }
    }
}
