//! Tests of blocks, shares, syncs and rejected options.

use super::*;
use dyno_core::plan::Options;
use dyno_core::request::Command;
use dyno_core::workload::{Dialect, Value};
use serde_json::json;
use std::collections::BTreeSet;

fn built(options: serde_json::Value, sessions: u32) -> Result<Box<dyn Workload>> {
    let options: Options = serde_json::from_value(options).expect("an object");
    (KIND.build)(&Order { options: &options, dialect: Dialect::Null, seed: 42, sessions })
}

fn io(options: serde_json::Value, sessions: u32) -> Box<dyn Workload> {
    built(options, sessions).expect("valid options")
}

/// Class and parameters of each operation.
fn sent(workload: &dyn Workload, session: u32, index: u64) -> Vec<(String, Vec<i64>)> {
    let requests = workload.requests();
    let mut tx = Transaction::default();
    workload.fill(session, index, &mut tx);
    let number = |value: &Value| match value {
        Value::Int(number) => *number,
        other => panic!("{other:?}"),
    };
    let of = |op: &dyno_core::workload::Op| {
        let request = &requests[usize::from(op.request)];
        assert_eq!(tx.values_of(op).len(), request.params.len());
        (request.class.clone(), tx.values_of(op).iter().map(number).collect())
    };
    tx.ops.iter().map(of).collect()
}

/// Three files, each with two whole blocks of 8 KiB and 4 KiB after them.
fn few(more: serde_json::Value) -> serde_json::Value {
    let mut all = json!({"files": 3, "total_size": 3 * 20_480 + 100, "block_size": 8192});
    all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    all
}

#[test]
fn files_have_whole_pages_and_do_not_depend_on_blocks() {
    let set = FileSet { name: "io".into(), files: 3, file_bytes: 20_480 };
    assert_eq!(io(few(json!({})), 1).files(), Some(set.clone()));
    assert_eq!(io(few(json!({"block_size": 512})), 7).files(), Some(set));
    assert!(io(json!({}), 1).tables().is_empty());
}

#[test]
fn random_blocks_reach_all_whole_blocks_and_no_other() {
    for more in [json!({}), json!({"distribution": "zipfian"})] {
        let workload = io(few(more), 2);
        let places: BTreeSet<_> =
            (0..400).map(|index| sent(&*workload, 1, index)[0].1.clone()).collect();
        let all = (0..3).flat_map(|file| [vec![file, 0], vec![file, 8192]]);
        assert_eq!(places, all.collect());
    }
}

#[test]
fn sessions_in_order_go_round_from_places_of_their_own() {
    let workload = io(few(json!({"preset": "sequential_read"})), 2);
    let places = |session| {
        (0..7).map(|index| sent(&*workload, session, index)[0].1.clone()).collect::<Vec<_>>()
    };
    let round = [[0, 0], [0, 8192], [1, 0], [1, 8192], [2, 0], [2, 8192], [0, 0]];
    assert_eq!(places(5 << SESSION_BITS), round);
    assert_eq!(places(1)[..4], [[1, 8192], [2, 0], [2, 8192], [0, 0]]);
}

#[test]
fn reads_and_writes_are_spread_evenly() {
    let workload = io(few(json!({"preset": "random_mixed"})), 1);
    for start in [0, 1_000_000] {
        let classes = (start..start + 1000).map(|index| sent(&*workload, 0, index)[0].0.clone());
        let reads = classes.filter(|class| class == "read").count();
        assert!((599..=601).contains(&reads), "{reads}");
    }
    assert!(workload.changes_data() && !io(json!({}), 1).changes_data());
}

#[test]
fn each_write_or_each_nth_is_made_durable() {
    let each = io(few(json!({"preset": "random_write", "sync_every": 1})), 1);
    for index in 0..50 {
        let ops = sent(&*each, 0, index);
        assert_eq!((ops.len(), &*ops[0].0, &*ops[1].0), (2, "write", "fsync"));
        assert_eq!(ops[0].1[0], ops[1].1[0], "the file that was written");
    }
    let third = json!({"preset": "random_mixed", "sync_every": 3, "sync_call": "fdatasync"});
    let third = io(few(third), 1);
    let mut writes = 0;
    for index in 0..100 {
        let ops = sent(&*third, 0, index);
        writes += u64::from(ops[0].0 == "write");
        let is_due = ops[0].0 == "write" && writes % 3 == 0;
        let synced: Vec<_> = ops[1..].iter().map(|op| (&*op.0, op.1[0])).collect();
        let all = [("fdatasync", 0), ("fdatasync", 1), ("fdatasync", 2)];
        assert_eq!(synced, if is_due { all.to_vec() } else { vec![] });
    }
}

#[test]
fn only_what_is_sent_is_listed() {
    let listed = |options| {
        let requests = io(options, 1).requests();
        assert!(requests.iter().all(|one| matches!(one.command, Command::Io(_))));
        requests.into_iter().map(|one| one.class).collect::<Vec<_>>()
    };
    assert_eq!(listed(json!({"sync_every": 1})), ["read"]);
    assert_eq!(listed(json!({"preset": "sequential_write"})), ["write"]);
    let mixed = json!({"preset": "random_mixed", "sync_every": 100});
    assert_eq!(listed(mixed), ["read", "write", "fsync"]);
}

#[test]
fn an_operation_is_a_function_of_seed_session_and_index() {
    let options = json!({"preset": "random_mixed", "distribution": "zipfian", "sync_every": 2});
    let (one, two) = (io(options.clone(), 4), io(options, 4));
    for index in (0..500).rev() {
        assert_eq!(sent(&*one, 2, index), sent(&*two, 2, index));
    }
}

#[test]
fn wrong_options_are_named_with_what_is_allowed() {
    for (options, expected) in [
        (json!({"preset": "seqwr"}), "\"seqwr\" is not one of random_read, random_write"),
        (json!({"file": 1}), "has no option file: its options are preset, files"),
        (json!({"files": 0}), "option files of workload io: 0 is not a whole number from 1"),
        (json!({"files": 513}), "from 1 to 512"),
        (json!({"total_size": 100_000, "files": 8}), "are less than 16 KiB each"),
        (json!({"block_size": 511}), "from 512 to"),
        (json!({"block_size": 1 << 26}), "67108864 is more than a file has, 33554432 bytes"),
        (json!({"read_share": 1.1}), "is not a number from 0 to 1"),
        (json!({"sync_call": "sync"}), "one of fsync, fdatasync"),
        (json!({"zipfian_theta": 1}), "it belongs to distribution zipfian"),
        (json!({"access": "sequential", "distribution": "uniform"}), "it belongs to access random"),
    ] {
        let message = built(options.clone(), 1).err().map(|error| error.to_string());
        let message = message.unwrap_or_else(|| panic!("{options} is accepted"));
        assert!(message.contains(expected), "{options}: {message}");
    }
}
