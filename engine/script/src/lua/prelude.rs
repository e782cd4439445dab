//! The files of the prelude (`src/prelude/`), as `dyno.prelude` names them.

/// Name and text.
#[cfg(not(test))]
pub static PRELUDE: &[(&str, &str)] = &[("init", include_str!("../prelude/init.lua"))];

/// Tests of this module speak to the primitives themselves.
#[cfg(test)]
pub static PRELUDE: &[(&str, &str)] = &[("init", include_str!("tests.lua"))];
