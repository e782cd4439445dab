//! The version, and the lines before a run, which wrappers and sysbench's test suite read.

use crate::command::options::settings::Settings;
use crate::options::Options;
use crate::report::Compat;
use std::fmt::Write as _;
use std::time::Duration;

/// The version that scripts and wrappers query.
pub fn number(compat: Compat) -> &'static str {
    match compat {
        Compat::V1_0 => "1.0.20",
        Compat::V1_1 => "1.1.0",
    }
}

/// `--version`, and `sysbench.version_string`.
pub fn version(compat: Compat) -> String {
    format!("sysbench {}", number(compat))
}

/// The first line of every test, which also names the program.
pub fn version_line(compat: Compat) -> String {
    format!("{} (dbdyno {}, LuaJIT 2.1)", version(compat), env!("CARGO_PKG_VERSION"))
}

/// The lines before a run, up to the test's own; an empty line follows.
pub fn options(settings: &Settings, options: &Options) -> String {
    let mut out = String::from("Running the test with following options:\n");
    let mut put = |line: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{line}");
    };
    put(format!("Number of threads: {}", settings.threads));
    if !settings.warmup.is_zero() {
        put(format!("Warmup time: {}s", settings.warmup.as_secs()));
    }
    if let Some(rate) = settings.rate_per_s {
        put(format!("Target transaction rate: {rate}/sec"));
    }
    if let Some(interval) = settings.interval {
        put(format!("Report intermediate results every {} second(s)", interval.as_secs()));
    }
    if !settings.checkpoints.is_empty() {
        let points: Vec<String> =
            settings.checkpoints.iter().map(|point| point.as_secs().to_string()).collect();
        put(format!("Report checkpoint(s) at {} seconds", points.join(", ")));
    }
    if settings.debug {
        put("Debug mode enabled.\n".into());
    }
    if settings.validate {
        put("Validation checks: on.\n".into());
    }
    put(match options.int("rand-seed") {
        0 => "Initializing random number generator from current time\n".into(),
        seed => format!("Initializing random number generator from seed ({seed}).\n"),
    });
    if let Some(total) = forced_after(settings) {
        put(format!("Forcing shutdown in {} seconds", total.as_secs()));
    }
    out
}

fn forced_after(settings: &Settings) -> Option<Duration> {
    Some(settings.time? + settings.forced?)
}
