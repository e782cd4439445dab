//! Whether a plan can be carried out, before anything is opened.

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Group, Plan, SCHEMA_VERSION};
use std::collections::BTreeSet;

/// Groups in a plan.
const GROUPS_MAX: usize = 64;
/// Sessions in a group, so that a session's number and its group fit into 32 bits.
const SESSIONS_MAX: u32 = 1 << 20;
/// Longest warm-up or measured phase, in seconds: 30 days.
const LENGTH_MAX_S: f64 = 30.0 * 86_400.0;

fn refuse<T>(what: impl Into<String>, hint: &str) -> Result<T> {
    Err(Error::new(Kind::Plan, what).hint(hint))
}

/// Checks what both jobs need.
///
/// # Errors
/// [`Kind::Plan`], naming the field.
pub fn common(plan: &Plan) -> Result<()> {
    if plan.schema_version != SCHEMA_VERSION {
        let what = format!(
            "schema_version is {}, this engine speaks {SCHEMA_VERSION}",
            plan.schema_version
        );
        return refuse(what, "dyno and dyno-engine must come from the same release");
    }
    if !plan.directory.is_dir() {
        let what = format!("directory {} does not exist", plan.directory.display());
        return refuse(what, "create it first");
    }
    if plan.groups.is_empty() || plan.groups.len() > GROUPS_MAX {
        return refuse(format!("groups: {} given", plan.groups.len()), "give 1 to 64 groups");
    }
    let mut names = BTreeSet::new();
    for group in &plan.groups {
        check_group(plan, group)?;
        if !names.insert(&group.name) {
            return refuse(format!("groups: two are called {}", group.name), "rename one");
        }
    }
    Ok(())
}

fn check_group(plan: &Plan, group: &Group) -> Result<()> {
    let name = &group.name;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    if name.is_empty() || name.len() > 100 || !name.chars().all(is_plain) {
        return refuse(format!("groups: {name:?} is no name"), "use letters, digits, _, - and .");
    }
    if !plan.targets.contains_key(&group.target) {
        let known: Vec<&str> = plan.targets.keys().map(String::as_str).collect();
        let what = format!("groups.{name}.target: there is no target {}", group.target);
        return refuse(what, &format!("the plan has {}", known.join(", ")));
    }
    if group.sessions == 0 || group.sessions > SESSIONS_MAX {
        let what = format!("groups.{name}.sessions is {}", group.sessions);
        return refuse(what, "give 1 to 1048576 sessions");
    }
    if !(group.deadline_s > 0.0 && group.deadline_s <= LENGTH_MAX_S) {
        let what = format!("groups.{name}.deadline_s is {}", group.deadline_s);
        return refuse(what, "give a positive number of seconds");
    }
    for (number, step) in group.arrivals.iter().flat_map(|a| a.steps.iter().enumerate()) {
        let is_rate = |rate: f64| rate > 0.0 && rate <= 1e9;
        if !(is_rate(step.from_per_s) && is_rate(step.to_per_s)) {
            let (from, to) = (step.from_per_s, step.to_per_s);
            let what = format!("groups.{name}.arrivals.steps[{number}] goes from {from} to {to}");
            return refuse(what, "give positive rates");
        }
    }
    Ok(())
}

/// Checks what a measured trial needs beside.
///
/// # Errors
/// [`Kind::Plan`], naming the field.
pub fn run(plan: &Plan) -> Result<()> {
    common(plan)?;
    if !(plan.warmup_s >= 0.0 && plan.warmup_s <= LENGTH_MAX_S) {
        return refuse(format!("warmup_s is {}", plan.warmup_s), "give 0 or more seconds");
    }
    if !(plan.duration_s > 0.0 && plan.duration_s <= LENGTH_MAX_S) {
        return refuse(
            format!("duration_s is {}", plan.duration_s),
            "give a positive number of seconds",
        );
    }
    if !(plan.interval_s >= 0.1 && plan.interval_s <= 3600.0) {
        return refuse(format!("interval_s is {}", plan.interval_s), "give 0.1 to 3600 seconds");
    }
    if plan.workers > 1024 {
        return refuse(format!("workers is {}", plan.workers), "give at most 1024; 0 chooses");
    }
    Ok(())
}
