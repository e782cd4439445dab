//! Derives a workload profile from logs.

use super::{Shape, Shaper};
use crate::event::Event;
use crate::request::{Request, Watcher};
use crate::sequential::{EventConsumer, Logs, read_sequentially};
use crate::sql::language::Language;
use dyno_core::Result;
use dyno_core::error::{Error, Kind as ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// Profile of a workload, with the logs that it is derived from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Workload {
    /// The logs.
    #[serde(flatten)]
    pub logs: Logs,
    /// The profile.
    #[serde(flatten)]
    pub shape: Shape,
}

/// Derives the profile of the workload in logs.
///
/// # Errors
/// Unreadable logs, logs of several languages, logs without a statement.
pub fn derive(
    request: &Request,
    stop: &'static AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Workload> {
    let mut shaping = Shaping { shaper: None, language: Language::Mysql };
    let logs = read_sequentially(request, stop, &mut shaping, watcher)?;
    let shape = shaping.shaper.map(Shaper::finish);
    let shape = shape.filter(|shape| !shape.statements.is_empty()).ok_or_else(|| {
        Error::new(ErrorKind::Plan, "there is no statement in these logs")
            .hint("look at their digest: is everything filtered out?")
    })?;
    Ok(Workload { logs, shape })
}

struct Shaping {
    shaper: Option<Shaper>,
    language: Language,
}

impl EventConsumer for Shaping {
    fn log(&mut self, language: Language) -> Result<()> {
        if self.shaper.is_some() && self.language != language {
            let what = "logs of several languages make no workload";
            return Err(Error::new(ErrorKind::Plan, what).hint("give those of one system"));
        }
        self.language = language;
        self.shaper.get_or_insert_with(|| Shaper::new(language));
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Some(shaper) = &mut self.shaper {
            shaper.event(event);
        }
    }
}
