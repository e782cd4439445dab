//! Any bytes as PostgreSQL's log of lines, its prefix to be found out: where one is found, the log is
//! read by it, and it is the same again when it is given.
#![no_main]

mod reading;

use dyno_digest::logs::format::{Context, Settings};
use reading::{Places, Way};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(mut way) = Way::of(data) else { return };
    // Whether it is such a log is the same question.
    way.detects = false;
    let kind = reading::format("postgres-stderr");
    let Ok(format) = (kind.open)(&Settings::default(), way.log) else { return };
    let line_prefix = format.facts(&Context::default()).line_prefix;
    assert!(line_prefix.is_some());
    let settings = Settings { line_prefix, ..Settings::default() };
    let again = (kind.open)(&settings, b"").expect("a prefix that was found out");
    assert_eq!(again.facts(&Context::default()).line_prefix, settings.line_prefix);
    reading::read(kind, Places::Joined, &settings, &way);
});
