//! Reads and validates a workload's flat options. Errors name the option and the allowed values;
//! [`Reader::finish`] rejects options that the workload does not read.

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Options;
use serde_json::Value;
use std::ops::RangeInclusive;

/// Reads options by name and records the names, so that unknown options can be rejected.
pub struct Reader<'a> {
    workload: &'static str,
    options: &'a Options,
    known: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// Creates a reader for the options of `workload`, whose name error messages contain.
    pub fn new(workload: &'static str, options: &'a Options) -> Self {
        Self { workload, options, known: Vec::new() }
    }

    fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.options.get(name)
    }

    /// A plan error about option `name`.
    pub fn wrong(&self, name: &str, why: impl std::fmt::Display) -> Error {
        Error::new(Kind::Plan, format!("option {name} of workload {}: {why}", self.workload))
    }

    /// Reads an integer. Accepts floats without a fraction (`1e6`, `1000000.0`), as YAML writes them.
    pub fn integer(
        &mut self,
        name: &'static str,
        default: u64,
        allowed: RangeInclusive<u64>,
    ) -> Result<u64> {
        let Some(value) = self.get(name) else { return Ok(default) };
        let number = value.as_u64().or_else(|| {
            let x = value.as_f64()?;
            (x >= 0.0 && x.fract() == 0.0 && x < 1e15).then_some(x as u64)
        });
        number.filter(|n| allowed.contains(n)).ok_or_else(|| {
            let (low, high) = (allowed.start(), allowed.end());
            self.wrong(name, format!("{value} is not a whole number from {low} to {high}"))
        })
    }

    /// Reads a number that satisfies `allowed`; `range` describes the condition in error messages.
    pub fn number(
        &mut self,
        name: &'static str,
        default: f64,
        allowed: impl Fn(f64) -> bool,
        range: &str,
    ) -> Result<f64> {
        let Some(value) = self.get(name) else { return Ok(default) };
        value
            .as_f64()
            .filter(|&x| allowed(x))
            .ok_or_else(|| self.wrong(name, format!("{value} is not a number {range}")))
    }

    /// Like [`Reader::number`], but returns `None` if the value is `word`.
    pub fn number_or(
        &mut self,
        word: &str,
        name: &'static str,
        default: f64,
        allowed: impl Fn(f64) -> bool,
        range: &str,
    ) -> Result<Option<f64>> {
        if self.options.get(name).and_then(Value::as_str) == Some(word) {
            self.known.push(name);
            return Ok(None);
        }
        self.number(name, default, allowed, &format!("{range}, or {word}")).map(Some)
    }

    /// Reads `true` or `false`.
    pub fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        let Some(value) = self.get(name) else { return Ok(default) };
        value.as_bool().ok_or_else(|| self.wrong(name, format!("{value} is not true or false")))
    }

    /// Reads a string; returns an empty one if the option is absent.
    pub fn text(&mut self, name: &'static str) -> Result<&'a str> {
        let Some(value) = self.get(name) else { return Ok("") };
        value.as_str().ok_or_else(|| self.wrong(name, format!("{value} is not text")))
    }

    /// Reads one of the `allowed` words; returns `default` if the option is absent.
    pub fn word(
        &mut self,
        name: &'static str,
        default: &'static str,
        allowed: &[&'static str],
    ) -> Result<&'static str> {
        let Some(value) = self.get(name) else { return Ok(default) };
        allowed.iter().find(|word| value.as_str() == Some(word)).copied().ok_or_else(|| {
            self.wrong(name, format!("{value} is not one of {}", allowed.join(", ")))
        })
    }

    /// Whether the option is present.
    pub fn given(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }

    /// Fails if an option is present that was never read.
    pub fn finish(&self) -> Result<()> {
        match self.options.keys().find(|name| !self.known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Error::new(
                Kind::Plan,
                format!("workload {} has no option {name}", self.workload),
            )
            .hint(format!("its options are {}", self.known.join(", ")))),
        }
    }
}
