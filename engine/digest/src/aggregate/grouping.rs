//! Finds the class of an event: by the statement without its literals, or by one attribute.

use crate::aggregate::per_class::details::Title;
use crate::event::{Event, Kind};
use crate::sql::distill::{Distilled, distill};
use crate::sql::fingerprint::{Fingerprinter, merged_names};
use crate::sql::language::Language;
use std::collections::{HashMap, HashSet};

/// The attribute by which events form classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// The statement without literals.
    #[default]
    Fingerprint,
    /// The statement's set of tables; the time within a statement is not divided among them.
    Table,
    /// The default database.
    Database,
    /// The user.
    User,
    /// The client's host.
    Host,
    /// Verbs and tables.
    Distill,
}

impl GroupBy {
    /// Option values and their variants.
    pub const ALL: &[(&str, GroupBy)] = &[
        ("fingerprint", GroupBy::Fingerprint),
        ("table", GroupBy::Table),
        ("db", GroupBy::Database),
        ("user", GroupBy::User),
        ("host", GroupBy::Host),
        ("distill", GroupBy::Distill),
    ];

    /// Whether names within statements distinguish classes.
    pub fn has_names(self) -> bool {
        matches!(self, GroupBy::Fingerprint | GroupBy::Table | GroupBy::Distill)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, by)| *by == self).map_or("", |(name, _)| name)
    }
}

/// Name of the class of events without a table, database, user or host.
pub const NONE: &str = "(none)";

/// The most fingerprints whose tables or verbs a thread caches.
const KNOWN: usize = 100_000;

/// Finds the class of events of one language. Each thread has its own, on separate cache lines.
#[repr(align(128))]
pub struct Grouper {
    by: GroupBy,
    language: Language,
    fingerprinter: Fingerprinter,
    merges_names: bool,
    /// Cache from fingerprints to classes, for groupings that are slow to compute.
    known: HashMap<u128, u128>,
}

impl Grouper {
    /// Creates a grouper for one thread.
    pub fn new(by: GroupBy, language: Language) -> Self {
        Self {
            by,
            language,
            fingerprinter: Fingerprinter::new(language),
            merges_names: false,
            known: HashMap::new(),
        }
    }

    /// Replaces numbers and hashes in names, such as those of tables, by `?`.
    pub fn merging_names(self) -> Self {
        let fingerprinter = self.fingerprinter.merging_names();
        Self { fingerprinter, merges_names: true, ..self }
    }

    fn merged(&self, name: String) -> String {
        if self.merges_names { merged_names(&name) } else { name }
    }

    /// The class of an event.
    #[inline]
    pub fn key(&mut self, event: &Event<'_>) -> u128 {
        match self.by {
            GroupBy::Fingerprint => self.fingerprint_key(event),
            GroupBy::Database => key_of(event.database),
            GroupBy::User => key_of(event.user),
            GroupBy::Host => key_of(event.host),
            GroupBy::Table | GroupBy::Distill => {
                let fingerprint = self.fingerprint_key(event);
                if let Some(&key) = self.known.get(&fingerprint) {
                    return key;
                }
                let key = key_of(self.name(event).as_bytes());
                if self.known.len() == KNOWN {
                    self.known.clear();
                }
                self.known.insert(fingerprint, key);
                key
            }
        }
    }

    /// Key by fingerprint; prepares and commands form classes of their own.
    #[inline]
    fn fingerprint_key(&mut self, event: &Event<'_>) -> u128 {
        match event.kind {
            Kind::Statement => self.fingerprinter.key(event.text),
            Kind::Prepare => self.fingerprinter.key(event.text) ^ key_of(b"prepare"),
            Kind::Command if self.has_values(event) => {
                self.fingerprinter.key(event.text) ^ key_of(b"command")
            }
            Kind::Command => key_of(event.text) ^ key_of(b"command"),
        }
    }

    /// Whether the log reports this command with its values, as MongoDB does for commands whose
    /// writes are separate events. Other commands have only a name.
    fn has_values(&self, event: &Event<'_>) -> bool {
        self.language == Language::Mongo && event.text.starts_with(b"{")
    }

    /// The name of the class; never empty.
    fn called(&mut self, event: &Event<'_>) -> String {
        let name = self.name(event);
        if name.is_empty() && self.by != GroupBy::Fingerprint { NONE.to_owned() } else { name }
    }

    /// The attribute that identifies the class; empty if the event lacks it.
    fn name(&mut self, event: &Event<'_>) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self.by {
            GroupBy::Fingerprint => match event.kind {
                Kind::Statement => self.fingerprinter.fingerprint(event.text),
                Kind::Prepare => format!("PREPARE {}", self.fingerprinter.fingerprint(event.text)),
                Kind::Command if self.has_values(event) => {
                    format!("command: {}", self.fingerprinter.fingerprint(event.text))
                }
                Kind::Command => format!("command: {}", text(event.text)),
            },
            GroupBy::Database => text(event.database),
            GroupBy::User => text(event.user),
            GroupBy::Host => text(event.host),
            GroupBy::Table => self.tables(event).join(", "),
            GroupBy::Distill => self.distilled(event),
        }
    }

    fn tables(&self, event: &Event<'_>) -> Vec<String> {
        match event.kind {
            Kind::Command if !self.has_values(event) => Vec::new(),
            _ => {
                let mut tables = distill(event.text, self.language).tables;
                if self.merges_names {
                    tables.iter_mut().for_each(|table| *table = merged_names(table));
                    let mut known = HashSet::new();
                    tables.retain(|table| known.insert(table.clone()));
                }
                tables
            }
        }
    }

    fn distilled(&self, event: &Event<'_>) -> String {
        match event.kind {
            Kind::Command if !self.has_values(event) => {
                String::from_utf8_lossy(event.text).into_owned()
            }
            _ => {
                let verb = distill(event.text, self.language).verb;
                Distilled { verb: self.merged(verb), tables: self.tables(event) }.to_string()
            }
        }
    }

    /// The title of the class of an event of log `input`.
    pub fn title(&mut self, input: u32, event: &Event<'_>) -> Box<Title> {
        let by_statement = matches!(self.by, GroupBy::Fingerprint | GroupBy::Distill);
        Box::new(Title {
            at: (input, event.offset),
            fingerprint: self.called(event),
            pt_id: match (self.by, event.kind) {
                (GroupBy::Fingerprint, Kind::Statement) => self.fingerprinter.pt_id(event.text),
                (GroupBy::Fingerprint, Kind::Command) => {
                    self.fingerprinter.pt_id_of_command(event.text)
                }
                _ => None,
            },
            distill: if by_statement { self.distilled(event) } else { String::new() },
            tables: if by_statement || self.by == GroupBy::Table {
                self.tables(event)
            } else {
                Vec::new()
            },
        })
    }
}

/// Hashes bytes, identically in every version (FNV-1a, 128 bits, with its halves mixed so that the
/// low bits can serve as a table index).
fn key_of(bytes: &[u8]) -> u128 {
    let hash = bytes.iter().fold(0x6C62_272E_07BB_0142_62B8_2175_6295_C58D_u128, |hash, &byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013B)
    });
    let mixed = (hash ^ hash >> 64).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
    mixed ^ mixed >> 67
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_prepares_and_statements_with_one_text_are_three_classes() {
        let mut grouper = Grouper::new(GroupBy::Fingerprint, Language::Mysql);
        let of = |kind| Event { kind, text: b"quit", ..Event::default() };
        let keys: std::collections::BTreeSet<u128> =
            [Kind::Statement, Kind::Prepare, Kind::Command].map(|k| grouper.key(&of(k))).into();
        assert_eq!(keys.len(), 3);
    }

    #[test]
    fn commands_around_writes_of_mongodb_are_classes_without_values() {
        let text = |value: &str| {
            format!(
                r#"{{"update":"users","updates":[{{"q":{{"email":"{value}"}}}}],"$db":"shop"}}"#
            )
        };
        let (one, other) = (text("secret"), text("another secret"));
        let of = |text| Event { kind: Kind::Command, text, ..Event::default() };
        let (one, other) = (of(one.as_bytes()), of(other.as_bytes()));
        for (by, name) in [
            (GroupBy::Fingerprint, r#"command: {"update":"users","updates":[{"q":{"email":?}}]}"#),
            (GroupBy::Distill, "UPDATE users"),
            (GroupBy::Table, "users"),
        ] {
            let mut grouper = Grouper::new(by, Language::Mongo);
            assert_eq!(grouper.key(&one), grouper.key(&other));
            let title = grouper.title(0, &one);
            assert_eq!(title.fingerprint, name);
            assert!(!title.distill.contains("secret"));
        }
        let mut grouper = Grouper::new(GroupBy::Fingerprint, Language::Mongo);
        assert_eq!(grouper.title(0, &of(b"connect")).fingerprint, "command: connect");
    }

    #[test]
    fn events_are_grouped_by_what_was_asked_for() {
        let event =
            |user, database| Event { user, database, text: b"select 1", ..Event::default() };
        let mut grouper = Grouper::new(GroupBy::User, Language::Mysql);
        assert_eq!(grouper.key(&event(b"a", b"x")), grouper.key(&event(b"a", b"y")));
        assert_ne!(grouper.key(&event(b"a", b"x")), grouper.key(&event(b"b", b"x")));
        assert_eq!(grouper.title(0, &event(b"a", b"x")).fingerprint, "a");
    }

    #[test]
    fn tables_whose_names_differ_in_numbers_are_one_class_if_that_is_asked_for() {
        let of = |text| Event { text, ..Event::default() };
        let one = of(b"select a from wp_17_posts join wp_17_users");
        let other = of(b"select a from wp_18_posts join wp_18_users");
        for (by, name) in [
            (GroupBy::Fingerprint, "select a from wp_?_posts join wp_?_users"),
            (GroupBy::Table, "wp_?_posts, wp_?_users"),
            (GroupBy::Distill, "SELECT wp_?_posts wp_?_users"),
        ] {
            let mut apart = Grouper::new(by, Language::Mysql);
            assert_ne!(apart.key(&one), apart.key(&other));
            let mut grouper = Grouper::new(by, Language::Mysql).merging_names();
            assert_eq!(grouper.key(&one), grouper.key(&other));
            assert_eq!(grouper.title(0, &one).fingerprint, name);
            // A class without numbers in its names keeps its ID.
            let plain = of(b"select a from posts where b = 1");
            assert_eq!(grouper.key(&plain), apart.key(&plain));
        }
        let union = of(b"select a from t1 join t2");
        let mut grouper = Grouper::new(GroupBy::Table, Language::Mysql).merging_names();
        assert_eq!(grouper.title(0, &union).fingerprint, "t?");
    }

    #[test]
    fn a_class_without_what_it_is_grouped_by_has_a_name() {
        let event = Event { text: b"select 1", ..Event::default() };
        for by in [GroupBy::Table, GroupBy::Database, GroupBy::User, GroupBy::Host] {
            let mut grouper = Grouper::new(by, Language::Mysql);
            assert_eq!(grouper.title(0, &event).fingerprint, "(none)", "{by:?}");
        }
    }
}
