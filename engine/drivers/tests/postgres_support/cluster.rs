//! A private PostgreSQL cluster: own directory, loopback and a socket in that directory only, run
//! unprivileged, stopped and removed with the last test that uses it. It ends with this process.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::time::{Duration, Instant};

/// Authentication rules. [`Cluster::start`] creates the roles; all have the password `pencil`.
const HBA: &str = "\
local all postgres trust
local all clear_user password
host all trust_user 127.0.0.1/32 trust
host all limited_user 127.0.0.1/32 trust
host all md5_user 127.0.0.1/32 md5
host all scram_user 127.0.0.1/32 scram-sha-256
host all clear_user 127.0.0.1/32 password
";

const ROLES: &str = "\
SET password_encryption = md5;
CREATE ROLE md5_user LOGIN PASSWORD 'pencil';
SET password_encryption = 'scram-sha-256';
CREATE ROLE scram_user LOGIN PASSWORD 'pencil';
CREATE ROLE clear_user LOGIN PASSWORD 'pencil';
CREATE ROLE trust_user LOGIN SUPERUSER;
CREATE ROLE limited_user LOGIN CONNECTION LIMIT 0;
";

/// A running server.
pub struct Cluster {
    directory: PathBuf,
    /// Port on 127.0.0.1.
    pub port: u16,
    pid: i32,
    /// Receives a message when the server process has ended.
    gone: Mutex<mpsc::Receiver<()>>,
}

/// The server that the running tests share; `None`, with a message, if PostgreSQL is not installed.
pub fn shared() -> Option<Arc<Cluster>> {
    static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(cluster) = shared.upgrade() {
        return Some(cluster);
    }
    let Some(binaries) = binaries() else {
        let say = "no PostgreSQL server found: install it with `make servers`";
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{say}");
        eprintln!("skipped: {say}");
        return None;
    };
    let cluster = Arc::new(Cluster::start(&binaries));
    *shared = Arc::downgrade(&cluster);
    Some(cluster)
}

/// Directory of `initdb` and `postgres`: from PATH, or Debian's of the highest version.
fn binaries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    debian.sort();
    std::env::split_paths(&path)
        .chain(debian.into_iter().rev().map(|(_, path)| path))
        .find(|directory| directory.join("initdb").exists() && directory.join("postgres").exists())
}

/// Runs `program` in `directory`, under the package's account if the test is root, since PostgreSQL
/// refuses to run as root.
fn unprivileged(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    // Shuts the server down if this process is killed. Not INT, which a shell's background job
    // ignores and its children inherit.
    command.args(["--pdeathsig", "TERM", "--"]).arg(program).current_dir(directory);
    command.stdin(Stdio::null());
    command
}

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn run(command: &mut Command) {
    let output = command.output().expect("program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Cluster {
    fn start(binaries: &Path) -> Self {
        let directory = scratch();
        let data = directory.join("data");
        run(unprivileged(&binaries.join("initdb"), &directory)
            .args(["-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"])
            .arg("--locale=C"));
        std::fs::write(data.join("pg_hba.conf"), HBA).expect("pg_hba.conf");
        certificate(&data);
        let port = free_port();
        let config = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\n\
             unix_socket_directories = '{}'\nmax_connections = 30\nfsync = off\n\
             shared_buffers = 32MB\ndeadlock_timeout = 100ms\nlog_min_messages = fatal\n",
            directory.display()
        );
        let mut file = std::fs::File::options()
            .append(true)
            .open(data.join("postgresql.conf"))
            .expect("postgresql.conf");
        file.write_all(config.as_bytes()).expect("postgresql.conf");
        let log = std::fs::File::create(directory.join("log")).expect("log");
        let mut command = unprivileged(&binaries.join("postgres"), &directory);
        command.args(["-D", "data"]).stdout(Stdio::null()).stderr(log);
        let (pid, gone) = keep(command);
        let cluster = Self { directory, port, pid, gone: Mutex::new(gone) };
        cluster.wait_until_ready();
        let mut admin = cluster.admin();
        for role in ROLES.lines() {
            admin.run(role);
        }
        cluster
    }

    /// Path of the socket file.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(format!(".s.PGSQL.{}", self.port))
    }

    /// A superuser's session over the socket.
    pub fn admin(&self) -> super::client::Client {
        super::client::Client::connect(&self.local("postgres"), &[]).expect("superuser logs in")
    }

    fn wait_until_ready(&self) {
        let end = Instant::now() + Duration::from_secs(120);
        while super::client::Client::connect(&self.local("postgres"), &[]).is_err() {
            if Instant::now() > end {
                let log = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                panic!("PostgreSQL does not come up: {log}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SAFETY: the child is ours and has not been waited for unless `gone` has received a
        // message, which only this function reads.
        unsafe { libc::kill(self.pid, libc::SIGINT) };
        let gone = self.gone.get_mut().expect("not poisoned");
        if gone.recv_timeout(Duration::from_secs(30)).is_err() {
            eprintln!("PostgreSQL (pid {}) does not stop", self.pid);
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Starts the server from a thread that lives as long as the server: the kernel's parent-death
/// signal follows the thread, not the process.
fn keep(mut command: Command) -> (i32, mpsc::Receiver<()>) {
    let (started, pid) = mpsc::channel();
    let (over, gone) = mpsc::channel();
    std::thread::spawn(move || {
        let mut child: Child = command.spawn().expect("postgres starts");
        let _ = started.send(child.id() as i32);
        let _ = child.wait();
        let _ = over.send(());
    });
    (pid.recv().expect("postgres starts"), gone)
}

/// A new directory that the package's account may use.
fn scratch() -> PathBuf {
    let stamp = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("clock after 1970")
        .as_nanos();
    let directory =
        std::env::temp_dir().join(format!("dyno-pg-{}-{}", std::process::id(), stamp % 1_000_000));
    std::fs::create_dir(&directory).expect("scratch directory");
    if is_root() {
        run(Command::new("chown").arg("postgres:postgres").arg(&directory));
    }
    directory
}

/// A self-signed certificate; the test that needs TLS enables it.
fn certificate(data: &Path) {
    run(Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-keyout", "server.key", "-out", "server.crt"])
        .current_dir(data));
    if is_root() {
        run(Command::new("chown")
            .args(["postgres:postgres", "server.key", "server.crt"])
            .current_dir(data));
    }
    run(Command::new("chmod").args(["0600", "server.key"]).current_dir(data));
}

/// A port that was free at the time of the call.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    listener.local_addr().expect("bound").port()
}
