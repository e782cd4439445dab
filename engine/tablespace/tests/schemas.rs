//! Compares the committed schema of the output with that of the types.
//!
//! After a change: `UPDATE_SCHEMAS=1 cargo test --release -p dyno-tablespace --test schemas`.

use dyno_tablespace::document::Event;
use std::fs;
use std::path::Path;

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let mut schema = schemars::schema_for!(Event);
    schema.insert("title".to_owned(), "Tablespace".into());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/tablespace.schema.json");
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "the schema is stale: run the command at the top of this test");
}
