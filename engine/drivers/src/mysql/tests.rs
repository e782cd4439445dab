//! The whole driver against scripted servers, byte by byte.

mod client;
mod endless;
mod login;
mod replies;
mod script;

use super::*;
use serde_json::json;

fn refused(change: impl FnOnce(&mut Target)) -> Error {
    let mut target = script::target();
    change(&mut target);
    configure(&target, &[]).unwrap_err()
}

#[test]
fn wrong_targets_are_refused_with_what_is_allowed() {
    let error = refused(|target| {
        target.options.insert("bulk".into(), json!("fast"));
    });
    assert_eq!(error.kind, Kind::Plan);
    assert!(error.to_string().contains("infile"), "{error}");
    let error = refused(|target| {
        target.options.insert("nagle".into(), json!(true));
    });
    assert!(error.what.contains("nagle") && error.hint.contains("metadata"), "{error}");
    let error = refused(|target| target.address = Address::File("x".into()));
    assert!(error.hint.contains("unix"), "{error}");
    assert!(refused(|target| target.user = "a\0b".into()).what.contains("user"));
    assert!(!refused(|target| target.password = Secret("top\0x".into())).what.contains("top"));
}

#[test]
fn nothing_shows_the_password() {
    let config = configure(&script::target(), &[]).unwrap();
    assert!(!format!("{config:?}").contains(script::PASSWORD));
}
