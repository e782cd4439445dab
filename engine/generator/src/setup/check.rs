//! Validation of a plan before anything is opened.

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Arrivals, Group, Job, Plan, SCHEMA_VERSION, Think, ThinkPer};
use std::collections::BTreeSet;

/// Maximum number of groups in a plan.
const GROUPS_MAX: usize = 64;
/// Maximum number of sessions in a group, so that a session's number and its group fit into 32 bits.
const SESSIONS_MAX: u32 = 1 << 20;
/// Longest warm-up or measured phase, in seconds: 30 days.
const LENGTH_MAX_S: f64 = 30.0 * 86_400.0;

/// Highest rate of a group, above what one process can send. Bounds the cost of counting arrivals.
const RATE_MAX_PER_S: f64 = 1e7;
/// Maximum number of steps of a schedule.
const STEPS_MAX: usize = 10_000;
/// Maximum number of targets of a group.
const TARGETS_MAX: usize = 1024;
/// Longest mean think time, in seconds: one day.
const THINK_MAX_S: f64 = 86_400.0;

fn refuse<T>(what: impl Into<String>, hint: &str) -> Result<T> {
    Err(Error::new(Kind::Plan, what).hint(hint))
}

/// Checks the fields that both jobs need.
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
    check_targets(plan, group)?;
    if group.sessions == 0 || group.sessions > SESSIONS_MAX {
        let what = format!("groups.{name}.sessions is {}", group.sessions);
        return refuse(what, "give 1 to 1048576 sessions");
    }
    if !(group.deadline_s > 0.0 && group.deadline_s <= LENGTH_MAX_S) {
        let what = format!("groups.{name}.deadline_s is {}", group.deadline_s);
        return refuse(what, "give a positive number of seconds");
    }
    if let Some(arrivals) = &group.arrivals {
        check_arrivals(&format!("groups.{name}.arrivals"), arrivals)?;
    }
    if let Some(think) = &group.think {
        check_think(name, think, group.arrivals.is_some())?;
    }
    Ok(())
}

fn check_targets(plan: &Plan, group: &Group) -> Result<()> {
    let name = &group.name;
    let target = |field: &str, target: &str| {
        plan.targets.get(target).ok_or_else(|| {
            let known: Vec<&str> = plan.targets.keys().map(String::as_str).collect();
            let what = format!("groups.{name}.{field}: there is no target {target}");
            Error::new(Kind::Plan, what).hint(format!("the plan has {}", known.join(", ")))
        })
    };
    let first = target("target", &group.target)?;
    if group.also_targets.len() >= TARGETS_MAX {
        let what = format!("groups.{name}.also_targets: {} given", group.also_targets.len());
        return refuse(what, "a group has at most 1024 targets");
    }
    for also in &group.also_targets {
        let other = target("also_targets", also)?;
        if other.driver != first.driver {
            let what = format!(
                "groups.{name}.also_targets: {also} is of driver {}, {} of {}",
                other.driver, group.target, first.driver
            );
            return refuse(what, "a group speaks one protocol: make two groups");
        }
    }
    if plan.job == Job::Load && !group.also_targets.is_empty() {
        let what = format!("groups.{name}.also_targets: a load has one target a group");
        return refuse(what, "load each target by a group of its own");
    }
    Ok(())
}

fn check_arrivals(name: &str, arrivals: &Arrivals) -> Result<()> {
    let steps = &arrivals.steps;
    if steps.is_empty() || steps.len() > STEPS_MAX {
        return refuse(format!("{name}.steps: {} given", steps.len()), "give 1 to 10000 steps");
    }
    for (number, step) in steps.iter().enumerate() {
        let place = format!("{name}.steps[{number}]");
        let (from, to) = (step.from_per_s, step.to_per_s);
        let is_rate = |rate: f64| (0.0..=RATE_MAX_PER_S).contains(&rate);
        if !(is_rate(from) && is_rate(to)) {
            let what = format!("{place} goes from {from} to {to} a second");
            return refuse(what, "give rates from 0 to 10000000");
        }
        match step.for_s {
            Some(for_s) if !(for_s > 0.0 && for_s <= LENGTH_MAX_S) => {
                return refuse(format!("{place}.for_s is {for_s}"), "give a positive length");
            }
            None if number + 1 < steps.len() => {
                return refuse(format!("{place} has no for_s"), "only the last step may lack it");
            }
            None if from != to => {
                let what = format!("{place} goes from {from} to {to} a second without for_s");
                return refuse(what, "say how long the change takes");
            }
            _ => {}
        }
    }
    if steps.iter().all(|step| step.from_per_s == 0.0 && step.to_per_s == 0.0) {
        return refuse(format!("{name}: all rates are 0"), "give a step with a rate above 0");
    }
    Ok(())
}

fn check_think(name: &str, think: &Think, is_open: bool) -> Result<()> {
    if is_open && think.per == ThinkPer::Transaction {
        let what = format!("groups.{name} has both arrivals and think");
        return refuse(what, "an open loop is paced by its arrivals: remove think");
    }
    if !(think.mean_s > 0.0 && think.mean_s <= THINK_MAX_S) {
        let what = format!("groups.{name}.think.mean_s is {}", think.mean_s);
        return refuse(what, "give a positive number of seconds, at most a day");
    }
    Ok(())
}

/// Checks the additional fields of a measured trial.
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
    if !(plan.drain_s >= 0.0 && plan.drain_s <= LENGTH_MAX_S) {
        return refuse(format!("drain_s is {}", plan.drain_s), "give 0 or more seconds");
    }
    if !(plan.interval_s >= 0.1 && plan.interval_s <= 3600.0) {
        return refuse(format!("interval_s is {}", plan.interval_s), "give 0.1 to 3600 seconds");
    }
    if plan.workers > 1024 {
        return refuse(format!("workers is {}", plan.workers), "give at most 1024; 0 chooses");
    }
    Ok(())
}
