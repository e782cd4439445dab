//! `dyno-engine run`: executes the plan on standard input.

use crate::{DONE, INTERRUPTED, REFUSED, output, signals};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::event::Event;
use dyno_core::plan::{Group, Job, Plan};
use dyno_drivers::DRIVERS;
use dyno_generator::run::Ends;
use dyno_sysbench::trial;
use dyno_workloads::WORKLOADS;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Maximum size of a plan, bytes.
const PLAN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Runs the command; returns the exit code.
pub fn main() -> i32 {
    signals::install();
    let emit = |event: Event| output::event(&event, &signals::STOP);
    match carry_out(&emit) {
        Ok(false) => DONE,
        Ok(true) => INTERRUPTED,
        Err(error) => {
            emit(output::failed(&error));
            REFUSED
        }
    }
}

/// Executes the plan. Returns whether it was interrupted.
fn carry_out(emit: &(dyn Fn(Event) + Sync)) -> Result<bool> {
    let plan = read_plan()?;
    let has_script = plan.groups.iter().any(trial::is_script);
    if has_script {
        output::keep_for_events()?;
    }
    match plan.job {
        Job::Run => {
            let ends = Ends { interrupted: &signals::STOP, enough: &signals::enough };
            if has_script {
                return trial::run(&plan, DRIVERS, ends, emit);
            }
            dyno_generator::run::run(&plan, DRIVERS, WORKLOADS, ends, emit)
        }
        Job::Load => {
            signals::end_at_once();
            dyno_generator::setup::check::common(&plan)?;
            dyno_generator::machine::pin(&plan.cpus)?;
            load(plan, emit)?;
            Ok(signals::STOP.load(Ordering::Relaxed))
        }
    }
}

/// Populates tables, then runs the scripts' preparation, which may depend on the tables.
fn load(mut plan: Plan, emit: &(dyn Fn(Event) + Sync)) -> Result<()> {
    let start = Instant::now();
    let (scripts, others) = plan.groups.drain(..).partition(trial::is_script);
    plan.groups = others;
    let scripts: Vec<Group> = scripts;
    if scripts.is_empty() {
        return dyno_generator::populate::load(&plan, DRIVERS, WORKLOADS, emit);
    }
    let loaded = Mutex::new(BTreeMap::new());
    let keep = |event: Event| match event {
        Event::Loaded { rows, .. } => {
            *loaded.lock().unwrap_or_else(PoisonError::into_inner) = rows;
        }
        other => emit(other),
    };
    if !plan.groups.is_empty() {
        dyno_generator::populate::load(&plan, DRIVERS, WORKLOADS, &keep)?;
    }
    for group in &scripts {
        trial::load(&plan, group, DRIVERS)?;
    }
    let rows = loaded.into_inner().unwrap_or_else(PoisonError::into_inner);
    emit(Event::Loaded { rows, elapsed_s: start.elapsed().as_secs_f64() });
    Ok(())
}

fn read_plan() -> Result<Plan> {
    let mut text = String::new();
    std::io::stdin().lock().take(PLAN_BYTES_MAX).read_to_string(&mut text).map_err(|error| {
        Error::new(Kind::Plan, format!("the plan on standard input cannot be read: {error}"))
            .hint("it must be JSON in UTF-8")
    })?;
    if text.trim().is_empty() {
        return Err(Error::new(Kind::Plan, "there is no plan on standard input")
            .hint("dyno writes it; by hand: dyno-engine run < plan.json"));
    }
    parse_plan(&text)
}

/// Parses a plan. Errors contain the path in the JSON and the line.
fn parse_plan(text: &str) -> Result<Plan> {
    let mut json = serde_json::Deserializer::from_str(text);
    let plan: Plan = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        Error::new(Kind::Plan, format!("plan: {path}: {}", error.inner()))
            .hint("see schemas/engine-plan.schema.json")
    })?;
    json.end().map_err(|error| {
        Error::new(Kind::Plan, format!("plan: more than one JSON value: {error}"))
            .hint("give one plan a call")
    })?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_field_is_named_with_path_and_line() {
        let text = "{\"schema_version\": 1, \"job\": \"run\", \"trial\": \"t\", \"directory\": \".\", \"seed\": 1,\n\
                    \"targets\": {\"db\": {\"driver\": \"null\", \"address\": \"none\", \"pasword\": \"x\"}}, \"groups\": []}";
        let error = parse_plan(text).unwrap_err();
        assert!(error.what.contains("targets.db.pasword"), "{error}");
        assert!(error.what.contains("line 2"), "{error}");
        assert_eq!(error.kind, Kind::Plan);
    }

    #[test]
    fn a_password_of_the_wrong_type_is_not_repeated() {
        for password in ["4711", "[\"4711\"]", "{\"4711\": 1}", "4711.5", "true"] {
            let text = format!(
                "{{\"schema_version\": 1, \"job\": \"run\", \"trial\": \"t\", \"directory\": \".\", \"seed\": 1, \
                 \"groups\": [], \"targets\": {{\"db\": {{\"driver\": \"null\", \"address\": \"none\", \
                 \"password\": {password}}}}}}}"
            );
            let error = parse_plan(&text).unwrap_err();
            assert!(error.what.contains("targets.db.password"), "{error}");
            assert!(!error.to_string().contains("4711"), "{error}");
        }
    }

    #[test]
    fn rubbish_and_surplus_are_errors() {
        assert!(parse_plan("select 1").is_err());
        let plan = "{\"schema_version\": 1, \"job\": \"run\", \"trial\": \"t\", \"directory\": \".\", \"seed\": 1, \
                    \"targets\": {}, \"groups\": []}";
        assert!(parse_plan(plan).is_ok());
        let error = parse_plan(&format!("{plan} {plan}")).unwrap_err();
        assert!(error.what.contains("more than one"), "{error}");
    }
}
