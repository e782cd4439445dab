//! `dyno-engine list`: prints the drivers and workloads of this build.

use crate::output;
use dyno_core::driver::{DriverKind, DriverOption};
use dyno_core::request::capability::{Capability, names};
use dyno_drivers::DRIVERS;
use dyno_sysbench::scripts::SCRIPTS;
use dyno_sysbench::trial;
use dyno_workloads::WORKLOADS;
use serde_json::{Value, json};

/// Runs the command; returns the exit code.
pub fn main(as_json: bool) -> i32 {
    let drivers: Vec<_> =
        DRIVERS.iter().map(|kind| (kind.name, kind.about, kind.capabilities)).collect();
    let mut workloads: Vec<(&str, &str, &[Capability])> =
        WORKLOADS.iter().map(|kind| (kind.name, kind.about, kind.needs)).collect();
    workloads.push((trial::NAME, trial::ABOUT, &[Capability::Sql]));
    if as_json {
        let all = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "drivers": DRIVERS.iter().map(|kind| driver(kind)).collect::<Vec<_>>(),
            "workloads": workloads
                .iter()
                .map(|(name, about, needs)| {
                    json!({"name": name, "about": about, "needs": names(needs)})
                })
                .collect::<Vec<_>>(),
            "scripts": SCRIPTS.iter().map(|builtin| builtin.0).collect::<Vec<_>>(),
        });
        return output::text(&format!("{all}\n"));
    }
    let lines = |title: &str, verb: &str, members: &[(&str, &str, &[Capability])]| {
        members.iter().fold(format!("{title}\n"), |text, (name, about, capabilities)| {
            let listed = names(capabilities).join(", ");
            format!("{text}  {name:<12} {about}; {verb}: {listed}\n")
        })
    };
    output::text(&(lines("Drivers:", "can", &drivers) + &lines("Workloads:", "needs", &workloads)))
}

fn driver(kind: &DriverKind) -> Value {
    let option = |o: &DriverOption| json!({"name": o.name, "about": o.about, "default": o.default});
    json!({
        "name": kind.name,
        "about": kind.about,
        "library": (kind.library)(),
        "capabilities": names(kind.capabilities),
        "options": kind.options.iter().map(option).collect::<Vec<_>>(),
    })
}
