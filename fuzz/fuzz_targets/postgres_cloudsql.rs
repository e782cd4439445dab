//! Parses arbitrary bytes as Google Cloud's log entries of PostgreSQL, with a given line prefix.
#![no_main]

mod reading;

use dyno_digest::logs::format::Settings;
use reading::{Places, Way};

const PREFIXES: [&str; 3] = ["%m [%p]: [%l-1] db=%d,user=%u ", "[%p]: [%l-1] db=%d,user=%u ", ""];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(way) = Way::of(data) else { return };
    let line_prefix = Some(PREFIXES[usize::from(way.choice) % PREFIXES.len()].to_owned());
    let settings = Settings { line_prefix, ..Settings::default() };
    reading::read(reading::format("postgres-cloudsql"), Places::Joined, &settings, &way);
});
