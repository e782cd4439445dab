//! Answers to a server's challenge: `mysql_native_password`, `caching_sha2_password`,
//! `client_ed25519`.
//!
//! Sources: MySQL protocol, "Authentication Methods"; MariaDB knowledge base, "Authentication
//! Plugin - ed25519"; RFC 8032 (Ed25519), RFC 8017 (RSAES-OAEP). Why these crates and not
//! `mysql_common`: docs/decisions/mysql-authentication.md.

use curve25519_dalek::scalar::clamp_integer;
use curve25519_dalek::{EdwardsPoint, Scalar};
use dyno_core::error::{Error, Kind, Result};
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// Bytes of the challenge of `mysql_native_password` and `caching_sha2_password`.
pub const NONCE_BYTES: usize = 20;

/// Bytes of the challenge of `client_ed25519`.
const ED25519_NONCE_BYTES: usize = 32;

/// The ways to prove a password that we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    /// SHA-1 challenge and response.
    Native,
    /// SHA-256 challenge and response, MySQL's default.
    CachingSha2,
    /// Ed25519 signature of the challenge (MariaDB).
    Ed25519,
}

impl Plugin {
    /// By the name on the wire; none if we do not know it.
    pub fn by_name(name: &[u8]) -> Option<Self> {
        match name {
            b"mysql_native_password" => Some(Self::Native),
            b"caching_sha2_password" => Some(Self::CachingSha2),
            b"client_ed25519" => Some(Self::Ed25519),
            _ => None,
        }
    }

    /// The name on the wire.
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Native => b"mysql_native_password",
            Self::CachingSha2 => b"caching_sha2_password",
            Self::Ed25519 => b"client_ed25519",
        }
    }

    /// The answer to `challenge`; None: the challenge has the wrong length. An empty password is
    /// answered by nothing, except with Ed25519, where the empty string is a key like any other.
    pub fn answer(self, password: &[u8], challenge: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Native | Self::CachingSha2 if password.is_empty() => Some(vec![]),
            Self::Native => Some(native(password, challenge.try_into().ok()?).to_vec()),
            Self::CachingSha2 => Some(caching_sha2(password, challenge.try_into().ok()?).to_vec()),
            Self::Ed25519 => Some(ed25519(password, challenge.try_into().ok()?).to_vec()),
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

/// RFC 8032 signature of `nonce`, where SHA512(password) takes the place of SHA512(seed): MariaDB
/// allows seeds of any length, hence no ready-made signing key fits.
fn ed25519(password: &[u8], nonce: &[u8; ED25519_NONCE_BYTES]) -> [u8; 64] {
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

/// The password for a server that has shown its RSA key over a plain connection: password and a
/// zero byte, xor the challenge, then RSAES-OAEP (SHA-1) with the key in `pem`.
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
