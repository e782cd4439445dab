//! The commands and runs of two threads, in directories of their own.

use super::plan::{Plan, size_text};
use super::requests::{Request, Requests};
use super::{command_in, run_in};
use crate::drive::Ending;
use crate::native::tests::{CREW, TIMES, driven, options};
use crate::options::{Options, Value};
use crate::pace::Pace;
use crate::tally::Reading;
use dyno_core::random::rng::Rng;
use dyno_drivers::files::Place;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

const MODES: [&str; 6] = ["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"];
const WAYS: [&str; 3] = ["sync", "async", "mmap"];

/// Three files of ten bytes less than three blocks each, and what `more` says: `NAME=VALUE ...`.
fn few(more: &str) -> Options {
    let mut options = options("fileio", &[]);
    let small = "file-num=3 file-block-size=512 file-total-size=4578";
    for given in small.split(' ').chain(more.split_whitespace()) {
        let (name, text) = given.split_once('=').expect("a name and a value");
        let value = match (name, text.parse(), text.parse()) {
            ("file-extra-flags", ..) => Value::List(text.split(',').map(str::to_owned).collect()),
            (_, Ok(number), _) => Value::Int(number),
            (_, _, Ok(is)) => Value::Bool(is),
            _ => Value::Text(text.to_owned()),
        };
        options.set(name, value, true);
    }
    options
}

const FILE_BYTES: u64 = 3 * 512 - 10;

fn plan(more: &str) -> Plan {
    let options = few(more);
    Plan::of(Path::new(""), &options)
        .and_then(|plan| plan.with_mode(&options))
        .expect("a good plan")
}

fn refused(more: &str) -> String {
    let options = few(more);
    Plan::of(Path::new(""), &options)
        .and_then(|plan| plan.with_mode(&options))
        .expect_err("no good plan")
}

fn told(directory: &Path, command: &str, more: &str) -> Result<(), String> {
    command_in(directory, command, &few(more)).expect("it has this command")
}

fn prepared(more: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    told(directory.path(), "prepare", more).unwrap();
    directory
}

fn sizes(directory: &Path) -> Vec<u64> {
    let size =
        |number| fs::metadata(directory.join(format!("test_file.{number}"))).map(|m| m.len());
    (0..).map_while(|number| size(number).ok()).collect()
}

/// So many events, and what failed.
fn ran(directory: &Path, more: &str, events: u64) -> (Reading, Vec<String>) {
    let run = run_in(directory, &few(more), CREW).unwrap_or_else(|error| panic!("{error}"));
    let (ended, reading, heard) = driven(&run, Pace::new(events, None, 0.0), TIMES);
    assert_eq!(ended.how, if heard.is_empty() { Ending::Done } else { Ending::Failed });
    (reading, heard)
}

fn counted(directory: &Path, more: &str, events: u64) -> Reading {
    let (reading, heard) = ran(directory, more, events);
    assert_eq!((heard, reading.events), (vec![], events), "{more}");
    reading
}

#[test]
fn prepare_makes_what_is_missing_and_cleanup_removes_what_is_named() {
    let directory = prepared("");
    let path = directory.path();
    assert_eq!(sizes(path), [FILE_BYTES; 3]);
    let first = fs::read(path.join("test_file.0")).unwrap();
    assert!(first.iter().any(|&byte| byte != first[0]), "not all the same");
    fs::write(path.join("test_file.1"), &first[..600]).unwrap();
    fs::write(path.join("test_file.2"), vec![7; 5000]).unwrap();
    told(path, "prepare", "").unwrap();
    assert_eq!(sizes(path), [FILE_BYTES, FILE_BYTES, 5000]);
    let second = fs::read(path.join("test_file.1")).unwrap();
    assert_eq!(second[..512], first[..512]);
    assert_eq!(fs::read(path.join("test_file.0")).unwrap(), first);
    told(path, "cleanup", "file-num=2").unwrap();
    assert_eq!(fs::read_dir(path).unwrap().count(), 1);
    told(path, "cleanup", "").unwrap();
    told(path, "cleanup", "").unwrap();
    assert_eq!(fs::read_dir(path).unwrap().count(), 0);
    assert!(command_in(path, "prewarm", &few("")).is_none());
}

#[test]
fn a_full_disk_and_a_name_that_is_taken_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    symlink("/dev/full", path.join("test_file.0")).unwrap();
    let said = told(path, "prepare", "").unwrap_err();
    assert_eq!(said, "Cannot write file 'test_file.0' errno = 28 (No space left on device)");
    fs::create_dir(path.join("test_file.1")).unwrap();
    let said = told(path, "cleanup", "").unwrap_err();
    assert_eq!(said, "Cannot remove file 'test_file.1' errno = 21 (Is a directory)");
    assert!(!path.join("test_file.0").is_symlink(), "the others are removed all the same");
}

#[test]
fn files_that_are_missing_or_too_small_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let said = |more: &str| run_in(path, &few(more), CREW).err().expect("refused");
    let missing = "Cannot open file 'test_file.0' errno = 2 (No such file or directory)\n\
                   WARNING: Did you forget to run the prepare step?";
    for mode in &MODES[1..] {
        assert_eq!(said(&format!("file-test-mode={mode}")), missing);
    }
    told(path, "prepare", "file-total-size=3072").unwrap();
    let small = "Size of file 'test_file.0' is 1KiB, but at least 1.4902KiB is expected.\n\
                 WARNING: Did you run 'prepare' with different --file-total-size or --file-num \
                 values?";
    assert_eq!(said("file-test-mode=rndrw"), small);
    assert_eq!(counted(path, "file-test-mode=seqwr", 1).writes, 1);
    assert_eq!(sizes(path), [512, 0, 0], "made anew");
}

#[test]
fn requests_in_order_go_round_and_are_cut_at_the_end_of_a_file() {
    let places = |more, count| {
        let requests = Requests::new(&plan(more));
        let mut rng = Rng::new(1);
        let place = |_| match requests.next(&mut rng) {
            Request::Read(Place { file, offset, bytes }) => (file, offset, bytes),
            other => panic!("{other:?}"),
        };
        (0..count).map(place).collect::<Vec<_>>()
    };
    let one_by_one = places("file-test-mode=seqrd", 10);
    assert_eq!(one_by_one[..4], [(0, 0, 512), (0, 512, 512), (0, 1024, 502), (1, 0, 512)]);
    assert_eq!(one_by_one[8..], [(2, 1024, 502), (0, 0, 512)]);
    let merged = places("file-test-mode=seqrd file-merged-requests=2", 3);
    assert_eq!(merged, [(0, 0, 1024), (0, 1024, 502), (1, 0, 1024)]);
    let whole = places("file-test-mode=seqrd file-merged-requests=9", 4);
    assert_eq!(whole[3], (0, 0, FILE_BYTES));
}

#[test]
fn random_requests_reach_every_block_of_every_file() {
    let requests = Requests::new(&plan("file-test-mode=rndrd"));
    let mut rng = Rng::new(5);
    let mut seen = [[0; 3]; 3];
    for _ in 0..900 {
        let Request::Read(place) = requests.next(&mut rng) else { panic!("only reads") };
        assert_eq!(place.bytes, 512.min(FILE_BYTES - place.offset));
        seen[place.file][place.offset as usize / 512] += 1;
    }
    // Bounds are five standard errors.
    assert!(seen.as_flattened().iter().all(|&count: &u32| count.abs_diff(100) < 48), "{seen:?}");
}

#[test]
fn reads_and_writes_keep_to_their_ratio_and_all_files_are_synchronised_in_turn() {
    let kinds = |more, count| {
        let requests = Requests::new(&plan(more));
        let mut rng = Rng::new(1);
        let kind = |_| match requests.next(&mut rng) {
            Request::Read(_) => 'r',
            Request::Write(_) => 'w',
            Request::Sync { file } => char::from(b'0' + file as u8),
        };
        (0..count).map(kind).collect::<String>()
    };
    assert_eq!(kinds("file-test-mode=rndrw file-fsync-freq=0", 10), "rrwrwrrwrw");
    assert_eq!(kinds("file-test-mode=rndrw file-fsync-freq=5", 18), "rrwrw012rrwrw012rr");
    let only_writes = "file-test-mode=rndrw file-rw-ratio=0 file-fsync-freq=1";
    assert_eq!(kinds(only_writes, 8), "w012w012");
    assert_eq!(kinds("file-test-mode=rndrd file-fsync-freq=1", 4), "rrrr");
    assert_eq!(kinds("file-test-mode=seqrd file-fsync-freq=1", 4), "rrrr");
    assert_eq!(kinds("file-test-mode=seqwr file-fsync-freq=2 file-fsync-all=true", 4), "wwww");
}

#[test]
fn whatever_the_mode_and_the_way_all_is_counted() {
    for way in WAYS {
        let directory = prepared("");
        for mode in MODES {
            let more = format!("file-io-mode={way} file-test-mode={mode} file-fsync-freq=5");
            let reading = counted(directory.path(), &more, 24);
            // Three times five requests and three files, and at the end of each thread.
            let (reads, writes, syncs) = match mode {
                "seqrd" | "rndrd" => (24, 0, 0),
                "rndrw" => (9, 6, 9 + 6),
                _ => (0, 15, 9 + 6),
            };
            let found = (reading.reads, reading.writes, reading.others);
            assert_eq!(found, (reads, writes, syncs), "{more}");
            let bytes = reading.bytes_read + reading.bytes_written;
            let requests = reads + writes;
            assert!((502 * requests..=512 * requests).contains(&bytes), "{more}: {bytes}");
        }
        let quiet = "file-test-mode=rndwr file-fsync-freq=0 file-fsync-end=false";
        assert_eq!(counted(directory.path(), quiet, 9).others, 0);
        let each = format!("file-io-mode={way} file-test-mode=rndrw file-fsync-all=true");
        let reading = counted(directory.path(), &each, 50);
        assert_eq!((reading.reads, reading.writes, reading.others), (30, 20, 20));
        assert_eq!(sizes(directory.path()), [FILE_BYTES; 3]);
    }
}

#[test]
fn a_queue_of_one_and_the_flags_of_files_do_the_same() {
    let directory = prepared("");
    let one = "file-io-mode=async file-async-backlog=1 file-test-mode=rndrw";
    assert_eq!(counted(directory.path(), one, 50).reads, 30);
    for flags in ["sync", "dsync", "sync,dsync"] {
        let more =
            format!("file-test-mode=seqwr file-fsync-mode=fdatasync file-extra-flags={flags}");
        assert_eq!(counted(directory.path(), &more, 9).writes, 9);
    }
}

#[test]
fn what_was_written_with_checksums_passes_and_what_was_changed_does_not() {
    for way in WAYS {
        let directory = prepared("validate=true");
        let path = directory.path();
        let more = |mode| format!("validate=true file-io-mode={way} file-test-mode={mode}");
        for mode in ["seqrd", "rndrw", "seqrewr", "seqrd", "seqwr", "seqrd", "rndrd"] {
            counted(path, &more(mode), 300);
        }
        counted(path, &(more("seqrd") + " file-merged-requests=2"), 30);
        let name = path.join("test_file.1");
        let mut bytes = fs::read(&name).unwrap();
        bytes[513] ^= 1;
        fs::write(&name, bytes).unwrap();
        let (_, heard) = ran(path, &more("seqrd"), 300);
        let first = heard.first().expect("it is found");
        let what = "Validation failed on file 'test_file.1', block offset 512: checksum mismatch";
        assert!(first.starts_with(what), "{first}");
    }
    let (_, heard) = ran(prepared("").path(), "validate=true file-test-mode=rndrd", 1);
    assert!(heard[0].contains("with --validate"), "{}", heard[0]);
}

#[test]
fn a_block_is_not_checked_while_another_thread_writes_it() {
    for way in WAYS {
        let more = format!(
            "validate=true file-num=1 file-block-size=65536 file-total-size=131072 \
             file-io-mode={way} file-test-mode=rndrw file-async-backlog=8"
        );
        counted(prepared(&more).path(), &more, 400);
    }
}

#[test]
fn what_fails_under_way_ends_the_run_with_file_and_place() {
    for way in ["sync", "async"] {
        let directory = prepared("");
        let more = few(&format!("file-io-mode={way} file-test-mode=seqrd"));
        let run = run_in(directory.path(), &more, CREW).unwrap_or_else(|error| panic!("{error}"));
        fs::write(directory.path().join("test_file.2"), "").unwrap();
        let (ended, reading, heard) = driven(&run, Pace::new(0, None, 0.0), TIMES);
        assert_eq!(ended.how, Ending::Failed);
        assert!(heard[0].starts_with("Failed to read file! file: test_file.2 pos: "), "{heard:?}");
        assert!(reading.reads >= 6, "what came before it counts");
    }
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for (more, said) in [
        ("", "Missing required argument: --file-test-mode\n"),
        ("file-test-mode=foo", "Invalid IO operations mode: foo."),
        ("file-num=0", "Invalid value for file-num: 0"),
        ("file-num=-1", "Invalid value for file-num: -1"),
        ("file-block-size=0", "Invalid value for file-block-size: 0."),
        ("file-total-size=0", "Invalid value for file-total-size: 0"),
        ("file-io-mode=slow", "unknown I/O mode: slow"),
        ("file-extra-flags=sync,foo", "Invalid value for file-extra-flags: foo"),
        ("file-fsync-mode=foo", "Invalid fsync mode: foo."),
        ("file-fsync-freq=-1", "Invalid value for file-fsync-freq: -1."),
        ("file-merged-requests=-1", "Invalid value for file-merged-requests: -1."),
        ("file-rw-ratio=-1", "Invalid value for --file-rw-ratio: -1.000000."),
        ("file-io-mode=async file-async-backlog=0", "Invalid value of file-async-backlog: 0"),
    ] {
        assert_eq!(refused(more), said);
    }
    assert!(refused("file-num=5000").contains("less than a byte"));
    assert!(refused("file-extra-flags=direct").contains("1526 a file are not multiples of 512"));
    assert!(refused("validate=true file-block-size=12").contains("at least 13 bytes"));
}

#[test]
fn headings_tell_what_is_run() {
    assert_eq!(
        plan("file-test-mode=rndrw").heading(),
        "Extra file open flags: (none)\n3 files, 1.4902KiB each\n4.4707KiB total file size\n\
         Block size 512B\nNumber of IO requests: 0\n\
         Read/Write ratio for combined random IO test: 1.50\n\
         Periodic FSYNC enabled, calling fsync() each 100 requests.\n\
         Calling fsync() at the end of test, Enabled.\nUsing synchronous I/O mode\n\
         Doing random r/w test\n"
    );
    assert_eq!(
        plan(
            "file-test-mode=seqwr file-merged-requests=4 file-fsync-all=true file-io-mode=async \
             validate=true file-extra-flags=dsync,sync"
        )
        .heading(),
        "Extra file open flags: sync dsync \n3 files, 1.4902KiB each\n4.4707KiB total file size\n\
         Block size 512B\nMerging requests up to 2KiB for sequential IO.\n\
         Calling fsync() after each write operation.\nUsing asynchronous I/O mode\n\
         Using checksums validation.\nDoing sequential write (creation) test\n"
    );
}

#[test]
fn sizes_have_five_digits_at_most() {
    let known = [
        (0, "0B"),
        (512, "512B"),
        (4097, "4.001KiB"),
        (12_291, "12.003KiB"),
        (1_000_000, "976.56KiB"),
        (1_048_570, "1024KiB"),
        (1_572_864, "1.5MiB"),
        (8 << 20, "8MiB"),
        (5_000_000_000, "4.6566GiB"),
        (1_500_000_000_000, "1.3642TiB"),
        (u64::MAX, "16EiB"),
    ];
    for (bytes, text) in known {
        assert_eq!(size_text(bytes), text);
    }
}

#[test]
fn a_file_that_becomes_shorter_fails_what_is_beyond_it() {
    for (io, wanted) in [("sync", "failed to fill whole buffer"), ("mmap", "has become shorter")] {
        let sizes = "file-num=1 file-block-size=16384 file-total-size=131072";
        let more = format!("{sizes} file-test-mode=seqrd file-io-mode={io}");
        let directory = prepared(&more);
        let run = run_in(directory.path(), &few(&more), CREW).unwrap();
        let file = fs::OpenOptions::new().write(true).open(directory.path().join("test_file.0"));
        file.unwrap().set_len(65536).unwrap();
        let (ended, reading, heard) = driven(&run, Pace::new(100, None, 0.0), TIMES);
        assert_eq!(ended.how, Ending::Failed, "{io}");
        let place = "Failed to read file! file: test_file.0 pos: ";
        let is_told = |text: &String| text.starts_with(place) && text.contains(wanted);
        assert!(heard.iter().any(is_told), "{io}: {heard:?}");
        assert!(reading.reads >= 4, "{io}: what is still there was read");
    }
}
