//! All options that do not depend on the test: names, help lines and defaults, of both dialects, and
//! dbdyno's additions. Help lines are interface: they equal sysbench's exactly.

use crate::options::value;
use crate::options::{Declared, Kind};
use crate::report::Compat;

/// Options under one heading of the help.
pub struct Group {
    /// The heading, without its colon.
    pub title: &'static str,
    /// The options, in the order of the help.
    pub options: Vec<Declared>,
}

/// Name, kind, default as text (none: no default), help line.
type Row = (&'static str, Kind, Option<&'static str>, &'static str);

/// The headings of general options, before the drivers.
pub fn general(compat: Compat) -> Vec<Group> {
    let (first, random) = match compat {
        Compat::V1_0 => ([GENERAL_START, GENERAL_REST, GENERAL_OLD].concat(), RANDOM_OLD),
        Compat::V1_1 => {
            let (limits, shutdown) = GENERAL_START.split_at(3);
            let (stack, rest) = (&shutdown[..2], GENERAL_REST);
            ([limits, WARMUP, stack, INIT, rest, LUAJIT].concat(), RANDOM_NEW)
        }
    };
    vec![
        group("General options", &first),
        group("Pseudo-Random Numbers Generator options", random),
        group("Log options", LOG),
        // A separate heading, which the help omits.
        group("", REPORT),
    ]
}

/// The options of all drivers, which the help lists separately.
pub fn database() -> Vec<Declared> {
    group("", DATABASE).options
}

/// The options of each driver that the help lists.
pub fn drivers(compat: Compat) -> Vec<Group> {
    match compat {
        Compat::V1_0 => vec![
            group("mysql options", &[MYSQL, MYSQL_SSL_OLD, MYSQL_REST].concat()),
            group("pgsql options", PGSQL),
        ],
        Compat::V1_1 => vec![
            group("mysql options", &[MYSQL, MYSQL_SSL_NEW, MYSQL_REST].concat()),
            group("pgsql options", &[PGSQL, PGSQL_TLS].concat()),
        ],
    }
}

/// Options that sysbench of this version does not have.
pub fn ours(compat: Compat) -> Group {
    let rows = match compat {
        Compat::V1_0 => {
            [OURS, WARMUP, INIT, LUAJIT, &RANDOM_NEW[3..], MYSQL_FILES, PGSQL_TLS, OURS_DRIVERS]
                .concat()
        }
        Compat::V1_1 => [OURS, OURS_DRIVERS].concat(),
    };
    group("dbdyno options", &rows)
}

/// Returns all options.
pub fn all(compat: Compat) -> Vec<Declared> {
    let groups = general(compat).into_iter().chain(drivers(compat)).chain([ours(compat)]);
    groups.flat_map(|group| group.options).chain(database()).collect()
}

/// Returns the option that selects the version.
pub fn compat() -> Declared {
    declared(OURS[0])
}

fn group(title: &'static str, rows: &[Row]) -> Group {
    Group { title, options: rows.iter().copied().map(declared).collect() }
}

fn declared((name, kind, default, help): Row) -> Declared {
    let default = default.and_then(|text| value::parse(kind, Some(text)));
    Declared { name: name.to_owned(), help: help.to_owned(), kind, default }
}

const GENERAL_START: &[Row] = &[
    ("threads", Kind::Int, Some("1"), "number of threads to use"),
    ("events", Kind::Int, Some("0"), "limit for total number of events"),
    ("time", Kind::Int, Some("10"), "limit for total execution time in seconds"),
    (
        "forced-shutdown",
        Kind::Text,
        Some("off"),
        "number of seconds to wait after the --time limit before forcing shutdown, or 'off' to disable",
    ),
    ("thread-stack-size", Kind::Size, Some("64K"), "size of stack per thread"),
];

const GENERAL_REST: &[Row] = &[
    ("rate", Kind::Double, Some("0"), "average transactions rate. 0 for unlimited rate"),
    (
        "report-interval",
        Kind::Int,
        Some("0"),
        "periodically report intermediate statistics with a specified interval in seconds. \
      0 disables intermediate reports",
    ),
    (
        "report-checkpoints",
        Kind::List,
        Some(""),
        "dump full statistics and reset all counters at specified points in time. The argument is a \
      list of comma-separated values representing the amount of time in seconds elapsed from start \
      of test when report checkpoint(s) must be performed. Report checkpoints are off by default.",
    ),
    ("debug", Kind::Bool, Some("off"), "print more debugging info"),
    ("validate", Kind::Bool, Some("off"), "perform validation checks where possible"),
    ("help", Kind::Bool, Some("off"), "print help and exit"),
    ("version", Kind::Bool, Some("off"), "print version and exit"),
    ("config-file", Kind::File, None, "File containing command line options"),
];

const GENERAL_OLD: &[Row] = &[
    ("tx-rate", Kind::Double, Some("0"), "deprecated alias for --rate"),
    ("max-requests", Kind::Int, Some("0"), "deprecated alias for --events"),
    ("max-time", Kind::Int, Some("0"), "deprecated alias for --time"),
    ("num-threads", Kind::Int, Some("1"), "deprecated alias for --threads"),
];

const WARMUP: &[Row] = &[(
    "warmup-time",
    Kind::Int,
    Some("0"),
    "execute events for this many seconds with statistics disabled before the actual benchmark \
      run with statistics enabled",
)];

const INIT: &[Row] = &[(
    "thread-init-timeout",
    Kind::Int,
    Some("30"),
    "wait time in seconds for worker threads to initialize",
)];

const LUAJIT: &[Row] = &[(
    "luajit-cmd",
    Kind::Text,
    None,
    "perform LuaJIT control command. This option is equivalent to 'luajit -j'. See LuaJIT \
      documentation for more information",
)];

const RANDOM_OLD: &[Row] = &[
    (
        "rand-type",
        Kind::Text,
        Some("special"),
        "random numbers distribution {uniform,gaussian,special,pareto}",
    ),
    ("rand-spec-iter", Kind::Int, Some("12"), "number of iterations used for numbers generation"),
    (
        "rand-spec-pct",
        Kind::Int,
        Some("1"),
        "percentage of values to be treated as 'special' (for special distribution)",
    ),
    (
        "rand-spec-res",
        Kind::Int,
        Some("75"),
        "percentage of 'special' values to use (for special distribution)",
    ),
    (
        "rand-seed",
        Kind::Int,
        Some("0"),
        "seed for random number generator. When 0, the current time is used as a RNG seed.",
    ),
    ("rand-pareto-h", Kind::Double, Some("0.2"), "parameter h for pareto distribution"),
];

const RANDOM_NEW: &[Row] = &[
    (
        "rand-type",
        Kind::Text,
        Some("uniform"),
        "random numbers distribution {uniform, gaussian, pareto, zipfian} to use by default",
    ),
    (
        "rand-seed",
        Kind::Int,
        Some("0"),
        "seed for random number generator. When 0, the current time is used as an RNG seed.",
    ),
    ("rand-pareto-h", Kind::Double, Some("0.2"), "shape parameter for the Pareto distribution"),
    (
        "rand-zipfian-exp",
        Kind::Double,
        Some("0.8"),
        "shape parameter (exponent, theta) for the Zipfian distribution",
    ),
];

const LOG: &[Row] = &[(
    "verbosity",
    Kind::Int,
    Some("3"),
    "verbosity level {5 - debug, 0 - only critical messages}",
)];

const REPORT: &[Row] = &[
    (
        "percentile",
        Kind::Numbers,
        Some("95"),
        "percentile to calculate in latency statistics (1-100). Use the special value of 0 to disable \
      percentile calculations",
    ),
    ("histogram", Kind::Bool, Some("off"), "print latency histogram in report"),
];

const DATABASE: &[Row] = &[
    (
        "db-driver",
        Kind::Text,
        Some("mysql"),
        "specifies database driver to use ('help' to get list of available drivers)",
    ),
    ("db-ps-mode", Kind::Text, Some("auto"), "prepared statements usage mode {auto, disable}"),
    ("db-debug", Kind::Bool, Some("off"), "print database-specific debug information"),
];

const MYSQL: &[Row] = &[
    ("mysql-host", Kind::List, Some("localhost"), "MySQL server host"),
    ("mysql-port", Kind::List, Some("3306"), "MySQL server port"),
    ("mysql-socket", Kind::List, None, "MySQL socket"),
    ("mysql-user", Kind::Text, Some("sbtest"), "MySQL user"),
    ("mysql-password", Kind::Text, Some(""), "MySQL password"),
    ("mysql-db", Kind::Text, Some("sbtest"), "MySQL database name"),
];

const MYSQL_SSL_OLD: &[Row] = &[
    (
        "mysql-ssl",
        Kind::Bool,
        Some("off"),
        "use SSL connections, if available in the client library",
    ),
    ("mysql-ssl-cipher", Kind::Text, Some(""), "use specific cipher for SSL connections"),
    (
        "mysql-compression",
        Kind::Bool,
        Some("off"),
        "use compression, if available in the client library",
    ),
];

const MYSQL_SSL_NEW: &[Row] = &[
    (
        "mysql-ssl",
        Kind::Text,
        Some("disabled"),
        "SSL mode: disabled, preferred, required, verify_ca or verify_identity",
    ),
    ("mysql-ssl-key", Kind::Text, None, "path name of the client private key file"),
    ("mysql-ssl-ca", Kind::Text, None, "path name of the CA file"),
    ("mysql-ssl-cert", Kind::Text, None, "path name of the client public key certificate file"),
    ("mysql-ssl-cipher", Kind::Text, Some(""), "use specific cipher for SSL connections"),
    (
        "mysql-compression",
        Kind::Bool,
        Some("off"),
        "use compression, if available in the client library",
    ),
    ("mysql-compression-algorithms", Kind::Text, Some("zlib"), "compression algorithms to use"),
];

const MYSQL_REST: &[Row] = &[
    ("mysql-debug", Kind::Bool, Some("off"), "trace all client library calls"),
    (
        "mysql-ignore-errors",
        Kind::List,
        Some("1213,1020,1205"),
        "list of errors to ignore, or \"all\"",
    ),
    (
        "mysql-dry-run",
        Kind::Bool,
        Some("off"),
        "Dry run, pretend that all MySQL client API calls are successful without executing them",
    ),
];

const PGSQL: &[Row] = &[
    ("pgsql-host", Kind::Text, Some("localhost"), "PostgreSQL server host"),
    ("pgsql-port", Kind::Int, Some("5432"), "PostgreSQL server port"),
    ("pgsql-user", Kind::Text, Some("sbtest"), "PostgreSQL user"),
    ("pgsql-password", Kind::Text, Some(""), "PostgreSQL password"),
    ("pgsql-db", Kind::Text, Some("sbtest"), "PostgreSQL database name"),
];

const PGSQL_TLS: &[Row] = &[(
    "pgsql-sslmode",
    Kind::Text,
    Some("prefer"),
    "PostgreSQL SSL mode (disable, allow, prefer, require, verify-ca, verify-full)",
)];

const OURS: &[Row] = &[
    (
        "compat",
        Kind::Text,
        Some("1.0"),
        "sysbench version whose options, defaults and final report are used {1.0, 1.1}",
    ),
    ("json", Kind::File, None, "write the whole result as JSON to this file"),
    ("load-threads", Kind::Int, Some("0"), "threads that drive the sessions; 0 chooses"),
    (
        "dyno-out",
        Kind::File,
        None,
        "leave a run directory for 'dyno report' here (dyno sysbench only)",
    ),
];

const MYSQL_FILES: &[Row] = &[
    ("mysql-ssl-ca", Kind::Text, None, "check the server's certificate against this CA file"),
    ("mysql-ssl-cert", Kind::Text, None, "log in with the certificate in this file"),
    ("mysql-ssl-key", Kind::Text, None, "private key file of that certificate"),
];

const OURS_DRIVERS: &[Row] = &[
    (
        "mysql-server-public-key",
        Kind::Text,
        None,
        "without SSL, send the password under the server's RSA key: its PEM file, or 'get' to take \
      the key that the server shows",
    ),
    (
        "pgsql-ignore-errors",
        Kind::List,
        Some("40P01,40001,23505"),
        "list of SQLSTATEs to ignore, or \"all\"",
    ),
    ("sqlite-db", Kind::File, Some("sbtest.db"), "SQLite database file"),
    (
        "sqlite-ignore-errors",
        Kind::List,
        Some("5,6"),
        "list of SQLite error codes to ignore, or \"all\"",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_option_stands_once_and_its_default_is_of_its_kind() {
        for compat in [Compat::V1_0, Compat::V1_1] {
            let mut seen = BTreeSet::new();
            for option in all(compat) {
                assert!(seen.insert(option.name.clone()), "{}", option.name);
                assert!(
                    !option.name.contains('_') && !option.help.contains("  "),
                    "{}",
                    option.name
                );
            }
            assert!(seen.contains("pgsql-sslmode") && seen.contains("warmup-time"));
            assert_eq!(seen.contains("max-requests"), compat == Compat::V1_0);
        }
        let without_default = |rows: &[Row]| -> Vec<_> {
            let bad = |row: &&Row| row.2.is_some() && declared(**row).default.is_none();
            rows.iter().filter(bad).map(|row| row.0).collect()
        };
        for rows in [
            GENERAL_START,
            GENERAL_REST,
            GENERAL_OLD,
            WARMUP,
            INIT,
            RANDOM_OLD,
            RANDOM_NEW,
            LOG,
            REPORT,
            DATABASE,
            MYSQL,
            MYSQL_SSL_OLD,
            MYSQL_SSL_NEW,
            MYSQL_REST,
            PGSQL,
            PGSQL_TLS,
            OURS,
            OURS_DRIVERS,
        ] {
            assert_eq!(without_default(rows), Vec::<&str>::new());
        }
    }
}
