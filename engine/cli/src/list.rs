//! `dyno-engine list`: what this build can drive, from the lists themselves.

use crate::output;
use dyno_drivers::DRIVERS;
use dyno_workloads::WORKLOADS;
use serde_json::{Value, json};

/// Runs the command; returns the exit code.
pub fn main(as_json: bool) -> i32 {
    let drivers: Vec<(&str, &str)> = DRIVERS.iter().map(|kind| (kind.name, kind.about)).collect();
    let workloads: Vec<(&str, &str)> =
        WORKLOADS.iter().map(|kind| (kind.name, kind.about)).collect();
    if as_json {
        let rows = |members: &[(&str, &str)]| -> Vec<Value> {
            members.iter().map(|(name, about)| json!({"name": name, "about": about})).collect()
        };
        let all = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "drivers": rows(&drivers),
            "workloads": rows(&workloads),
        });
        return output::text(&format!("{all}\n"));
    }
    let lines = |title: &str, members: &[(&str, &str)]| {
        members.iter().fold(format!("{title}\n"), |text, (name, about)| {
            format!("{text}  {name:<12} {about}\n")
        })
    };
    output::text(&(lines("Drivers:", &drivers) + &lines("Workloads:", &workloads)))
}
