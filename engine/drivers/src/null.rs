//! A driver without a system: answers at once or after a scripted delay. It measures the generator
//! itself and lets everything above the engine run without a server.

use dyno_core::driver::{Driver, DriverKind, DriverOption, Reply, ServerError, Session, Timed};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Options, Target};
use dyno_core::request::capability::Capability;
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{Dialect, Effect, Op, Request, Transaction};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The driver's description.
pub static KIND: DriverKind = DriverKind {
    name: "null",
    about: "no system: answers at once or after a scripted delay; measures the generator",
    capabilities: Capability::ALL,
    dialect: Dialect::Null,
    options: &[
        DriverOption {
            name: "delay_us",
            about: "microseconds before every answer, 0 to 3600000000",
            default: "0",
        },
        DriverOption {
            name: "script",
            about: "at most 1000 entries [from_s, to_s, delay_us]: the delay between two moments \
                    of the measured phase",
            default: "[]",
        },
        DriverOption {
            name: "error_every",
            about: "each n-th write or commit of a session fails; 0: never",
            default: "0",
        },
        DriverOption {
            name: "error_code",
            about: "the code of those failures, 1 to 32 characters",
            default: "\"1213\"",
        },
        DriverOption {
            name: "error_retryable",
            about: "whether those transactions are tried again",
            default: "true",
        },
    ],
    library: || None,
    build,
    clients: None,
    routed: None,
};

/// Longest delay: one hour, the range of the histograms.
const DELAY_MAX_US: f64 = 3_600e6;
/// Maximum number of script entries.
const SPANS_MAX: usize = 1000;

/// The parsed options, shared by all sessions.
#[derive(Debug, Clone, PartialEq)]
struct Script {
    delay: Duration,
    spans: Vec<Span>,
    error_every: u64,
    error: ServerError,
}

#[derive(Debug, Clone, PartialEq)]
struct Span {
    from_s: f64,
    to_s: f64,
    delay: Duration,
}

struct Null {
    script: Arc<Script>,
    /// For each request, whether it may fail: writes and commits.
    may_fail: Arc<[bool]>,
}

struct NullSession {
    script: Arc<Script>,
    may_fail: Arc<[bool]>,
    changes: u64,
}

fn build(target: &Target, requests: Arc<[Request]>) -> Result<Box<dyn Driver>> {
    let fails = |s: &Request| matches!(s.effect, Effect::Write | Effect::Commit);
    Ok(Box::new(Null {
        script: Arc::new(script(&target.options)?),
        may_fail: requests.iter().map(fails).collect(),
    }))
}

fn refuse(option: &str, value: &Value, wants: &str) -> Error {
    Error::new(Kind::Plan, format!("null driver: options.{option} is {value}"))
        .hint(format!("give {wants}"))
}

fn delay(option: &str, value: &Value) -> Result<Duration> {
    match value.as_f64() {
        Some(us) if (0.0..=DELAY_MAX_US).contains(&us) => Ok(Duration::from_secs_f64(us / 1e6)),
        _ => Err(refuse(option, value, "microseconds from 0 to 3600000000")),
    }
}

fn script(options: &Options) -> Result<Script> {
    let mut script = Script {
        delay: Duration::ZERO,
        spans: Vec::new(),
        error_every: 0,
        error: ServerError {
            code: "1213".to_owned(),
            message: "scripted by error_every".to_owned(),
            retryable: true,
            ..ServerError::default()
        },
    };
    for (name, value) in options {
        match name.as_str() {
            "delay_us" => script.delay = delay(name, value)?,
            "script" => script.spans = spans(value)?,
            "error_every" => {
                script.error_every =
                    value.as_u64().ok_or_else(|| refuse(name, value, "a whole number"))?;
            }
            "error_code" => {
                let code = value.as_str().filter(|code| !code.is_empty() && code.len() <= 32);
                script.error.code = code
                    .ok_or_else(|| refuse(name, value, "a code of 1 to 32 characters in quotes"))?
                    .to_owned();
            }
            "error_retryable" => {
                script.error.retryable =
                    value.as_bool().ok_or_else(|| refuse(name, value, "true or false"))?;
            }
            _ => {
                return Err(Error::new(
                    Kind::Plan,
                    format!("null driver: there is no option {name}"),
                )
                .hint("it has delay_us, script, error_every, error_code and error_retryable"));
            }
        }
    }
    Ok(script)
}

fn spans(value: &Value) -> Result<Vec<Span>> {
    let wants = || {
        refuse("script", value, "at most 1000 entries [from_s, to_s, delay_us] with from_s < to_s")
    };
    let entries = value.as_array().filter(|list| list.len() <= SPANS_MAX).ok_or_else(wants)?;
    let span = |entry: &Value| {
        let parts = entry.as_array().filter(|parts| parts.len() == 3).ok_or_else(wants)?;
        let (from_s, to_s) = (parts[0].as_f64(), parts[1].as_f64());
        match (from_s, to_s) {
            (Some(from_s), Some(to_s)) if from_s < to_s => {
                Ok(Span { from_s, to_s, delay: delay("script", &parts[2])? })
            }
            _ => Err(wants()),
        }
    };
    entries.iter().map(span).collect()
}

impl Driver for Null {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Timed(Box::new(NullSession {
            script: Arc::clone(&self.script),
            may_fail: Arc::clone(&self.may_fail),
            changes: 0,
        })))
    }
}

impl Timed for NullSession {
    fn execute(&mut self, op: &Op, _tx: &Transaction, t_s: f64) -> (Duration, Reply) {
        let script = &*self.script;
        let span = script.spans.iter().find(|span| span.from_s <= t_s && t_s < span.to_s);
        let delay = span.map_or(script.delay, |span| span.delay);
        let mut reply = Reply { kept: Rows::unknown(), ..Reply::default() };
        if script.error_every > 0 && self.may_fail[usize::from(op.request)] {
            self.changes += 1;
            if self.changes.is_multiple_of(script.error_every) {
                reply.error = Some(Box::new(script.error.clone()));
            }
        }
        (delay, reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn build_with(options: Value) -> Result<Box<dyn Driver>> {
        let target: Target = serde_json::from_value(
            json!({"driver": "null", "address": "none", "options": options}),
        )
        .unwrap();
        let statement = |kind| Request::new("x", kind, "", vec![]);
        build(&target, [statement(Effect::Read), statement(Effect::Write)].into())
    }

    fn session(options: Value) -> Box<dyn Timed> {
        match build_with(options).unwrap().session(0).unwrap() {
            Session::Timed(timed) => timed,
            _ => panic!("the null driver's sessions are timed"),
        }
    }

    #[test]
    fn a_script_replaces_the_delay_for_its_span() {
        let mut session = session(json!({"delay_us": 100, "script": [[1.0, 2.0, 5000]]}));
        let (op, tx) = (Op { request: 0, values: 0..0 }, Transaction::default());
        let mut delay_at = |t_s| session.execute(&op, &tx, t_s).0.as_micros();
        assert_eq!([-1.0, 0.9, 1.0, 1.9, 2.0].map(&mut delay_at), [100, 100, 5000, 5000, 100]);
    }

    #[test]
    fn every_nth_change_fails_and_reads_never() {
        let mut session = session(json!({"error_every": 3, "error_code": "40001"}));
        let tx = Transaction::default();
        let mut run = |request| session.execute(&Op { request, values: 0..0 }, &tx, 0.0).1.error;
        let failures: Vec<bool> = (0..6).map(|_| run(1).is_some()).collect();
        assert_eq!(failures, [false, false, true, false, false, true]);
        assert!((0..10).all(|_| run(0).is_none()));
    }

    #[test]
    fn a_wrong_option_is_named() {
        for (options, word) in [
            (json!({"delay": 1}), "delay"),
            (json!({"delay_us": -1}), "delay_us"),
            (json!({"script": [[2, 1, 0]]}), "script"),
            (json!({"error_every": "x"}), "error_every"),
            (json!({"error_code": ""}), "error_code"),
            (json!({"error_retryable": 1}), "error_retryable"),
        ] {
            let error = build_with(options).err().unwrap();
            assert!(error.what.contains(word) && !error.hint.is_empty(), "{error}");
        }
    }
}
