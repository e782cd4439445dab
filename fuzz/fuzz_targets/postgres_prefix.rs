//! Parses arbitrary bytes as PostgreSQL's stderr log with detection of the line prefix. A detected prefix
//! must be usable for the log, and equal to itself when given.
#![no_main]

mod reading;

use dyno_digest::logs::format::{Context, Settings};
use reading::{Places, Way};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(mut way) = Way::of(data) else { return };
    // Detection of the format would repeat the detection of the prefix.
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
