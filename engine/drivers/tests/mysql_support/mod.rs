//! A blocking loop around a [`Wire`], and a private MariaDB or MySQL.

use dyno_core::driver::{Progress, Reply, Session, Wire};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, LoginRules, PublicKey, Target};
use dyno_core::workload::{Op, Request, Transaction};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Timeout for a server that is starting or answering.
const PATIENCE: Duration = Duration::from_secs(120);

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// One connection, driven to the end of each request.
pub struct Connection {
    pub wire: Box<dyn Wire>,
    stream: Box<dyn Stream>,
    input: Vec<u8>,
    out: Vec<u8>,
    pub received_bytes: u64,
}

impl Connection {
    /// Connects and logs in.
    pub fn open(target: &Target, statements: &[Request]) -> Result<Self> {
        let mut this = Self::connect(target, statements)?;
        match this.wait()? {
            Progress::Ready => Ok(this),
            other => panic!("{other:?} where Ready was due"),
        }
    }

    /// The first progress of a login.
    pub fn first_progress(target: &Target) -> Progress {
        Self::connect(target, &[]).unwrap().wait().unwrap()
    }

    fn connect(target: &Target, statements: &[Request]) -> Result<Self> {
        let driver = (dyno_drivers::mysql::KIND.build)(target, statements.into())?;
        let Session::Wire(mut wire) = driver.session(0)? else { panic!("mysql is a wire") };
        let lost = |why: std::io::Error| Error::new(Kind::Connection, why.to_string());
        let (stream, secure): (Box<dyn Stream>, bool) = match &target.address {
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).map_err(lost)?;
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                (Box::new(stream), false)
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).map_err(lost)?;
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                (Box::new(stream), true)
            }
            other => panic!("not a network address: {other:?}"),
        };
        let mut out = vec![];
        wire.connected(secure, &mut out);
        Ok(Self { wire, stream, input: vec![], out, received_bytes: 0 })
    }

    /// Sends the pending bytes; reads until the wire reports progress.
    pub fn wait(&mut self) -> Result<Progress> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let (consumed, progress) = self.wire.receive(&self.input, &mut self.out)?;
            self.input.drain(..consumed);
            self.flush()?;
            if progress != Progress::More {
                return Ok(progress);
            }
            if consumed > 0 && !self.input.is_empty() {
                continue;
            }
            let count = self
                .stream
                .read(&mut buffer)
                .map_err(|why| Error::new(Kind::Connection, why.to_string()))?;
            if count == 0 {
                return Err(Error::new(Kind::Connection, "end of file"));
            }
            self.received_bytes += count as u64;
            self.input.extend_from_slice(&buffer[..count]);
        }
    }

    /// Sends the wire's output.
    pub fn flush(&mut self) -> Result<()> {
        self.stream
            .write_all(&self.out)
            .map_err(|why| Error::new(Kind::Connection, why.to_string()))?;
        self.out.clear();
        Ok(())
    }

    fn reply(&mut self) -> Result<Reply> {
        match self.wait()? {
            Progress::Reply(reply) => Ok(reply),
            other => panic!("{other:?} where a reply was due"),
        }
    }

    /// Sends one operation and waits for its reply.
    pub fn request(&mut self, op: &Op, tx: &Transaction) -> Result<Reply> {
        self.send(op, tx)?;
        self.reply()
    }

    /// Sends one operation.
    pub fn send(&mut self, op: &Op, tx: &Transaction) -> Result<()> {
        self.wire.request(op, tx, &mut self.out);
        self.flush()
    }

    /// Runs a statement given as text.
    pub fn query(&mut self, sql: &str) -> Result<Reply> {
        self.wire.query(sql, &mut self.out);
        self.reply()
    }

    /// Runs a statement that must succeed.
    pub fn must(&mut self, sql: &str) -> Reply {
        let reply = self.query(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        assert_eq!(reply.error, None, "{sql}");
        reply
    }

    /// First column of the first row, as text.
    pub fn value(&mut self, sql: &str) -> Option<String> {
        self.must(sql);
        self.wire.first_row().first().cloned().flatten()
    }

    /// Loads rows in the driver's bulk format, in the given pieces.
    pub fn load(&mut self, table: &str, columns: &[&str], pieces: &[&[u8]]) -> Result<Reply> {
        self.wire.bulk(table, columns, &mut self.out);
        match self.wait()? {
            Progress::WantData => {}
            Progress::Reply(reply) => return Ok(reply),
            other => panic!("{other:?} where WantData was due"),
        }
        for piece in pieces {
            self.wire.bulk_data(piece, &mut self.out);
            self.flush()?;
        }
        self.wire.bulk_end(&mut self.out);
        self.reply()
    }
}

/// A private server on loopback; dropping it stops and removes it.
pub struct Server {
    child: Child,
    directory: PathBuf,
    pub port: u16,
}

impl Server {
    /// Starts a MariaDB; None, with a message, if it is not installed (an error under CI).
    pub fn mariadb(settings: &str) -> Option<Self> {
        if !Path::new("/usr/sbin/mariadbd").exists() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "mariadbd is missing");
            eprintln!("skipped: MariaDB is missing; `make servers` installs it");
            return None;
        }
        let install = ["--auth-root-authentication-method=normal", "--skip-test-db"];
        let settings = format!("innodb_log_file_size=8M\n{settings}");
        Some(Self::start("mariadb-install-db", &install, "/usr/sbin/mariadbd", &settings))
    }

    /// Starts a MySQL 8 or 9; None, with a message, if no private prefix has one.
    pub fn mysql(settings: &str) -> Option<Self> {
        let Some(base) = mysql_base() else {
            eprintln!("skipped: MySQL is missing; `make servers` puts it into a private prefix");
            return None;
        };
        let at = base.display();
        let settings = format!(
            "basedir={at}\nplugin-dir={at}/lib/mysql/plugin\nlc-messages-dir={at}/share/mysql\n\
             character-sets-dir={at}/share/mysql/charsets\nsecure-file-priv=NULL\nmysqlx=OFF\n\
             performance_schema=OFF\nskip-log-bin\n{settings}"
        );
        let program = format!("{at}/sbin/mysqld");
        Some(Self::start(&program, &["--initialize-insecure"], &program, &settings))
    }

    fn start(installer: &str, install: &[&str], program: &str, settings: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let directory =
            std::env::temp_dir().join(format!("dbdyno-mysql-{}-{port}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let at = directory.display();
        let config = format!(
            "[mysqld]\ndatadir={at}/data\nsocket={at}/sock\nport={port}\nbind-address=127.0.0.1\n\
             pid-file={at}/pid\nlog-error={at}/log\ntmpdir={at}\nskip-name-resolve\n\
             innodb_buffer_pool_size=16M\n{settings}\n"
        );
        std::fs::write(directory.join("my.cnf"), config).unwrap();
        std::fs::create_dir(directory.join("data")).unwrap();
        give_away(&directory);
        let defaults = format!("--defaults-file={at}/my.cnf");
        let output = unprivileged(installer).arg(&defaults).args(install).output().unwrap();
        let log = std::fs::read_to_string(directory.join("log")).unwrap_or_default();
        assert!(output.status.success(), "{log}{}", String::from_utf8_lossy(&output.stderr));
        let child = unprivileged(program)
            .arg(&defaults)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let this = Self { child, directory, port };
        this.await_ready();
        this
    }

    fn await_ready(&self) {
        let start = Instant::now();
        while UnixStream::connect(self.socket()).is_err() {
            let log = || std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(start.elapsed() < PATIENCE, "the server does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Path of its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join("sock")
    }

    /// A connection of root over the socket.
    pub fn root(&self) -> Connection {
        Connection::open(&target(Address::Unix(self.socket()), "root", "", ""), &[]).unwrap()
    }

    /// Its TCP address.
    pub fn tcp(&self) -> Address {
        Address::Tcp { host: "127.0.0.1".into(), port: self.port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The data is temporary: a kill loses nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// `usr` of the first prefix that contains a MySQL: the requested, the repository's, the machine's.
fn mysql_base() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    let asked = std::env::var_os("DYNO_MYSQL_BASEDIR").map(PathBuf::from);
    let prefix = std::env::var_os("DYNO_PREFIX").map(|prefix| PathBuf::from(prefix).join("mysql"));
    [asked, prefix, Some(root.join(".prefix/mysql")), Some("/var/lib/dbdyno/prefix/mysql".into())]
        .into_iter()
        .flatten()
        .map(|base| base.join("usr"))
        .find(|base| base.join("sbin/mysqld").exists())
}

/// A target without options. The server belongs to the test, so its key is trusted.
pub fn target(address: Address, user: &str, password: &str, database: &str) -> Target {
    Target {
        driver: "mysql".into(),
        address,
        user: user.into(),
        password: dyno_core::plan::Secret(password.into()),
        database: database.into(),
        protocol: Default::default(),
        tls: Default::default(),
        tls_extras: Default::default(),
        login: LoginRules { cleartext_password: false, server_public_key: Some(PublicKey::Get) },
        session_sql: vec![],
        read_only: false,
        options: Default::default(),
    }
}

/// The package's own account, if the test runs as root.
fn server_account() -> Option<(u32, u32)> {
    if std::fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m)).ok()? != 0 {
        return None;
    }
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = passwd.lines().find(|line| line.starts_with("mysql:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn give_away(directory: &Path) {
    let Some((uid, gid)) = server_account() else { return };
    for path in [directory.to_path_buf(), directory.join("data"), directory.join("my.cnf")] {
        chown(path, Some(uid), Some(gid)).unwrap();
    }
}

fn unprivileged(program: &str) -> Command {
    let Some((uid, gid)) = server_account() else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.args([
        &format!("--reuid={uid}"),
        &format!("--regid={gid}"),
        "--clear-groups",
        // The server also ends when the test itself is killed.
        "--pdeathsig=KILL",
        program,
    ]);
    command
}
