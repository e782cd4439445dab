//! From the greeting to the server's OK: TLS, challenge and response, change of plug-in.
//!
//! Sources: MySQL protocol, "Connection Phase", "Caching_sha2_password information"; MariaDB
//! knowledge base, "Connection".

pub(in crate::mysql) mod auth;

use crate::mysql::Config;
use crate::mysql::control;
use crate::mysql::errors;
use crate::mysql::flags::capability;
use crate::mysql::packet::{self, CONTROL_BYTES_MAX, HEADER_BYTES, broken, header};
use crate::policy::{self, Asked, MYSQL_FULL};
use auth::{Plugin, rsa_password};
use dyno_core::driver::Progress;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{PublicKey, Tls};
use dyno_protocol::bytes::Bytes;
pub(in crate::mysql) use dyno_protocol::mysql::handshake;
use handshake::{Agreed, Greeting, Login as LoginPacket, NONCE_BYTES};

/// Maximum number of replies during one login, so that a server cannot prolong it forever.
const ROUNDS_MAX: u32 = 16;

/// The result of [`LoginState::feed`]; ready: logged in.
type Found = Progress<()>;

/// A login in progress.
#[derive(Debug)]
pub struct LoginState {
    /// Whether the connection is private: TLS or a Unix socket.
    secure: bool,
    on_socket: bool,
    greeting: Option<Greeting>,
    /// The negotiated capabilities, once the greeting has arrived.
    pub agreed: Agreed,
    plugin: Plugin,
    nonce: Vec<u8>,
    /// The next `more data` is the server's RSA key.
    key_asked: bool,
    /// Sequence number of the client's next packet, which is also the server's next one.
    seq: u8,
    rounds: u32,
    /// Status flags of the server's OK.
    pub status: u16,
}

impl LoginState {
    /// Waits for the greeting. `on_socket`: a Unix socket, where the client requests no TLS.
    pub fn new(on_socket: bool) -> Self {
        Self {
            secure: on_socket,
            on_socket,
            greeting: None,
            agreed: Agreed::default(),
            plugin: Plugin::Native,
            nonce: vec![],
            key_asked: false,
            seq: 0,
            rounds: 0,
            status: 0,
        }
    }

    /// The server's id of this connection; 0 before the greeting.
    pub fn connection_id(&self) -> u32 {
        self.greeting.as_ref().map_or(0, |greeting| greeting.connection_id)
    }

    /// Parses at most one packet.
    pub fn feed(
        &mut self,
        config: &Config,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, Found)> {
        let Some((length, seq)) = header(input) else { return Ok((0, Found::More)) };
        if length == 0 || length > CONTROL_BYTES_MAX {
            return Err(broken(format_args!("a packet of {length} bytes amid the login")));
        }
        let consumed = HEADER_BYTES + length;
        let Some(payload) = input.get(HEADER_BYTES..consumed) else {
            return Ok((0, Found::More));
        };
        if payload[0] == 0xff {
            let plain = !self.secure && self.greeting.as_ref().is_some_and(Greeting::offers_tls);
            return Err(errors::login_error(&errors::parse(payload)?, &config.place, plain));
        }
        self.rounds += 1;
        if seq != self.seq || self.rounds > ROUNDS_MAX {
            return Err(broken("packets out of order amid the login"));
        }
        self.seq = seq.wrapping_add(1);
        let found = match self.greeting {
            None => self.greet(config, payload, out)?,
            Some(_) => self.answer(config, payload, out)?,
        };
        if found == Found::StartTls && consumed < input.len() {
            // TLS would not authenticate the sender of these bytes.
            return Err(broken("bytes between the greeting and TLS"));
        }
        Ok((consumed, found))
    }

    fn greet(&mut self, config: &Config, payload: &[u8], out: &mut Vec<u8>) -> Result<Found> {
        let greeting = Greeting::parse(payload)?;
        let tls = match config.tls {
            _ if self.on_socket => false,
            Tls::Off => false,
            Tls::Prefer => greeting.offers_tls(),
            Tls::Require | Tls::Verify | Tls::Ca(_) | Tls::Chain(_) => {
                if !greeting.offers_tls() {
                    return Err(Error::new(
                        Kind::Authentication,
                        format!("{} does not offer TLS, and the plan asks for it", config.place),
                    )
                    .hint("configure the server's certificate, or set tls: prefer or off"));
                }
                true
            }
        };
        let mut more = config.capabilities;
        if tls {
            more |= capability::SSL;
        }
        if !config.database.is_empty() {
            more |= capability::CONNECT_WITH_DB;
        }
        self.agreed = Agreed::new(&greeting, more, config.cache_metadata);
        self.nonce.clone_from(&greeting.nonce);
        self.plugin = Plugin::by_name(&greeting.plugin)
            .filter(|_| self.nonce.len() == NONCE_BYTES)
            .filter(|plugin| matches!(plugin, Plugin::Native | Plugin::CachingSha2))
            .unwrap_or(Plugin::Native);
        self.greeting = Some(greeting);
        // The parser ensures 20 bytes; checked all the same, since it is too late after TLS.
        if self.plugin.answer(config.password.0.as_bytes(), &self.nonce).is_none() {
            return Err(broken("a challenge of the wrong length"));
        }
        if tls {
            self.seq = self.agreed.put_tls_request(out, self.seq);
            return Ok(Found::StartTls);
        }
        self.put_login(config, out)?;
        Ok(Found::More)
    }

    /// The transport is encrypted now: continues the login.
    pub fn tls_established(&mut self, config: &Config, out: &mut Vec<u8>) {
        self.secure = true;
        // Cannot fail: the challenge was checked when the greeting arrived.
        let sent = self.put_login(config, out);
        debug_assert!(sent.is_ok());
    }

    fn put_login(&mut self, config: &Config, out: &mut Vec<u8>) -> Result<()> {
        let password = config.password.0.as_bytes();
        let answer = self
            .plugin
            .answer(password, &self.nonce)
            .ok_or_else(|| broken("a challenge of the wrong length"))?;
        let login = LoginPacket {
            user: &config.user,
            database: &config.database,
            plugin: self.plugin.name(),
            answer: &answer,
        };
        self.seq = self.agreed.put_login(out, self.seq, &login);
        Ok(())
    }

    fn answer(&mut self, config: &Config, payload: &[u8], out: &mut Vec<u8>) -> Result<Found> {
        match payload[0] {
            0x00 => {
                self.status = control::ok(payload)?.status;
                Ok(Found::Ready)
            }
            0x01 => self.more_data(config, &payload[1..], out),
            0xfe => self.switch(config, &payload[1..], out),
            other => Err(broken(format_args!("packet 0x{other:02x} amid the login"))),
        }
    }

    /// The server requests another plug-in, with a challenge of its own.
    fn switch(&mut self, config: &Config, payload: &[u8], out: &mut Vec<u8>) -> Result<Found> {
        let mut fields = Bytes(payload);
        // An empty request means passwords from before 4.1.
        let name = fields.text().unwrap_or(b"mysql_old_password");
        self.check(config, &String::from_utf8_lossy(name), &name.escape_ascii().to_string())?;
        self.plugin = Plugin::by_name(name).ok_or_else(|| broken("an unknown plug-in"))?;
        self.nonce.clear();
        self.nonce.extend_from_slice(fields.0.strip_suffix(&[0]).unwrap_or(fields.0));
        if self.plugin == Plugin::Ed25519 {
            // Its challenge extends to the end of the packet and may end with a zero byte.
            self.nonce.clear();
            self.nonce.extend_from_slice(fields.0.get(..32).unwrap_or(fields.0));
        }
        self.key_asked = false;
        match self.plugin {
            Plugin::Sha256 => self.put_password(config, 1, out)?,
            Plugin::Clear => self.put_clear(config, out),
            Plugin::Native | Plugin::CachingSha2 | Plugin::Ed25519 => {
                let answer = self
                    .plugin
                    .answer(config.password.0.as_bytes(), &self.nonce)
                    .ok_or_else(|| broken("a challenge of the wrong length"))?;
                self.seq = packet::write(out, self.seq, &answer);
            }
        }
        Ok(Found::More)
    }

    /// The plug-in continues. The server sends its RSA key, if the client requested it.
    /// `caching_sha2_password`: the response was sufficient (3), or the server requests the
    /// password itself (4).
    fn more_data(&mut self, config: &Config, data: &[u8], out: &mut Vec<u8>) -> Result<Found> {
        if std::mem::take(&mut self.key_asked) {
            self.put_encrypted(config, data, out)?;
            return Ok(Found::More);
        }
        match (self.plugin, data) {
            (Plugin::CachingSha2, [3]) => {}
            (Plugin::CachingSha2, [4]) => {
                self.check(config, MYSQL_FULL, MYSQL_FULL)?;
                self.put_password(config, 2, out)?;
            }
            (Plugin::CachingSha2, _) => {
                return Err(broken("an unknown step of caching_sha2_password"));
            }
            _ => return Err(broken("the login's plugin has nothing more to say")),
        }
        Ok(Found::More)
    }

    /// Checks whether the server may have what it requests.
    fn check(&self, config: &Config, name: &str, shown: &str) -> Result<()> {
        let Config { place, user, login: rules, .. } = config;
        let asked = Asked { place, user, rules, secure: self.secure };
        asked.check(policy::MYSQL, name, &format!("plug-in {shown}"))
    }

    /// Sends the password as the connection protects it; `key_request` requests the server's key.
    fn put_password(&mut self, config: &Config, key_request: u8, out: &mut Vec<u8>) -> Result<()> {
        match &config.login.server_public_key {
            _ if self.secure || config.password.is_empty() => self.put_clear(config, out),
            Some(PublicKey::Pem(pem)) => self.put_encrypted(config, pem.as_bytes(), out)?,
            Some(PublicKey::Get) => {
                self.key_asked = true;
                self.seq = packet::write(out, self.seq, &[key_request]);
            }
            None => return Err(broken("no way to send the password")), // the policy has refused it
        }
        Ok(())
    }

    fn put_encrypted(&mut self, config: &Config, pem: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let encrypted = rsa_password(config.password.0.as_bytes(), &self.nonce, pem)?;
        self.seq = packet::write(out, self.seq, &encrypted);
        Ok(())
    }

    fn put_clear(&mut self, config: &Config, out: &mut Vec<u8>) {
        let at = packet::start(out);
        out.extend_from_slice(config.password.0.as_bytes());
        out.push(0);
        self.seq = packet::finish(out, at, self.seq);
    }
}
