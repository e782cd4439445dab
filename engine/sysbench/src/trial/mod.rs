//! A script as the workload of an experiment: `prepare` loads its data, and its events are the
//! transactions of a trial. Sessions run on the same load threads as for `dyno sysbench`. In addition
//! to their tallies, they write the metrics of `dyno_generator`, so that its reporter serves both.
//!
//! A script is the only group of its trial: two kinds of load threads would compete for CPUs.

mod load;
mod order;
mod run;

pub use load::load;
pub use run::run;

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Group, Plan};

/// The name in the list of workloads.
pub const NAME: &str = "lua";
/// The description, in one line.
pub const ABOUT: &str = "a script for sysbench, your own or a built-in one";

/// Whether the group's workload is a script.
pub fn is_script(group: &Group) -> bool {
    group.workload == NAME
}

/// Returns the group of a script's trial.
fn only_group(plan: &Plan) -> Result<&Group> {
    match plan.groups.as_slice() {
        [group] => Ok(group),
        groups => {
            Err(Error::new(Kind::Plan, format!("{} groups, and one is a script", groups.len()))
                .hint("a script runs alone: give it a trial of its own"))
        }
    }
}
