//! Real files in a temporary directory.

use super::*;
use dyno_core::driver::{Blocking, Reply};
use dyno_core::plan::{Protocol, TlsExtras};
use dyno_core::workload::Transaction;
use serde_json::json;
use std::fs;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const BLOCK: u32 = 8192;
const READ: u16 = 0;
const WRITE: u16 = 1;
const SYNC: u16 = 2;
const SYNC_DATA: u16 = 3;

fn set() -> FileSet {
    FileSet { name: "io".into(), files: 2, file_bytes: 4 * u64::from(BLOCK) }
}

fn requests(bytes: u32) -> Arc<[Request]> {
    let set = Arc::new(set());
    Arc::new([
        Request::io("read", &set, FileVerb::Read { bytes }),
        Request::io("write", &set, FileVerb::Write { bytes }),
        Request::io("fsync", &set, FileVerb::Sync),
        Request::io("fdatasync", &set, FileVerb::SyncData),
    ])
}

fn target(directory: &Path, options: serde_json::Value) -> Target {
    Target {
        driver: "files".into(),
        address: Address::File(directory.to_owned()),
        user: String::new(),
        password: Default::default(),
        database: String::new(),
        protocol: Protocol::Prepared,
        tls: Tls::Off,
        tls_extras: TlsExtras::default(),
        login: Default::default(),
        session_sql: vec![],
        read_only: false,
        options: serde_json::from_value(options).expect("an object"),
    }
}

fn open(target: &Target, requests: Arc<[Request]>) -> Result<Box<dyn Blocking>> {
    match (KIND.build)(target, requests)?.session(0)? {
        Session::Blocking(session) => Ok(session),
        _ => panic!("files block"),
    }
}

fn loaded() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mut session = open(&target(directory.path(), json!({})), Arc::new([])).expect("a session");
    let mut told = 0;
    let held = session.create_files(&set(), 7, &mut |more| told += more).expect("room");
    assert_eq!((held, told), (8 * u64::from(BLOCK), held));
    directory
}

fn run(session: &mut dyn Blocking, request: u16, params: &[i64]) -> Reply {
    let mut tx = Transaction::default();
    params.iter().for_each(|&param| tx.int(param));
    tx.op(request);
    session.execute(&tx.ops[0], &tx, MINUTE).expect("the session lives")
}

fn code(reply: &Reply) -> &str {
    reply.error.as_ref().map_or("", |error| &error.code)
}

#[test]
fn a_block_is_moved_and_made_durable_whatever_the_way() {
    for options in
        [json!({}), json!({"sync": "dsync"}), json!({"sync": "sync"}), json!({"method": "mmap"})]
    {
        let directory = loaded();
        let file = directory.path().join("io.1");
        let before = fs::read(&file).expect("a file");
        let block = BLOCK as usize;
        let s = &mut *open(&target(directory.path(), options), requests(BLOCK)).expect("opened");
        let read = run(s, READ, &[1, 0]);
        assert_eq!((read.rows, read.affected, code(&read)), (1, 0, ""));
        // Writes send the data of the last read.
        let written = run(s, WRITE, &[1, 3 * i64::from(BLOCK)]);
        assert_eq!((written.rows, written.affected, code(&written)), (0, 1, ""));
        assert_eq!(code(&run(s, SYNC, &[1])), "");
        assert_eq!(code(&run(s, SYNC_DATA, &[0])), "");
        let after = fs::read(&file).expect("a file");
        assert_eq!(after[..3 * block], before[..3 * block]);
        assert_eq!(after[3 * block..], before[..block]);
    }
}

#[test]
fn files_are_random_and_follow_from_the_seed() {
    let (one, two) = (loaded(), loaded());
    let read = |of: &tempfile::TempDir, name| fs::read(of.path().join(name)).expect("a file");
    assert_eq!(read(&one, "io.0"), read(&two, "io.0"));
    assert_ne!(read(&one, "io.0"), read(&one, "io.1"));
    let zeros = read(&one, "io.0").iter().filter(|&&byte| byte == 0).count();
    assert!(zeros < 400, "{zeros} of 32768 bytes are 0");
}

#[test]
fn what_the_system_refuses_is_data() {
    for (options, beyond) in [(json!({}), "EOF"), (json!({"method": "mmap"}), "SIGBUS")] {
        let directory = loaded();
        let s = &mut *open(&target(directory.path(), options), requests(BLOCK)).expect("opened");
        let file = fs::OpenOptions::new().write(true).open(directory.path().join("io.0"));
        file.expect("a file").set_len(u64::from(BLOCK) / 2).expect("shorter");
        let reply = run(s, READ, &[0, 2 * i64::from(BLOCK)]);
        assert_eq!(code(&reply), beyond);
        let error = reply.error.expect("an error");
        assert!(error.message.starts_with("read: ") && !error.retryable, "{error:?}");
        assert_eq!(code(&run(s, READ, &[1, 0])), "", "other files are as before");
    }
    let error = |number| errors::code(&std::io::Error::from_raw_os_error(number));
    assert_eq!([error(libc::ENOSPC), error(libc::EIO)], ["ENOSPC", "EIO"]);
    assert_eq!(error(9999), "errno 9999");
}

#[test]
fn a_place_outside_the_files_is_refused() {
    let directory = loaded();
    for options in [json!({}), json!({"method": "mmap"})] {
        let s = &mut *open(&target(directory.path(), options), requests(BLOCK)).expect("opened");
        for params in [&[2, 0][..], &[-1, 0], &[0, -1], &[0, 3 * i64::from(BLOCK) + 1], &[0]] {
            assert_eq!(code(&run(s, READ, params)), "EINVAL", "{params:?}");
        }
    }
}

#[test]
fn only_files_of_the_load_are_opened_and_none_is_made_twice() {
    let error = |directory: &Path, options| {
        open(&target(directory, options), requests(BLOCK)).err().expect("an error").to_string()
    };
    let empty = tempfile::tempdir().expect("a directory");
    assert!(error(empty.path(), json!({})).contains("load the data first"));
    assert_eq!(fs::read_dir(empty.path()).expect("it is there").count(), 0);
    let directory = loaded();
    let mut session = open(&target(directory.path(), json!({})), Arc::new([])).expect("a session");
    let twice = session.create_files(&set(), 7, &mut |_| {}).expect_err("it is there");
    assert!(twice.what.ends_with("io.0 exists already"), "{twice}");
    let precious = empty.path().join("precious");
    fs::write(&precious, vec![1; 4 * BLOCK as usize]).expect("a file");
    fs::remove_file(directory.path().join("io.1")).expect("it was there");
    std::os::unix::fs::symlink(&precious, directory.path().join("io.1")).expect("a link");
    assert!(error(directory.path(), json!({})).contains("there is no file"));
    fs::remove_file(directory.path().join("io.1")).expect("it was there");
    fs::write(directory.path().join("io.1"), "short").expect("a file");
    assert!(error(directory.path(), json!({})).contains("has 5 bytes, not 32768"));
}

#[test]
fn wrong_targets_are_named() {
    let directory = loaded();
    let error = |bytes, change: &dyn Fn(&mut Target)| {
        let mut target = target(directory.path(), json!({}));
        change(&mut target);
        open(&target, requests(bytes)).err().expect("an error").to_string()
    };
    let set = |name: &'static str, value: serde_json::Value| {
        move |t: &mut Target| drop(t.options.insert(name.into(), value.clone()))
    };
    for (message, expected) in [
        (error(BLOCK, &|t| t.address = Address::None), "needs the path of a directory"),
        (error(BLOCK, &|t| t.tls = Tls::Require), "no connection to encrypt"),
        (error(BLOCK, &|t| t.session_sql.push("SELECT 1".into())), "runs no statements"),
        (error(BLOCK, &|t| t.read_only = true), "is written to"),
        (error(BLOCK, &set("directory", json!("/"))), "its options are direct, method, sync"),
        (error(BLOCK, &set("direct", json!("yes"))), "give true or false"),
        (error(BLOCK, &set("method", json!("aio"))), "give pread or mmap"),
        (error(BLOCK, &set("sync", json!(true))), "give none, dsync or sync"),
        (error(1000, &set("direct", json!(true))), "blocks of 1000 bytes are no whole sectors"),
    ] {
        assert!(message.contains(expected), "{message}");
    }
    let mut both = target(directory.path(), json!({"method": "mmap", "sync": "dsync"}));
    assert!(open(&both, requests(BLOCK)).err().expect("refused").what.contains("mapped memory"));
    both.options.clear();
    let sql = Request::new("test", dyno_core::workload::Effect::Read, "SELECT 1", vec![]);
    let error = open(&both, Arc::new([sql])).err().expect("refused").to_string();
    assert!(error.contains("request test is no operation on files"), "{error}");
}
