//! What is known of a trace once it was read through: which sessions have something to send and when
//! they begin, which classes get a histogram, and what is skipped.

use super::Replay;
use dyno_core::recording::Cue;
use dyno_core::trace::{Effect, Meta};
use std::collections::BTreeMap;

/// Classes with a name of their own, by the time they took in the log; the rest is `other`.
const CLASSES_MAX: usize = 63;
const OTHER: &str = "other";
/// Classes that a remark names.
const NAMED_MAX: usize = 10;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// In the order in which they begin.
    pub sessions: Vec<Session>,
    /// Names of classes, by statement of the workload.
    pub classes: Vec<String>,
    /// Statement of each class of the trace.
    statements: Vec<u16>,
    /// Statements that are sent.
    sent: u64,
    /// Statements that are not, by effect and class.
    skipped: BTreeMap<(Effect, u32), u64>,
}

/// A session that sends something.
#[derive(Debug)]
pub(super) struct Session {
    /// Its number in the trace.
    pub number: u32,
    /// Its first statement.
    pub opens: Cue,
}

impl Scan {
    /// Reads all of the trace.
    pub fn of(replay: &Replay) -> Self {
        let mut scan = Self::default();
        let meta = &replay.index.meta;
        // Time and number of what is sent, by class.
        let mut weights = vec![(0_u64, 0_u64); meta.classes.len()];
        for number in 0..meta.sessions {
            let mut place = replay.index.begin(number);
            let mut opens = None;
            while let Some(event) = replay.index.next(&replay.trace, number, &mut place) {
                if !replay.plays(&event) {
                    *scan.skipped.entry((event.effect, event.class)).or_default() += 1;
                    continue;
                }
                opens.get_or_insert_with(|| replay.cue(&event));
                scan.sent += 1;
                if let Some((time_ns, count)) = weights.get_mut(event.class as usize) {
                    *time_ns = time_ns.saturating_add(event.duration_ns);
                    *count += 1;
                }
            }
            scan.sessions.extend(opens.map(|opens| Session { number, opens }));
        }
        // Without a pace they begin in the order of the log all the same.
        let begins = |session: &Session| {
            let mut place = replay.index.begin(session.number);
            let first = replay.index.next(&replay.trace, session.number, &mut place);
            first.map(|event| event.begin_ns)
        };
        match replay.speed {
            Some(_) => scan.sessions.sort_by_key(|session| session.opens.due_ns),
            None => scan.sessions.sort_by_cached_key(begins),
        }
        scan.name_classes(meta, &weights);
        scan
    }

    fn name_classes(&mut self, meta: &Meta, weights: &[(u64, u64)]) {
        let mut ranks: Vec<usize> = (0..weights.len()).filter(|&at| weights[at].1 > 0).collect();
        ranks.sort_by_key(|&at| std::cmp::Reverse(weights[at]));
        ranks.truncate(CLASSES_MAX);
        self.classes = ranks.iter().map(|&at| meta.classes[at].name.clone()).collect();
        self.statements = vec![self.classes.len() as u16; weights.len()];
        for (statement, &class) in ranks.iter().enumerate() {
            self.statements[class] = statement as u16;
        }
        if ranks.iter().map(|&at| weights[at].1).sum::<u64>() < self.sent {
            self.classes.push(OTHER.to_owned());
        }
    }

    /// Which statement of the workload one of class `class` of the trace is.
    pub fn statement_of(&self, class: u32) -> u16 {
        // Where there are no others, none is asked for.
        let other = self.classes.len() as u16 - 1;
        self.statements.get(class as usize).copied().unwrap_or(other)
    }

    /// What a reader of the results must know.
    pub fn remarks(&self, meta: &Meta) -> Vec<String> {
        let mut remarks = Vec::new();
        let skipped: u64 = self.skipped.values().sum();
        if skipped > 0 {
            let mut effects: BTreeMap<Effect, u64> = BTreeMap::new();
            for (&(effect, _), &count) in &self.skipped {
                *effects.entry(effect).or_default() += count;
            }
            let effects: Vec<String> = effects
                .iter()
                .map(|(effect, count)| format!("{} {count}", effect.name()))
                .collect();
            remarks.push(format!(
                "replay: {skipped} of {} statements are not sent, since nothing is that is not shown \
                 to read: {}",
                skipped + self.sent,
                effects.join(", ")
            ));
            remarks.push(format!("replay: not sent by class: {}", self.by_class(meta)));
        }
        let left_out: u64 = meta.left_out.values().sum();
        if left_out > 0 {
            let reasons: Vec<String> =
                meta.left_out.iter().map(|(why, count)| format!("{why} {count}")).collect();
            remarks.push(format!(
                "replay: {left_out} events of the log are not in the trace: {}",
                reasons.join(", ")
            ));
        }
        remarks
    }

    fn by_class(&self, meta: &Meta) -> String {
        let mut counts: Vec<(u64, Effect, u32)> =
            self.skipped.iter().map(|(&(effect, class), &count)| (count, effect, class)).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let more = counts.len().saturating_sub(NAMED_MAX);
        let name = |class: u32| meta.classes.get(class as usize).map_or(OTHER, |c| &*c.name);
        let mut named: Vec<String> = counts
            .iter()
            .take(NAMED_MAX)
            .map(|&(count, effect, class)| format!("{} ({}) {count}", name(class), effect.name()))
            .collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        named.join(", ")
    }
}
