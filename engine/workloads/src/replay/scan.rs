//! First pass over a replay file: finds the sessions with statements to send and their begin, the
//! classes with their own histogram, and the skipped statements.

use super::Replay;
use dyno_core::trace::{Effect, Meta};
use dyno_core::workload::recording::Cue;
use std::collections::BTreeMap;

/// Maximum number of classes with a histogram, chosen by their total time in the log; the rest is
/// `other`.
const CLASSES_MAX: usize = 63;
const OTHER: &str = "other";
/// Maximum number of classes that a remark names.
const NAMED_MAX: usize = 10;

/// The results of the pass.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The sessions in order of their begin.
    pub sessions: Vec<Session>,
    /// Name of the class of each statement of the workload.
    pub classes: Vec<String>,
    /// Index of the workload's statement for each class of the replay file.
    statements: Vec<u16>,
    /// Number of statements to send.
    sent: u64,
    /// Number of skipped statements, by effect and class.
    skipped: BTreeMap<(Effect, u32), u64>,
}

/// A session with statements to send.
#[derive(Debug)]
pub(super) struct Session {
    /// The session's number in the replay file.
    pub number: u32,
    /// Due time and database of the session's first statement.
    pub opens: Cue,
}

impl Scan {
    /// Reads the whole replay file.
    pub fn of(replay: &Replay) -> Self {
        let mut scan = Self::default();
        let meta = &replay.index.meta;
        // Total time in ns and number of the statements to send, by class.
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
        // Without a pace, sessions still begin in the order of the log.
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

    /// Index of the workload's statement for class `class` of the replay file.
    pub fn statement_of(&self, class: u32) -> u16 {
        // Not reached if the workload has no class `other`.
        let other = self.classes.len() as u16 - 1;
        self.statements.get(class as usize).copied().unwrap_or(other)
    }

    /// Remarks for the results: skipped statements, and events missing from the replay file.
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
