//! A script as the workload of an experiment: `prepare` is what loads its data, its events are the
//! transactions of a trial. Sessions run on the same load threads as for `dyno sysbench`, and write
//! the metrics of `dyno_generator` beside their tallies, so that its reporter serves both.
//!
//! A script has a trial to itself: load threads of two kinds would take each other's CPUs.

mod load;
mod order;
mod run;

pub use load::load;
pub use run::run;

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Group, Plan};

/// Its name in the list of workloads.
pub const NAME: &str = "lua";
/// What it is, in one line.
pub const ABOUT: &str = "a script for sysbench, your own or a built-in one";

/// Whether the group's workload is a script.
pub fn is_script(group: &Group) -> bool {
    group.workload == NAME
}

/// The group of a trial of a script.
fn only_group(plan: &Plan) -> Result<&Group> {
    match plan.groups.as_slice() {
        [group] => Ok(group),
        groups => {
            Err(Error::new(Kind::Plan, format!("{} groups, and one is a script", groups.len()))
                .hint("a script runs alone: give it a trial of its own"))
        }
    }
}
