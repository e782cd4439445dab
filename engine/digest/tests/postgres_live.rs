//! Logs of a real, private PostgreSQL: the three forms agree with each other and with the load.

use dyno_digest::event::{Event, Kind};
use dyno_digest::logs::format::{Context, Settings};
use dyno_digest::logs::formats::FORMATS;
use dyno_digest::sink::{Part, Sink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Number of runs of pgbench's statement.
const TIMES: usize = 20;

const STATEMENTS: &str = "\
create table t (a int, b text);
insert into t select g, 'x' || g from generate_series(1, 5000) g;
select *
\tfrom t
  where a = 1 and b = 'O''Brien';
select nothing from nowhere;
select 1/0;
select 1 as \"a,\"\"b\";
load 'auto_explain';
set auto_explain.log_min_duration = 0;
select count(*) from t where a < 4;
set auto_explain.log_format = json;
select count(*) from t where a < 5;
set auto_explain.log_min_duration = -1;
set log_min_duration_statement = -1;
set log_statement = 'all';
set log_duration = on;
select 'joined';
select 2/0;
";

const PREPARED: &str = "select a from t where a = :client_id;\n";

/// An event of a log: (kind, duration in nanoseconds, statement, user, database, error, parameters).
type Told = (Kind, Option<u64>, String, String, String, String, String);

#[derive(Default)]
struct Kept {
    events: Vec<Told>,
    not_understood: Vec<(u64, u64, &'static str)>,
}

impl Sink for Kept {
    fn event(&mut self, event: &Event<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(event.end_ns.is_some());
        self.events.push((
            event.kind,
            event.duration_ns,
            text(event.text),
            text(event.user),
            text(event.database),
            text(event.error),
            text(event.parameters),
        ));
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str) {
        self.not_understood.push((offset, bytes, why));
    }
}

/// A data directory that is removed on drop.
struct Cluster {
    directory: PathBuf,
    binaries: PathBuf,
    port: u16,
}

impl Cluster {
    /// Initialises a cluster; `None`, with a message, if no PostgreSQL server is installed.
    fn new() -> Option<Self> {
        let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
            .filter(|(version, path)| *version >= 15 && path.join("bin/initdb").exists())
            .collect();
        versions.sort();
        let Some((_, path)) = versions.pop() else {
            let say = "no PostgreSQL server of version 15 or later: run `make servers`";
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{say}");
            eprintln!("skipped: {say}");
            return None;
        };
        let directory = std::env::temp_dir().join(format!("dyno-pglog-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("scratch directory");
        if is_root() {
            run(Command::new("chown").arg("postgres:postgres").arg(&directory));
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = listener.local_addr().expect("bound").port();
        let cluster = Self { directory, binaries: path.join("bin"), port };
        run(cluster
            .unprivileged("initdb")
            .args(["-D", "data", "-U", "postgres", "-A", "trust"])
            .args(["-E", "UTF8", "--locale=C", "--no-sync"]));
        Some(cluster)
    }

    fn unprivileged(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        if is_root() {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        }
        command.arg("--").arg(self.binaries.join(program)).current_dir(&self.directory);
        command.env("LC_ALL", "C").stdin(std::process::Stdio::null());
        command
    }

    /// Runs the load on a server with this prefix, and stops it. Returns the logs' path without
    /// extension.
    fn load(&self, name: &str, prefix: &str) -> PathBuf {
        let options = format!(
            "-c port={} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off \
             -c logging_collector=on -c log_destination=stderr,csvlog,jsonlog \
             -c log_directory=. -c log_filename={name}.log -c log_min_duration_statement=0 \
             -c log_connections=on -c log_disconnections=on -c log_timezone=Europe/Berlin \
             -c \"log_line_prefix={prefix}\"",
            self.port
        );
        run(self
            .unprivileged("pg_ctl")
            .args(["-D", "data", "-w", "-l", "start.log"])
            .args(["-o", &options, "start"]));
        let client = |program: &str| {
            let mut command = self.unprivileged(program);
            command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"]);
            command
        };
        std::fs::write(self.directory.join("load.sql"), STATEMENTS).expect("load.sql");
        std::fs::write(self.directory.join("prepared.sql"), PREPARED).expect("prepared.sql");
        // Two of the statements fail; psql continues.
        run(client("psql").args(["-X", "-q", "-o", "/dev/null", "-f", "load.sql", "postgres"]));
        run(client("pgbench").args(["-n", "-M", "prepared", "-f", "prepared.sql"]).args([
            "-t",
            &TIMES.to_string(),
            "postgres",
        ]));
        run(client("psql").args(["-X", "-q", "-c", "drop table t", "postgres"]));
        run(self.unprivileged("pg_ctl").args(["-D", "data", "-w", "-m", "fast", "stop"]));
        self.directory.join("data").join(name)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ =
            self.unprivileged("pg_ctl").args(["-D", "data", "-m", "immediate", "stop"]).output();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn run(command: &mut Command) {
    // Not output(): a started server would keep the pipes open.
    let status = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    assert!(status.status().expect("program starts").success(), "{command:?}");
}

fn read(format: &str, path: &Path) -> Kept {
    let log = std::fs::read(path).expect("log");
    let head = &log[..log.len().min(64 << 10)];
    let detected = FORMATS.iter().find(|kind| (kind.detect)(head)).expect("a format");
    assert_eq!(detected.name, format);
    let format = (detected.open)(&Settings::default(), head).expect("opens");
    let (mut context, mut kept) = (Context::default(), Kept::default());
    let part = Part { bytes: &log, offset: 0, is_last: true };
    assert_eq!(format.read(part, &mut context, &mut kept), log.len());
    let server = format.facts(&context).server.expect("the log says its server");
    assert!(server.starts_with("PostgreSQL 1"), "{server}");
    kept
}

#[test]
fn the_three_logs_tell_what_was_sent() {
    let Some(cluster) = Cluster::new() else { return };
    let prefixes = ["%m [%p] %q%u@%d ", "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h %e "];
    for (name, prefix) in ["first", "second"].into_iter().zip(prefixes) {
        let path = cluster.load(name, prefix);
        let csv = read("postgres-csv", &path.with_extension("csv"));
        let json = read("postgres-json", &path.with_extension("json"));
        let mut lines = read("postgres-stderr", &path.with_extension("log"));
        for kept in [&csv, &json, &lines] {
            assert_eq!(kept.not_understood, []);
        }
        assert_eq!(sorted(&csv.events), sorted(&json.events));
        let mut expected = csv.events.clone();
        if name == "first" {
            // Without %e a log of lines has the severity alone: FATAL for a session that connected
            // while the server was starting.
            for told in expected.iter_mut().filter(|told| !told.5.is_empty()) {
                told.5 = if told.2 == "FATAL" { "FATAL" } else { "ERROR" }.into();
            }
        }
        lines.events.iter_mut().for_each(|told| told.4 = told.4.trim().into());
        assert_eq!(sorted(&lines.events), sorted(&expected));
        sent(&csv.events);
    }
}

/// The events as sorted text: the order of sessions that end and begin at once may differ between logs.
fn sorted(events: &[Told]) -> Vec<String> {
    let mut all: Vec<String> = events.iter().map(|told| format!("{told:?}")).collect();
    all.sort();
    all
}

/// Compares the events of a log with the statements sent.
fn sent(events: &[Told]) {
    let count = |kind: Kind, begin: &str| {
        events.iter().filter(|told| told.0 == kind && told.2.starts_with(begin)).count()
    };
    let statements: Vec<&Told> = events.iter().filter(|told| told.0 == Kind::Statement).collect();
    // psql's except two that switch off their own logging; pgbench's; the last one. Plans are no events.
    assert_eq!(statements.len(), STATEMENTS.matches(';').count() - 2 + TIMES + 1);
    assert!(statements.iter().all(|told| told.3 == "postgres" && told.4 == "postgres"));
    assert!(statements.iter().all(|told| told.1.is_some() == told.5.is_empty()), "{statements:?}");
    let errors: Vec<&str> =
        statements.iter().map(|t| t.5.as_str()).filter(|error| !error.is_empty()).collect();
    assert_eq!(errors, ["42P01", "22012", "22012"]);
    let prepared = "select a from t where a = $1";
    assert_eq!(count(Kind::Statement, prepared), TIMES);
    assert_eq!(count(Kind::Prepare, prepared), 1);
    assert!(events.iter().any(|told| told.6 == "$1 = '0'"));
    assert_eq!(count(Kind::Statement, "select *\n\tfrom t\n  where a = 1 and b = 'O''Brien'"), 1);
    assert_eq!(count(Kind::Statement, "select 1 as \"a,\"\"b\""), 1);
    assert_eq!(count(Kind::Command, "connect"), count(Kind::Command, "quit"));
}
