//! Compares the committed schemas of documents with those of the types.
//!
//! After a change: `UPDATE_SCHEMAS=1 cargo test --release -p dyno-digest --test schemas`.

use dyno_digest::document::Document;
use dyno_digest::parallelism::from_logs::Parallelism;
use std::fs;
use std::path::Path;

fn check(name: &str, title: &str, mut schema: schemars::Schema) {
    schema.insert("title".to_owned(), title.into());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(name);
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{name} is stale: run the command at the top of this test");
}

#[test]
fn committed_schemas_are_those_of_the_types() {
    check("digest.schema.json", "Digest", schemars::schema_for!(Document));
    check("parallelism.schema.json", "Parallelism", schemars::schema_for!(Parallelism));
}
