//! Tests of the program as `dyno` uses it: exit codes, events, signals, a full disk and a closed standard
//! output.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_dyno-engine"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn plan(directory: &Path, duration_s: f64) -> Value {
    json!({
        "schema_version": 1, "job": "run", "trial": "t", "directory": directory, "seed": 7,
        "targets": {"db": {"driver": "null", "address": "none", "options": {"delay_us": 500}}},
        "duration_s": duration_s, "interval_s": 0.2,
        "groups": [{"name": "readers", "target": "db", "workload": "oltp", "sessions": 3,
                    "options": {"preset": "point_select", "tables": 2, "rows": 1000}}]
    })
}

fn feed(child: &mut Child, input: &str) {
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
}

/// Runs a plan; returns the exit code and the events.
fn run(input: &str) -> (Option<i32>, Vec<Value>) {
    let mut child = start(&["run"]);
    feed(&mut child, input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (output.status.code(), text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn signal(child: &Child, signal: libc::c_int) {
    // SAFETY: the child has not been waited for, so its id is still its own.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
}

#[test]
fn a_trial_ends_with_its_totals_and_code_0() {
    let directory = tempfile::tempdir().unwrap();
    let (code, events) = run(&plan(directory.path(), 0.6).to_string());
    assert_eq!(code, Some(0));
    assert_eq!((&events[0]["event"], &events[0]["schema_version"]), (&json!("start"), &json!(1)));
    let statement = events.iter().find(|event| event["event"] == "statement").unwrap();
    assert_eq!(statement["class"], "point_select");
    assert!(!statement["sql"].as_str().unwrap().contains('?'), "{statement}");
    let end = events.last().unwrap();
    assert_eq!((&end["event"], &end["interrupted"]), (&json!("end"), &json!(false)));
    assert!(end["groups"]["readers"]["transactions"].as_u64().unwrap() > 0);
    assert!(end["generator"]["rss_max_bytes"].as_u64().unwrap() > 1_000_000);
    assert!(directory.path().join("latency.hlog").metadata().unwrap().len() > 100);
}

#[test]
fn a_signal_ends_a_trial_early_with_code_3() {
    for number in [libc::SIGTERM, libc::SIGINT] {
        let directory = tempfile::tempdir().unwrap();
        let mut child = start(&["run"]);
        feed(&mut child, &plan(directory.path(), 60.0).to_string());
        let mut events = BufReader::new(child.stdout.take().unwrap()).lines();
        let interval = |line: &str| line.contains(r#""event":"interval""#);
        assert!(events.by_ref().any(|line| interval(&line.unwrap())));
        // A lost terminal does not stop the run.
        signal(&child, libc::SIGHUP);
        assert!(events.by_ref().any(|line| interval(&line.unwrap())));
        signal(&child, number);
        let last: Value = serde_json::from_str(&events.last().unwrap().unwrap()).unwrap();
        assert_eq!((&last["event"], &last["interrupted"]), (&json!("end"), &json!(true)));
        assert!(last["groups"]["readers"]["transactions"].as_u64().unwrap() > 0);
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }
}

#[test]
fn enough_ends_a_trial_in_good_order_with_code_0() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = start(&["run"]);
    let mut plan = plan(directory.path(), 600.0);
    // So long that a signal after its first interval comes before its end.
    plan["warmup_s"] = json!(5.0);
    feed(&mut child, &plan.to_string());
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines();
    let phase = |phase: &'static str| {
        move |line: std::io::Result<String>| {
            line.unwrap().contains(&format!(r#""phase":"{phase}""#))
        }
    };
    assert!(events.by_ref().any(phase("warmup")));
    // Ignored before the measured phase.
    signal(&child, libc::SIGUSR1);
    for _ in 0..3 {
        assert!(events.by_ref().any(phase("measure")));
    }
    signal(&child, libc::SIGUSR1);
    let last: Value = serde_json::from_str(&events.last().unwrap().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["interrupted"]), (&json!("end"), &json!(false)));
    assert_eq!(last["asked"], true);
    assert!(last["groups"]["readers"]["transactions"].as_u64().unwrap() > 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_ends_the_trial() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = start(&["run"]);
    feed(&mut child, &plan(directory.path(), 60.0).to_string());
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_full_disk_is_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.path().join("latency.hlog")).unwrap();
    let (code, events) = run(&plan(directory.path(), 0.5).to_string());
    assert_eq!(code, Some(0));
    let warnings: Vec<&Value> = events.iter().filter(|event| event["event"] == "warning").collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0]["message"].as_str().unwrap().contains("latency.hlog"));
    assert_eq!(events.last().unwrap()["event"], "end");
}

#[test]
fn a_plan_that_is_wrong_fails_with_its_place_and_code_2() {
    let directory = tempfile::tempdir().unwrap();
    let with = |pointer: &str, value: Value| {
        let mut plan = plan(directory.path(), 1.0);
        *plan.pointer_mut(pointer).unwrap() = value;
        plan.to_string()
    };
    for (input, word) in [
        (String::new(), "no plan"),
        ("{".to_owned(), "line 1"),
        (with("/groups/0/sessions", json!("many")), "groups[0].sessions"),
        (with("/targets/db/driver", json!("oracle")), "oracle"),
        (with("/groups/0/options", json!({"preset": "nonsense"})), "nonsense"),
        (with("/schema_version", json!(99)), "schema_version"),
        (with("/duration_s", json!(0)), "duration_s"),
        (with("/directory", json!("no/such/directory")), "no/such/directory"),
    ] {
        let (code, events) = run(&input);
        assert_eq!((code, events.len()), (Some(2), 1), "{events:?}");
        assert_eq!((&events[0]["event"], &events[0]["kind"]), (&json!("failed"), &json!("plan")));
        assert!(events[0]["what"].as_str().unwrap().contains(word), "{word}: {events:?}");
        // The allowed values are in the hint, or in the message after the given value.
        let said = format!("{} {}", events[0]["hint"], events[0]["what"]);
        assert!(events[0]["hint"] != "" || said.contains("is not one of"), "{events:?}");
    }
}

#[test]
fn the_lists_and_the_help_name_every_member() {
    let output = |args: &[&str]| {
        let output = start(args).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let list: Value = serde_json::from_str(&output(&["list", "--json"])).unwrap();
    let text = output(&["list"]);
    for family in ["drivers", "workloads"] {
        for member in list[family].as_array().unwrap() {
            assert!(text.contains(member["name"].as_str().unwrap()));
            assert!(!member["about"].as_str().unwrap().is_empty());
        }
    }
    assert_eq!(output(&["--version"]).trim(), concat!("dyno-engine ", env!("CARGO_PKG_VERSION")));
    let help = output(&["--help"]);
    for command in ["run", "null-server", "list", "bench-record"] {
        assert!(help.contains(command));
    }
}

#[test]
fn an_unknown_command_is_named() {
    let output = start(&["drive"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("drive"));
}
