//! The files of the prelude (`src/prelude/`), by the names that `dyno.prelude` takes.

/// Name and text.
#[cfg(not(test))]
pub static PRELUDE: &[(&str, &str)] = &[
    ("init", include_str!("../../prelude/init.lua")),
    ("bulk", include_str!("../../prelude/bulk.lua")),
    ("connection", include_str!("../../prelude/connection.lua")),
    ("emulation", include_str!("../../prelude/emulation.lua")),
    ("failure", include_str!("../../prelude/failure.lua")),
    ("legacy", include_str!("../../prelude/legacy.lua")),
    ("message", include_str!("../../prelude/message.lua")),
    ("parameter", include_str!("../../prelude/parameter.lua")),
    ("raise", include_str!("../../prelude/raise.lua")),
    ("rand", include_str!("../../prelude/rand.lua")),
    ("records", include_str!("../../prelude/records.lua")),
    ("report", include_str!("../../prelude/report.lua")),
    ("result", include_str!("../../prelude/result.lua")),
    ("sql", include_str!("../../prelude/sql.lua")),
    ("statement", include_str!("../../prelude/statement.lua")),
];

/// Tests of this module call the primitives directly.
#[cfg(test)]
pub static PRELUDE: &[(&str, &str)] = &[("init", include_str!("tests.lua"))];
