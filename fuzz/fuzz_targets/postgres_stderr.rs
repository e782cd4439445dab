//! Parses arbitrary bytes as PostgreSQL's stderr log, with a given line prefix.
#![no_main]

mod reading;

use dyno_digest::logs::format::Settings;
use reading::{Places, Way};

const PREFIXES: [&str; 11] = [
    "%m [%p] ",
    "%m [%p] %q%u@%d ",
    "%t:%r:%u@%d:[%p]:",
    "%n %c %e ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%a%u ",
    "%6p|%-6u|%q%d|%%",
    "%m %c %v %x %Q %L %b ",
    "%p ",
    "%s%i%P",
    "",
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(mut way) = Way::of(data) else { return };
    // Detecting the prefix takes a hundred times as long as parsing; `postgres_prefix` tests it.
    way.detects = false;
    let line_prefix = Some(PREFIXES[usize::from(way.choice) % PREFIXES.len()].to_owned());
    let settings = Settings { line_prefix, ..Settings::default() };
    reading::read(reading::format("postgres-stderr"), Places::Joined, &settings, &way);
});
