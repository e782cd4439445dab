//! Loads and configures the script of a group of the plan.

use crate::command::call::Kinds;
use crate::command::database;
use crate::command::header;
use crate::command::options::given::Given;
use crate::command::options::resolve;
use crate::command::options::table;
use crate::drive::{Drive, Server};
use crate::lua::{Driver, Ignore, Script, Setup, Source};
use crate::options::{Declared, Options, canonical};
use crate::rand::{self, Uniques};
use crate::report::Compat;
use crate::scripts::SCRIPTS;
use crate::session::Program;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Group, Plan, Target};
use serde_json::Value;
use std::sync::Arc;

const COMPAT: Compat = Compat::V1_0;
/// General options that an experiment may set; it determines all others itself. Options of random
/// numbers and of ignored errors are allowed too.
const OPEN: [&str; 2] = ["db-ps-mode", "validate"];
/// Fields of the workload, and whether they are required.
const FIELDS: &str = "script (required), text, folder, options";

/// The workload in the plan.
struct Asked<'a> {
    script: &'a str,
    /// The script's text; none: a built-in script.
    text: Option<&'a str>,
    /// The paths to search for modules.
    folder: &'a str,
    /// The script's options.
    options: Vec<(&'a str, &'a Value)>,
}

/// A script of a plan, ready to run.
pub struct Order {
    pub script: Script,
    pub servers: Arc<[Server]>,
    /// Whether a load thread drives many sessions.
    pub shares_threads: bool,
}

impl Order {
    /// Returns the number of load threads for this many sessions of the script.
    pub fn threads(&self, program: &Program, sessions: u32, plan: &Plan) -> usize {
        let asked = if *program == Program::Run { plan.workers } else { 0 };
        let asked = (asked, plan.cpus.as_slice());
        Drive::threads_for(program, sessions, self.shares_threads, asked, &self.servers)
    }

    /// Loads the group's script for `command`, in `sessions` sessions.
    ///
    /// # Errors
    /// An error in the plan, the script or its options.
    pub fn of(
        plan: &Plan,
        group: &Group,
        kinds: Kinds,
        command: &str,
        sessions: u32,
    ) -> Result<Self> {
        let asked = Asked::of(group)?;
        let targets = targets(plan, group);
        let (driver, servers) = reach(&targets, kinds)?;
        let servers: Arc<[Server]> = servers.into();
        let source = source(&asked)?;
        let mut given = general(plan, driver, command, sessions);
        let declared = table::all(COMPAT);
        let options = resolved(&declared, &given)?;
        let random = rand::Settings::of(&options, 1).map_err(wrong)?;
        let setup = |options: Options, random| Setup {
            drivers: vec![Driver {
                name: driver,
                servers: (0..servers.len()).collect(),
                addresses: targets.iter().map(|target| target.address.clone()).collect(),
                ignore: Ignore::new(options.list(&format!("{driver}-ignore-errors"))),
                is_traced: false,
            }],
            options,
            servers: Arc::clone(&servers),
            rand: random,
            uniques: Arc::new(Uniques::new(random.seed)),
            version: [header::number(COMPAT).to_owned(), header::version(COMPAT)],
            script_path: Some(asked.script.to_owned()),
            command: Some(command.to_owned()),
            arguments: vec!["sysbench".into(), asked.script.to_owned(), command.to_owned()],
            compat: "1.0",
        };
        let mut script = Script::load(source, setup(options, random)).map_err(wrong)?;
        let own = script.options().map_err(wrong)?;
        for (name, value) in &asked.options {
            given.push(asked_for(name, value, &own)?);
        }
        let declared: Vec<Declared> = declared.iter().chain(&own).cloned().collect();
        let options = resolved(&declared, &given)?;
        let random = rand::Settings::of(&options, 1).map_err(wrong)?;
        script.configure(setup(options, random)).map_err(wrong)?;
        Ok(Self { script, servers, shares_threads: driver != "sqlite" })
    }
}

impl<'a> Asked<'a> {
    fn of(group: &'a Group) -> Result<Self> {
        let mut asked = Self { script: "", text: None, folder: ".", options: Vec::new() };
        for (name, value) in &group.options {
            let text = || {
                let what = format!("option {name} must be text");
                value.as_str().ok_or_else(|| Error::new(Kind::Plan, what).hint(FIELDS))
            };
            match name.as_str() {
                "script" => asked.script = text()?,
                "text" => asked.text = Some(text()?),
                "folder" => asked.folder = text()?,
                "options" => {
                    let what = "option options must be a mapping";
                    let all = value
                        .as_object()
                        .ok_or_else(|| Error::new(Kind::Plan, what).hint(FIELDS))?;
                    asked.options =
                        all.iter().map(|(name, value)| (name.as_str(), value)).collect();
                }
                _ => {
                    let what = format!("workload lua has no option {name}");
                    return Err(Error::new(Kind::Plan, what).hint(format!("it has {FIELDS}")));
                }
            }
        }
        if asked.script.is_empty() {
            return Err(Error::new(Kind::Plan, "option script is missing").hint(FIELDS));
        }
        Ok(asked)
    }
}

fn targets<'a>(plan: &'a Plan, group: &'a Group) -> Vec<&'a Target> {
    std::iter::once(&group.target)
        .chain(&group.also_targets)
        .map(|name| &plan.targets[name])
        .collect()
}

/// The driver by its name in scripts, and the servers. Passwords stay in these.
fn reach(targets: &[&Target], kinds: Kinds) -> Result<(&'static str, Vec<Server>)> {
    let wanted = &targets[0].driver;
    let known = database::DRIVERS.iter().find(|(_, kind)| kind == wanted);
    let (Some((name, _)), Some(build)) = (known, database::clients_of(wanted, kinds)) else {
        let known = database::DRIVERS.map(|(_, kind)| kind).join(", ");
        return Err(Error::new(Kind::Plan, format!("scripts cannot talk to driver {wanted}"))
            .hint(format!("they can to {known}")));
    };
    let server =
        |target: &&Target| database::server(build, target).map_err(|refusal| wrong(refusal.text()));
    Ok((name, targets.iter().map(server).collect::<Result<_>>()?))
}

fn source(asked: &Asked<'_>) -> Result<Source> {
    match asked.text {
        Some(text) => Ok(Source::kept(asked.script, text, asked.folder, SCRIPTS)),
        None => Source::builtin(asked.script, SCRIPTS).ok_or_else(|| {
            let known: Vec<&str> = SCRIPTS.iter().map(|builtin| builtin.0).collect();
            Error::new(Kind::Plan, format!("there is no built-in script {}", asked.script))
                .hint(format!("this engine has {}", known.join(", ")))
        }),
    }
}

/// The plan's decisions, as scripts see them in `sysbench.opt`.
fn general(plan: &Plan, driver: &str, command: &str, sessions: u32) -> Vec<Given> {
    // A seed of 0 would mean a seed from the clock.
    let seed = (plan.seed % (i64::MAX as u64)).max(1);
    let mut all = vec![
        format!("db-driver={driver}"),
        format!("threads={sessions}"),
        format!("rand-seed={seed}"),
    ];
    if command == "run" {
        all.push(format!("time={}", plan.duration_s.ceil()));
        all.push(format!("warmup-time={}", plan.warmup_s.ceil()));
    }
    all.iter().map(|typed| Given::named(typed, typed)).collect()
}

/// An option that the experiment sets: one that the script declares, or an allowed general one.
fn asked_for(name: &str, value: &Value, own: &[Declared]) -> Result<Given> {
    let plain = canonical(name);
    let is_own = own.iter().any(|option| canonical(&option.name) == plain);
    let is_open = OPEN.contains(&plain.as_str())
        || plain.ends_with("-ignore-errors")
        || plain.starts_with("rand-") && plain != "rand-seed";
    if !is_own && !is_open {
        let names: Vec<&str> = own.iter().map(|option| option.name.as_str()).collect();
        let what = format!("the script has no option {name} that an experiment can set");
        return Err(Error::new(Kind::Plan, what).hint(format!(
            "it has {}; beside these rand-*, *-ignore-errors, {}",
            names.join(", "),
            OPEN.join(", ")
        )));
    }
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "on".into(),
        Value::Bool(false) => "off".into(),
        Value::Number(number) => number.to_string(),
        Value::Array(all) => all
            .iter()
            .map(|each| each.as_str().map_or_else(|| each.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join(","),
        _ => {
            let what = format!("option {name} of the script must be a value or a list of values");
            return Err(Error::new(Kind::Plan, what));
        }
    };
    let typed = format!("{plain}={text}");
    Ok(Given::named(&typed, &format!("--{typed}")))
}

fn resolved(declared: &[Declared], given: &[Given]) -> Result<Options> {
    resolve::resolve(declared, given, resolve::Unknown::Refused)
        .map_err(|refusal| wrong(refusal.text()))
}

/// An error in a script or its options, with a hint for the command line.
fn wrong(what: impl Into<String>) -> Error {
    Error::new(Kind::Plan, what.into()).hint("try the script alone: dyno sysbench SCRIPT ...")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_drivers::DRIVERS;
    use serde_json::json;

    fn plan(driver: &str, options: Value) -> Plan {
        let address = if driver == "sqlite" { json!({"file": "/none"}) } else { json!("none") };
        serde_json::from_value(json!({
            "schema_version": 1, "job": "run", "trial": "t", "directory": "/", "seed": 7,
            "duration_s": 1.0,
            "targets": {"db": {"driver": driver, "address": address, "password": "secret"}},
            "groups": [{"name": "g", "target": "db", "workload": "lua", "sessions": 3,
                        "options": options}],
        }))
        .unwrap()
    }

    fn refused(driver: &str, options: Value) -> String {
        let plan = plan(driver, options);
        match Order::of(&plan, &plan.groups[0], DRIVERS, "run", 3) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_is_not_the_experiments_to_say_is_refused() {
        let script = |options: Value| json!({"script": "a.lua", "text": "function event() end", "options": options});
        for name in ["threads", "mysql-password", "time", "no_such", "rand-seed"] {
            assert!(refused("sqlite", script(json!({name: 1}))).contains(name), "{name}");
        }
        assert!(refused("null", script(json!({}))).contains("cannot talk to driver null"));
        assert!(refused("sqlite", json!({"script": "no_such"})).contains("oltp_read_write"));
        assert!(refused("sqlite", json!({})).contains("script is missing"));
        let broken = json!({"script": "a.lua", "text": "function ("});
        assert!(refused("sqlite", broken).contains("a.lua:1:"));
    }
}
