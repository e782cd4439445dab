//! Parses arbitrary bytes as PostgreSQL's syslog lines, with a given line prefix.
#![no_main]

mod reading;

use dyno_digest::logs::format::Settings;
use reading::{Places, Way};

const PREFIXES: [&str; 4] = ["%u@%d ", "%m [%p] %q%u@%d ", "[%l-1] ", ""];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(way) = Way::of(data) else { return };
    let line_prefix = Some(PREFIXES[usize::from(way.choice) % PREFIXES.len()].to_owned());
    let settings = Settings { line_prefix, ..Settings::default() };
    reading::read(reading::format("postgres-syslog"), Places::Joined, &settings, &way);
});
