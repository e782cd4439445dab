//! Populating plain files with `io`, and conflicts of two groups over one directory.

use dyno_core::error::{Error, Kind};
use dyno_core::event::Event;
use dyno_core::plan::Plan;
use dyno_drivers::DRIVERS;
use dyno_generator::populate::load;
use dyno_workloads::WORKLOADS;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Mutex;

fn plan(directory: &Path, groups: &[Value]) -> Plan {
    let group = |(number, options): (usize, &Value)| {
        json!({"name": format!("g{number}"), "target": "fs", "workload": "io", "sessions": 2,
               "options": options})
    };
    let groups: Vec<Value> = groups.iter().enumerate().map(group).collect();
    serde_json::from_value(json!({
        "schema_version": 1, "job": "load", "trial": "test", "directory": "unused", "seed": 42,
        "targets": {"fs": {"driver": "files", "address": {"file": directory}}},
        "groups": groups,
    }))
    .expect("a plan")
}

fn loaded(plan: &Plan) -> Result<Vec<Event>, Error> {
    let events = Mutex::new(Vec::new());
    load(plan, DRIVERS, WORKLOADS, &|event| events.lock().expect("no panic").push(event))?;
    Ok(events.into_inner().expect("no panic"))
}

#[test]
fn files_have_their_size_and_progress_is_in_mib() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = json!({"files": 2, "total_size": 8 << 20});
    let small = json!({"files": 2, "total_size": 8 << 20, "block_size": 4096});
    let events = loaded(&plan(directory.path(), &[options, small])).expect("room");
    let Some((Event::Loaded { rows, .. }, progress)) = events.split_last() else {
        panic!("`loaded` comes last: {events:?}")
    };
    assert_eq!(rows.iter().collect::<Vec<_>>(), [(&"io".to_owned(), &(8 << 20))]);
    let Some(Event::Progress { table, rows_total, unit, .. }) = progress.first() else {
        panic!("progress is told: {progress:?}")
    };
    assert_eq!((&**table, *rows_total, unit.as_deref()), ("io", 8, Some("MiB")));
    for number in 0..2 {
        let file = directory.path().join(format!("io.{number}"));
        assert_eq!(file.metadata().expect("a file").len(), 4 << 20);
    }
}

#[test]
fn groups_that_want_other_files_contradict_each_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let of = |size: u64| json!({"files": 2, "total_size": size});
    let error = loaded(&plan(directory.path(), &[of(1 << 20), of(2 << 20)])).expect_err("two");
    assert_eq!(error.kind, Kind::Plan);
    assert_eq!(error.what, "groups g0 and g1 want files io with other contents");
    assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 0);
}
