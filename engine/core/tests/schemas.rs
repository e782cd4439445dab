//! The committed schemas are those of the types, and the committed examples (which the Python tests
//! parse too) are what the types read and write.
//!
//! After a change: `UPDATE_SCHEMAS=1 cargo test -p dyno-core --test schemas`.

use dyno_core::event::Event;
use dyno_core::plan::Plan;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

fn check(name: &str, schema: &schemars::Schema) {
    let path = folder().join(name);
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{name} is stale: run the command at the top of this test");
}

#[test]
fn committed_schemas_are_those_of_the_types() {
    check("engine-plan.schema.json", &schemars::schema_for!(Plan));
    check("engine-event.schema.json", &schemars::schema_for!(Event));
}

fn examples(prefix: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(prefix) && name.ends_with(".json") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((name, serde_json::from_str(&text).unwrap()));
        }
    }
    assert!(!found.is_empty(), "no example starts with {prefix}");
    found
}

#[test]
fn examples_of_plans_survive_a_round_trip() {
    for (name, value) in examples("plan-") {
        let plan: Plan = serde_json::from_value(value).unwrap_or_else(|e| panic!("{name}: {e}"));
        let again: Plan = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
        assert_eq!(plan, again, "{name}");
    }
}

#[test]
fn there_is_an_example_of_every_event_and_it_survives_a_round_trip() {
    let mut seen = Vec::new();
    for (name, value) in examples("event-") {
        let event: Event =
            serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(serde_json::to_value(&event).unwrap(), value, "{name}");
        seen.push(value["event"].as_str().unwrap().to_owned());
    }
    let schema = serde_json::to_value(schemars::schema_for!(Event)).unwrap();
    for variant in schema["oneOf"].as_array().unwrap() {
        let kind = variant["properties"]["event"]["const"].as_str().unwrap();
        assert!(seen.iter().any(|name| name == kind), "no example of {kind}");
    }
}
