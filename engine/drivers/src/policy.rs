//! What a server may request before the client trusts it: one table for all drivers and for
//! scripts.
//!
//! `python/dbdyno/systems/logins/policy.py` has the same rows for control connections and explains
//! each one; tests/live/hostile/ tests every row on both. See docs/reference/security.md.

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::LoginRules;
use std::ops::RangeInclusive;

/// PBKDF2 iterations that SCRAM may request: fewer make the password cheap to guess (RFC 7677,
/// section 4); more let a server exhaust its clients' CPU time.
pub const SCRAM_ITERATIONS: RangeInclusive<u32> = 4096..=100_000;

/// Maximum length of a plug-in's name in messages, characters.
const NAME_CHARS_MAX: usize = 64;

/// The client's decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Given,
    /// Allowed with `cleartext_password`.
    Named,
    /// Allowed with `server_public_key`: encrypted with that RSA key.
    Keyed,
    Refused,
}

/// One thing that a server may request during a login.
pub struct Demand {
    name: &'static str,
    /// Whether the server would learn the password itself.
    is_password: bool,
    /// Decision over TCP without TLS.
    plain: Answer,
    /// Decision over TLS or a Unix socket.
    private: Answer,
}

const fn demand(name: &'static str, is_password: bool, plain: Answer, private: Answer) -> Demand {
    Demand { name, is_password, plain, private }
}

/// Full authentication: the server has no cached hash of the password.
pub const MYSQL_FULL: &str = "caching_sha2_password, full authentication";

/// By plug-in name; the last row applies to all others.
pub static MYSQL: &[Demand] = &[
    demand("mysql_native_password", false, Answer::Given, Answer::Given),
    demand("client_ed25519", false, Answer::Given, Answer::Given),
    demand("caching_sha2_password", false, Answer::Given, Answer::Given),
    demand(MYSQL_FULL, true, Answer::Keyed, Answer::Given),
    demand("sha256_password", true, Answer::Keyed, Answer::Given),
    demand("mysql_clear_password", true, Answer::Refused, Answer::Named),
    demand("dialog", true, Answer::Refused, Answer::Refused),
    demand("any other plug-in", false, Answer::Refused, Answer::Refused),
];

/// By number of the authentication request; the last row applies to all others.
pub static POSTGRES: &[Demand] = &[
    demand("0", false, Answer::Given, Answer::Given),
    demand("3", true, Answer::Refused, Answer::Named),
    demand("5", false, Answer::Given, Answer::Given),
    demand("10", false, Answer::Given, Answer::Given),
    demand("any other method", false, Answer::Refused, Answer::Refused),
];

/// Redis requests nothing: the only row decides whether the client sends AUTH. Loopback counts as
/// private.
pub static REDIS: &[Demand] = &[demand("AUTH", true, Answer::Named, Answer::Given)];

/// The context of a login: user, server, and the user's rules.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The server's address, for messages.
    pub place: &'a str,
    /// Login name.
    pub user: &'a str,
    /// What the user allows.
    pub rules: &'a LoginRules,
    /// Whether the connection is private: TLS or a Unix socket.
    pub secure: bool,
}

impl Asked<'_> {
    /// Checks whether the client may grant the server's request `name`, which messages call
    /// `shown`.
    ///
    /// # Errors
    /// Of kind authentication, with a hint for the user.
    pub fn check(&self, table: &[Demand], name: &str, shown: &str) -> Result<()> {
        let others = &table[table.len() - 1];
        let demand = table.iter().find(|demand| demand.name == name).unwrap_or(others);
        let answer = if self.secure { demand.private } else { demand.plain };
        let allowed = match answer {
            Answer::Given => true,
            Answer::Named => self.rules.cleartext_password,
            Answer::Keyed => self.rules.server_public_key.is_some(),
            Answer::Refused => false,
        };
        if allowed {
            return Ok(());
        }
        let shown: String = shown.chars().take(NAME_CHARS_MAX).collect();
        let gives = if demand.is_password { ", which takes the password itself" } else { "" };
        let way = if self.secure { "" } else { ", over a connection without TLS" };
        Err(self
            .ended(format!("the server asks for {shown}{gives}{way}"))
            .hint(hint(demand, answer)))
    }

    /// The error of a login that the client ended, because of `why`.
    pub fn ended(&self, why: impl std::fmt::Display) -> Error {
        let Self { user, place, .. } = self;
        Error::new(Kind::Authentication, format!("the login of {user} at {place} was ended: {why}"))
    }
}

fn hint(demand: &Demand, answer: Answer) -> &'static str {
    match (answer, demand.private) {
        (Answer::Named, _) => {
            "if this server may have the password, say cleartext_password: yes (sysbench: \
             LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN=1)"
        }
        (Answer::Keyed, _) => {
            "use TLS (tls: require or verify; sysbench: --mysql-ssl) or a Unix socket; or name the \
             server's RSA key in server_public_key (sysbench: --mysql-server-public-key), `get` \
             takes the one that it shows"
        }
        (_, Answer::Named) => {
            "a server, or somebody on the way to it, may be collecting passwords; use TLS (tls: \
             require or verify) or a Unix socket, with cleartext_password: yes"
        }
        _ => {
            "use an account with caching_sha2_password, mysql_native_password or ed25519, or with \
             scram-sha-256 in pg_hba.conf"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::plan::PublicKey;

    fn passes(table: &[Demand], name: &str, secure: bool, rules: &LoginRules) -> bool {
        let asked = Asked { place: "db:1", user: "app", rules, secure };
        let checked = asked.check(table, name, name);
        if let Err(error) = &checked {
            assert!(error.what.contains("app at db:1") && !error.hint.is_empty(), "{error}");
        }
        checked.is_ok()
    }

    #[test]
    fn without_tls_no_server_gets_a_password_that_is_not_under_a_key() {
        let all = LoginRules { cleartext_password: true, server_public_key: Some(PublicKey::Get) };
        for table in [MYSQL, POSTGRES] {
            for demand in table.iter().filter(|demand| demand.is_password) {
                assert!(!passes(table, demand.name, false, &LoginRules::default()));
                assert_eq!(passes(table, demand.name, false, &all), demand.plain == Answer::Keyed);
            }
        }
    }

    #[test]
    fn the_password_of_redis_travels_plainly_only_if_the_user_says_so() {
        let named = LoginRules { cleartext_password: true, ..LoginRules::default() };
        assert!(!passes(REDIS, "AUTH", false, &LoginRules::default()));
        assert!(passes(REDIS, "AUTH", false, &named));
        assert!(passes(REDIS, "AUTH", true, &LoginRules::default()));
    }

    #[test]
    fn what_is_not_in_the_table_is_refused() {
        let asked = |name, secure| passes(MYSQL, name, secure, &LoginRules::default());
        assert!(!asked("auth_gssapi_client", true) && !asked("", true));
        assert!(!asked("mysql_clear_password", true));
        assert!(asked(MYSQL_FULL, true) && !asked(MYSQL_FULL, false));
    }
}
