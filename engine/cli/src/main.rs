//! `dyno-engine`.
fn main() {}
