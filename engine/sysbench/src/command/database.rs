//! Maps database options to the servers of a run and the drivers that scripts can name.

use crate::command::call::Kinds;
use crate::command::dry_run;
use crate::command::refusal::Refusal;
use crate::console::{self, Level};
use crate::drive::Server;
use crate::lua::{Driver, Ignore};
use crate::options::Options;
use crate::report::Compat;
use dyno_core::driver::BuildClients;
use dyno_core::error::Error;
use dyno_core::plan::{Address, LoginRules, Protocol, PublicKey, Secret, Target, Tls, TlsExtras};
use dyno_generator::transport::endpoint::Endpoint;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names for `--db-driver`, with the engine's names of the drivers.
pub const DRIVERS: [(&str, &str); 3] =
    [("mysql", "mysql"), ("pgsql", "postgres"), ("sqlite", "sqlite")];

/// The server's socket in the packages of MySQL and MariaDB.
const MYSQL_SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// The server's socket in the packages of PostgreSQL.
const PGSQL_SOCKETS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The drivers and servers that a run may use.
pub struct Databases {
    /// The drivers; the one that `--db-driver` names comes first.
    pub drivers: Vec<Driver>,
    /// The servers of all drivers.
    pub servers: Vec<Server>,
}

/// Reads the options of all drivers. A driver that is unavailable is omitted unless `--db-driver` names
/// it: a script that requests it gets an error.
///
/// # Errors
/// An invalid value of the requested driver.
pub fn databases(options: &Options, compat: Compat, kinds: Kinds) -> Result<Databases, Refusal> {
    check(options)?;
    let wanted = options.text("db-driver");
    if wanted == "mysql" && options.bool("mysql-debug") {
        console::set_verbosity(Level::Debug as u8); // as sysbench does
    }
    let mut found = Databases { drivers: Vec::new(), servers: Vec::new() };
    let (first, others): (Vec<_>, Vec<_>) =
        DRIVERS.into_iter().partition(|(name, _)| *name == wanted);
    for (name, kind) in first.into_iter().chain(others) {
        match servers(name, kind, options, compat, kinds) {
            Ok(reached) => found.add(name, reached, options),
            Err(refusal) if name == wanted => return Err(refusal),
            Err(_) => {}
        }
    }
    Ok(found)
}

impl Databases {
    fn add(
        &mut self,
        name: &'static str,
        (addresses, servers): (Vec<Address>, Vec<Server>),
        options: &Options,
    ) {
        let begin = self.servers.len();
        self.servers.extend(servers);
        self.drivers.push(Driver {
            name,
            servers: (begin..self.servers.len()).collect(),
            addresses,
            ignore: Ignore::new(options.list(&format!("{name}-ignore-errors"))),
            is_traced: options.bool("db-debug") || name == "mysql" && options.bool("mysql-debug"),
        });
    }
}

/// Options that apply to all drivers.
fn check(options: &Options) -> Result<(), Refusal> {
    let mode = options.text("db-ps-mode");
    if !["auto", "disable"].contains(&mode) {
        return Err(Refusal::fatal(format!("Invalid value for db-ps-mode: {mode}")));
    }
    Ok(())
}

fn servers(
    name: &str,
    kind: &str,
    options: &Options,
    compat: Compat,
    kinds: Kinds,
) -> Result<(Vec<Address>, Vec<Server>), Refusal> {
    if name == "mysql" && options.bool("mysql-dry-run") {
        let dry = Server { clients: Box::new(dry_run::client), endpoint: None };
        return Ok((vec![Address::None], vec![dry]));
    }
    let targets = match name {
        "mysql" => mysql(options, compat)?,
        "pgsql" => pgsql(options)?,
        _ => vec![sqlite(options)],
    };
    let build = clients_of(kind, kinds)
        .ok_or_else(|| Refusal::fatal(format!("database driver {name} is not in this build")))?;
    let servers: Result<_, _> = targets.iter().map(|target| server(build, target)).collect();
    Ok((targets.into_iter().map(|target| target.address).collect(), servers?))
}

/// Returns the client of the driver of this name, if scripts can use it.
pub fn clients_of(name: &str, kinds: Kinds) -> Option<BuildClients> {
    kinds.iter().find(|kind| kind.name == name)?.clients
}

/// Creates the server of a target.
///
/// # Errors
/// An error in the target.
pub fn server(build: BuildClients, target: &Target) -> Result<Server, Refusal> {
    let fatal = |error: Error| Refusal::fatal(error.to_string());
    let endpoint = match target.address {
        Address::File(_) | Address::None => None,
        _ => match Endpoint::resolve(target) {
            Ok(endpoint) => Some(endpoint),
            // Scripts get the error when they connect.
            Err(unknown) => {
                let clients = Box::new(move || Err(unknown.clone()));
                return Ok(Server { clients, endpoint: None });
            }
        },
    };
    Ok(Server { clients: build(target).map_err(fatal)?, endpoint })
}

fn target(driver: &str, address: Address) -> Target {
    Target {
        driver: driver.into(),
        address,
        user: String::new(),
        password: Secret(String::new()),
        database: String::new(),
        protocol: Protocol::Prepared,
        tls: Tls::Off,
        tls_extras: TlsExtras::default(),
        login: Default::default(),
        session_sql: Vec::new(),
        read_only: false,
        options: BTreeMap::new(),
    }
}

/// Each socket that is given; else each host with each port. `localhost` is the server's socket, as
/// MySQL's own clients have it, where there is one.
fn mysql(options: &Options, compat: Compat) -> Result<Vec<Target>, Refusal> {
    let mut addresses = Vec::new();
    for socket in options.list("mysql-socket") {
        addresses.push(Address::Unix(PathBuf::from(socket)));
    }
    if addresses.is_empty() {
        for host in options.list("mysql-host") {
            for port in options.list("mysql-port") {
                addresses.push(mysql_address(host, parse_port("mysql-port", port)?));
            }
        }
    }
    if addresses.is_empty() {
        return Err(Refusal::fatal(
            "--mysql-host and --mysql-port: at least one of each is needed",
        ));
    }
    let tls = mysql_tls(options, compat)?;
    let tls_extras = mysql_tls_extras(options);
    let login = mysql_login(options)?;
    let compression = mysql_compression(options, compat)?;
    Ok(addresses
        .into_iter()
        .map(|address| Target {
            user: options.text("mysql-user").into(),
            password: Secret(options.text("mysql-password").into()),
            database: options.text("mysql-db").into(),
            tls: tls.clone(),
            tls_extras: tls_extras.clone(),
            login: login.clone(),
            options: BTreeMap::from([("compression".into(), compression.into())]),
            ..target("mysql", address)
        })
        .collect())
}

fn mysql_address(host: &str, port: u16) -> Address {
    let named = std::env::var_os("MYSQL_UNIX_PORT").map(PathBuf::from);
    let usual = || MYSQL_SOCKETS.iter().map(PathBuf::from).find(|path| path.exists());
    match named.or_else(usual) {
        Some(socket) if host == "localhost" => Address::Unix(socket),
        _ => Address::Tcp { host: host.into(), port },
    }
}

fn mysql_tls(options: &Options, compat: Compat) -> Result<Tls, Refusal> {
    let authority = options.text("mysql-ssl-ca");
    let verified = || match authority {
        "" => Tls::Verify,
        path => Tls::Ca(PathBuf::from(path)),
    };
    if compat == Compat::V1_0 {
        let is_asked = options.bool("mysql-ssl") || !options.text("mysql-ssl-cert").is_empty();
        return Ok(match (is_asked, authority) {
            (false, "") => Tls::Off,
            (true, "") => Tls::Require,
            _ => verified(),
        });
    }
    let mode = options.text("mysql-ssl");
    match mode.to_ascii_lowercase().as_str() {
        "disabled" | "off" => Ok(Tls::Off),
        "preferred" => Ok(Tls::Prefer),
        "required" | "on" => Ok(Tls::Require),
        "verify_ca" if !authority.is_empty() => Ok(Tls::Chain(PathBuf::from(authority))),
        "verify_ca" | "verify_identity" => Ok(verified()),
        _ => Err(Refusal::fatal(format!("Invalid value for --mysql-ssl: {mode}"))),
    }
}

fn mysql_tls_extras(options: &Options) -> TlsExtras {
    let path = |name| match options.text(name) {
        "" => None,
        path => Some(PathBuf::from(path)),
    };
    let ciphers = options.text("mysql-ssl-cipher").split([':', ',']).map(str::trim);
    TlsExtras {
        certificate: path("mysql-ssl-cert"),
        key: path("mysql-ssl-key"),
        ciphers: ciphers.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
    }
}

/// What libmysqlclient allows a server: its environment variable for clear text, and the RSA key that
/// it would take from an option of its own.
fn mysql_login(options: &Options) -> Result<LoginRules, Refusal> {
    let name = "mysql-server-public-key";
    let read = |path| {
        std::fs::read_to_string(path)
            .map_err(|why| Refusal::fatal(format!("--{name}: {path} cannot be read: {why}")))
    };
    let server_public_key = match options.text(name) {
        "" => None,
        "get" => Some(PublicKey::Get),
        path => Some(PublicKey::Pem(read(path)?)),
    };
    let clear = std::env::var("LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN");
    let cleartext_password = clear.is_ok_and(|word| word.starts_with(['1', 'Y', 'y']));
    Ok(LoginRules { cleartext_password, server_public_key })
}

/// What the client's option `compression` is to be.
fn mysql_compression(options: &Options, compat: Compat) -> Result<&'static str, Refusal> {
    if !options.bool("mysql-compression") {
        return Ok("off");
    }
    if compat == Compat::V1_0 {
        return Ok("zlib");
    }
    let list = options.text("mysql-compression-algorithms");
    let names: Vec<_> = list.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    if names.iter().any(|name| !["zlib", "zstd", "uncompressed"].contains(&name.as_str())) {
        let what = format!("Invalid value for --mysql-compression-algorithms: {list}");
        return Err(Refusal::fatal(what));
    }
    match (has("zlib"), has("uncompressed")) {
        (true, _) => Ok("zlib"),
        (false, true) => Ok("off"),
        (false, false) => Err(Refusal::fatal(
            "--mysql-compression-algorithms: zstd is not supported; use zlib or uncompressed",
        )),
    }
}

/// Expands a list of hosts. An empty one, or a directory, means the server's socket.
fn pgsql(options: &Options) -> Result<Vec<Target>, Refusal> {
    let port = options.int("pgsql-port");
    let port = parse_port("pgsql-port", &port.to_string())?;
    let tls = pgsql_tls(options.text("pgsql-sslmode"))?;
    Ok(options
        .text("pgsql-host")
        .split(',')
        .map(|host| Target {
            user: options.text("pgsql-user").into(),
            password: Secret(options.text("pgsql-password").into()),
            database: options.text("pgsql-db").into(),
            tls: tls.clone(),
            tls_extras: pgsql_tls_extras(),
            // libpq sends it to whoever asks; here TLS or a socket is needed all the same.
            login: LoginRules { cleartext_password: true, server_public_key: None },
            ..target("postgres", pgsql_address(host.trim(), port))
        })
        .collect())
}

fn pgsql_address(host: &str, port: u16) -> Address {
    let socket = |folder: &str| Path::new(folder).join(format!(".s.PGSQL.{port}"));
    if host.starts_with('/') {
        return Address::Unix(socket(host));
    }
    if host.is_empty() {
        let found = PGSQL_SOCKETS.iter().map(|folder| socket(folder)).find(|path| path.exists());
        return Address::Unix(found.unwrap_or_else(|| socket(PGSQL_SOCKETS[0])));
    }
    Address::Tcp { host: host.into(), port }
}

/// libpq's words, with its environment.
fn pgsql_tls(mode: &str) -> Result<Tls, Refusal> {
    let roots = std::env::var_os("PGSSLROOTCERT").map(PathBuf::from);
    match (mode, roots) {
        ("disable", _) => Ok(Tls::Off),
        ("allow" | "prefer", _) => Ok(Tls::Prefer),
        ("require", _) => Ok(Tls::Require),
        ("verify-ca", Some(path)) => Ok(Tls::Chain(path)),
        ("verify-full", Some(path)) => Ok(Tls::Ca(path)),
        // The system's authorities sign for everybody: only the name tells the server from others.
        ("verify-ca" | "verify-full", None) => Ok(Tls::Verify),
        _ => Err(Refusal::fatal(format!("Invalid value for --pgsql-sslmode: {mode}"))),
    }
}

fn pgsql_tls_extras() -> TlsExtras {
    let path = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    TlsExtras { certificate: path("PGSSLCERT"), key: path("PGSSLKEY"), ciphers: vec![] }
}

fn sqlite(options: &Options) -> Target {
    target("sqlite", Address::File(PathBuf::from(options.text("sqlite-db"))))
}

fn parse_port(name: &str, text: &str) -> Result<u16, Refusal> {
    text.trim()
        .parse::<u16>()
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| Refusal::fatal(format!("Invalid value for --{name}: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::options::given::Given;
    use crate::command::options::resolve::{Unknown, resolve};
    use crate::command::options::table;

    fn options(args: &[&str], compat: Compat) -> Options {
        let given: Vec<_> = args.iter().filter_map(|arg| Given::parse(arg)).collect();
        resolve(&table::all(compat), &given, Unknown::Refused).unwrap()
    }

    fn addresses(targets: Vec<Target>) -> Vec<Address> {
        targets.into_iter().map(|target| target.address).collect()
    }

    #[test]
    fn connections_go_round_hosts_and_ports_or_sockets() {
        let given = options(&["--mysql-host=a,b", "--mysql-port=1,2"], Compat::V1_0);
        let tcp = |host: &str, port| Address::Tcp { host: host.into(), port };
        let wanted = [tcp("a", 1), tcp("a", 2), tcp("b", 1), tcp("b", 2)];
        assert_eq!(addresses(mysql(&given, Compat::V1_0).unwrap()), wanted);
        let given = options(&["--mysql-socket=/x,/y", "--mysql-host=a"], Compat::V1_0);
        let unix = |path: &str| Address::Unix(path.into());
        assert_eq!(addresses(mysql(&given, Compat::V1_0).unwrap()), [unix("/x"), unix("/y")]);
        let given = options(&["--pgsql-host=a,/run/x", "--pgsql-port=7"], Compat::V1_0);
        assert_eq!(addresses(pgsql(&given).unwrap()), [tcp("a", 7), unix("/run/x/.s.PGSQL.7")]);
    }

    #[test]
    fn encryption_is_what_each_version_calls_it() {
        let tls = |args: &[&str], compat| mysql_tls(&options(args, compat), compat);
        assert_eq!(tls(&[], Compat::V1_0), Ok(Tls::Off));
        assert_eq!(tls(&["--mysql-ssl"], Compat::V1_0), Ok(Tls::Require));
        assert_eq!(tls(&["--mysql-ssl-ca=/ca"], Compat::V1_0), Ok(Tls::Ca("/ca".into())));
        assert_eq!(tls(&["--mysql-ssl-cert=/c"], Compat::V1_0), Ok(Tls::Require));
        assert_eq!(tls(&["--mysql-ssl=verify_ca"], Compat::V1_1), Ok(Tls::Verify));
        let with_ca =
            |word: &str| tls(&[&format!("--mysql-ssl={word}"), "--mysql-ssl-ca=/ca"], Compat::V1_1);
        assert_eq!(with_ca("VERIFY_CA"), Ok(Tls::Chain("/ca".into())));
        assert_eq!(with_ca("VERIFY_IDENTITY"), Ok(Tls::Ca("/ca".into())));
        assert!(tls(&["--mysql-ssl=foo"], Compat::V1_1).is_err());
        assert_eq!(pgsql_tls("prefer"), Ok(Tls::Prefer));
        assert!(pgsql_tls("sometimes").is_err());
    }

    #[test]
    fn certificates_and_ciphers_are_passed_on() {
        let args = ["--mysql-ssl-cert=c", "--mysql-ssl-key=k", "--mysql-ssl-cipher=A:B"];
        for compat in [Compat::V1_0, Compat::V1_1] {
            let target = mysql(&options(&args, compat), compat).unwrap().remove(0);
            let extras = TlsExtras {
                certificate: Some("c".into()),
                key: Some("k".into()),
                ciphers: vec!["A".into(), "B".into()],
            };
            assert_eq!(target.tls_extras, extras);
        }
    }

    #[test]
    fn compression_is_zlib_where_it_is_asked_for_and_may_be() {
        let compression = |list: &[&str], compat| mysql_compression(&options(list, compat), compat);
        assert_eq!(compression(&[], Compat::V1_0), Ok("off"));
        assert_eq!(compression(&["--mysql-compression"], Compat::V1_0), Ok("zlib"));
        for (list, wanted) in [
            ("zlib", Some("zlib")),
            ("zstd,ZLIB", Some("zlib")),
            ("uncompressed", Some("off")),
            ("zstd", None),
            ("lz4", None),
        ] {
            let list = format!("--mysql-compression-algorithms={list}");
            let got = compression(&["--mysql-compression", &list], Compat::V1_1);
            assert_eq!(got.ok(), wanted, "{list}");
        }
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        for arg in ["--db-ps-mode=foo", "--mysql-port=abc"] {
            let given = options(&[arg], Compat::V1_0);
            assert!(databases(&given, Compat::V1_0, &[]).is_err(), "{arg}");
        }
    }
}
