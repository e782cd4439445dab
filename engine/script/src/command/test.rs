//! Which test is meant, and what its command does.

use super::help::Listed;
use super::{Call, Refusal, script};
use crate::lua::Source;
use crate::scripts::SCRIPTS;

/// Tests without a script.
pub const NATIVE: &[Listed] = &[
    Listed { name: "fileio", about: "File I/O test" },
    Listed { name: "cpu", about: "CPU performance test" },
    Listed { name: "memory", about: "Memory functions speed test" },
    Listed { name: "threads", about: "Threads subsystem performance test" },
    Listed { name: "mutex", about: "Mutex performance test" },
];

/// Finds the test and does what its command says. Gives the exit code.
///
/// # Errors
/// There is no such test or command; an option is not one of its.
pub fn carry_out(call: &Call) -> Result<i32, Refusal> {
    let fatal = |error: dyno_core::error::Error| Refusal::fatal(error.to_string());
    match call.line.testname.as_deref() {
        None | Some("-") => script::from_stdin(call, Source::stdin(SCRIPTS).map_err(fatal)?),
        Some(name) if NATIVE.iter().any(|test| test.name == name) => native(call, name),
        Some(name) => match Source::find(name, SCRIPTS).map_err(fatal)? {
            Some(source) => script::carry_out(call, source),
            None => Err(Refusal::fatal(format!(
                "Cannot find benchmark '{name}': no such built-in test, file or module"
            ))),
        },
    }
}

fn native(call: &Call, name: &str) -> Result<i32, Refusal> {
    if call.line.command.is_none() {
        return Err(Refusal::plain(format!(
            "The '{name}' test requires a command argument. See 'sysbench {name} help'"
        )));
    }
    Err(Refusal::fatal(format!("the test '{name}' is not in this build")))
}
