//! The job `load` of a script: its `prepare`.

use super::order::Order;
use crate::command::call::Kinds;
use crate::drive::progress::Observer;
use crate::drive::{self, Drive, Ending, Times};
use crate::pace::Pace;
use crate::session::Program;
use crate::tally::Tallies;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, Group, Plan};
use std::sync::Arc;
use std::time::Duration;

const PREPARE: &str = "prepare";

/// Runs `prepare` of the group's script: in all sessions if it is a parallel command, else once. A
/// script without `prepare` loads nothing.
///
/// # Errors
/// An error in the plan, or a failure of the script.
pub fn load(plan: &Plan, group: &Group, kinds: Kinds) -> Result<()> {
    let is_file = matches!(plan.targets[&group.target].address, Address::File(_));
    // A database file has one writer.
    let sessions = if is_file { 1 } else { group.sessions };
    let mut order = Order::of(plan, group, kinds, PREPARE, sessions)?;
    let commands = order.script.commands().map_err(failed)?;
    let own = commands.iter().find(|command| command.name == PREPARE);
    if own.is_some_and(|command| command.is_parallel && sessions > 1) {
        return in_parallel(plan, &order, sessions);
    }
    if own.is_some() || order.script.has(PREPARE) {
        order.script.command(PREPARE).map_err(failed)?;
    }
    Ok(())
}

fn in_parallel(plan: &Plan, order: &Order, sessions: u32) -> Result<()> {
    let program = Program::Command(PREPARE.to_owned());
    let threads = order.threads(&program, sessions, plan);
    let drive = Drive {
        make: order.script.workers(&program, threads),
        program,
        sessions,
        shares_threads: order.shares_threads,
        threads,
        servers: Arc::clone(&order.servers),
        tallies: Arc::new(Tallies::new(sessions as usize, threads)),
        pace: Arc::new(Pace::new(0, None, 0.0)),
        times: Times {
            warmup: Duration::ZERO,
            length: None,
            grace: Duration::ZERO,
            ask_after: Duration::MAX,
            start_max: Duration::ZERO,
        },
        cpus: plan.cpus.clone(),
    };
    let mut first = First(None);
    let ended = drive::run(&drive, &mut first)?;
    match (ended.how, first.0) {
        (Ending::Done, None) => Ok(()),
        (_, message) => Err(failed(message.unwrap_or_else(|| "it did not end".into()))),
    }
}

/// Stores the first failure.
struct First(Option<String>);

impl Observer for First {
    fn failed(&mut self, _number: u32, message: &str) {
        self.0.get_or_insert_with(|| message.to_owned());
    }
}

fn failed(message: impl std::fmt::Display) -> Error {
    Error::new(Kind::Server, format!("the script's prepare failed: {message}"))
        .hint("try it alone: dyno sysbench SCRIPT prepare")
}
