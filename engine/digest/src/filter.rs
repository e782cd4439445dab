//! Filters events by time, user, host, database, and by an expression over their fields.
//!
//! `query_time > 0.5 and (rows_examined >= 1000 or user = 'app') and not database = 'test'`
//!
//! A comparison with a field that the event lacks is false, even with `!=`; `not` before it is true.
//! Times are in seconds. `~` tests whether a text contains another.

use crate::event::weight;
use crate::event::{Event, Measure, Unit};
use dyno_core::Result;
use dyno_core::error::{Error, Kind};

/// Maximum nesting depth of parentheses and `not`.
const DEPTH: usize = 64;

/// A filter of events: an event passes if it meets all given criteria.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Lower bound of the end, inclusive, nanoseconds since 1970. An event without an end fails both bounds.
    pub since_ns: Option<i64>,
    /// Upper bound of the end, exclusive, nanoseconds since 1970.
    pub until_ns: Option<i64>,
    /// Exact name of the user.
    pub user: Option<Vec<u8>>,
    /// Exact name or address of the host.
    pub host: Option<Vec<u8>>,
    /// Exact name of the default database.
    pub database: Option<Vec<u8>>,
    /// An expression that must be true.
    pub condition: Option<Condition>,
}

impl Filter {
    /// Whether an event passes.
    #[inline]
    pub fn passes(&self, event: &Event<'_>) -> bool {
        let is = |wanted: &Option<Vec<u8>>, field: &[u8]| {
            wanted.as_ref().is_none_or(|wanted| wanted == field)
        };
        self.since_ns.is_none_or(|since| event.end_ns.is_some_and(|end| end >= since))
            && self.until_ns.is_none_or(|until| event.end_ns.is_some_and(|end| end < until))
            && is(&self.user, event.user)
            && is(&self.host, event.host)
            && is(&self.database, event.database)
            && self.condition.as_ref().is_none_or(|condition| condition.holds(event))
    }
}

/// An expression over the fields of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// All conditions are true.
    And(Vec<Condition>),
    /// At least one condition is true.
    Or(Vec<Condition>),
    /// The condition is false.
    Not(Box<Condition>),
    /// A comparison of a numeric field with a number.
    Number(Number, Relation, f64),
    /// A comparison of a text field with a text.
    Text(Text, Relation, Vec<u8>),
}

/// Numeric fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// Duration, seconds.
    QueryTime,
    /// Length of the statement, bytes.
    StatementBytes,
    /// Connection ID.
    Session,
    /// Number of events that the logged one represents.
    Weight,
    /// Any other measure; times in seconds.
    Measure(Measure),
}

/// Text fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// The user.
    User,
    /// The host.
    Host,
    /// The default database.
    Database,
    /// The error code or SQLSTATE.
    Error,
    /// The text of the statement.
    Statement,
}

/// Comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `=`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `~`
    Contains,
}

const RELATIONS: &[(&str, Relation)] = &[
    ("!=", Relation::Unequal),
    ("<>", Relation::Unequal),
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("=", Relation::Equal),
    ("<", Relation::Less),
    (">", Relation::More),
    ("~", Relation::Contains),
];

const TEXTS: &[(&str, Text)] = &[
    ("user", Text::User),
    ("host", Text::Host),
    ("database", Text::Database),
    ("db", Text::Database),
    ("error", Text::Error),
    ("statement", Text::Statement),
];

const NUMBERS: &[(&str, Number)] = &[
    ("query_time", Number::QueryTime),
    ("statement_bytes", Number::StatementBytes),
    ("session", Number::Session),
    ("weight", Number::Weight),
];

impl Number {
    fn of(self, event: &Event<'_>) -> Option<f64> {
        match self {
            Self::QueryTime => event.duration_ns.map(|ns| ns as f64 / 1e9),
            Self::StatementBytes => Some(event.text.len() as f64),
            Self::Session => event.session.map(|session| session as f64),
            Self::Weight => Some(f64::from(weight(event))),
            Self::Measure(measure) => event.numbers.get(measure).map(|value| {
                if measure.unit() == Unit::Ns { value as f64 / 1e9 } else { value as f64 }
            }),
        }
    }
}

impl Text {
    fn of<'a>(self, event: &Event<'a>) -> &'a [u8] {
        match self {
            Self::User => event.user,
            Self::Host => event.host,
            Self::Database => event.database,
            Self::Error => event.error,
            Self::Statement => event.text,
        }
    }
}

impl Relation {
    fn holds<T: PartialOrd + ?Sized>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::More => left > right,
            Self::AtLeast => left >= right,
            Self::Contains => false,
        }
    }
}

impl Condition {
    /// Parses an expression.
    ///
    /// # Errors
    /// A syntax error, with the position of the character.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let condition = parser.or()?;
        parser.blanks();
        if parser.at < text.len() {
            return Err(parser.wrong("`and`, `or` or the end"));
        }
        Ok(condition)
    }

    fn holds(&self, event: &Event<'_>) -> bool {
        match self {
            Self::And(all) => all.iter().all(|one| one.holds(event)),
            Self::Or(all) => all.iter().any(|one| one.holds(event)),
            Self::Not(one) => !one.holds(event),
            Self::Number(field, relation, value) => {
                field.of(event).is_some_and(|number| relation.holds(&number, value))
            }
            Self::Text(field, relation, value) => {
                let text = field.of(event);
                match relation {
                    _ if text.is_empty() => false,
                    Relation::Contains => memchr::memmem::find(text, value).is_some(),
                    relation => relation.holds(text, value),
                }
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn wrong(&self, expected: &str) -> Error {
        let place = self.text[..self.at].chars().count() + 1;
        Error::new(Kind::Plan, format!("--where: character {place}: {expected} is expected")).hint(
            "an expression looks like: query_time > 0.5 and (rows_examined >= 1000 or user = 'app')",
        )
    }

    fn left(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.left().len() - self.left().trim_start().len();
    }

    /// The next word of letters, digits and `_`; empty if there is none. Does not consume it.
    fn word(&mut self) -> &'a str {
        self.blanks();
        let left = self.left();
        let end = left.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &left[..end.unwrap_or(left.len())]
    }

    fn takes(&mut self, keyword: &str) -> bool {
        let is = self.word().eq_ignore_ascii_case(keyword);
        self.at += if is { keyword.len() } else { 0 };
        is
    }

    fn sign(&mut self, sign: &str) -> bool {
        self.blanks();
        let is = self.left().starts_with(sign);
        self.at += if is { sign.len() } else { 0 };
        is
    }

    fn or(&mut self) -> Result<Condition> {
        let mut all = vec![self.and()?];
        while self.takes("or") {
            all.push(self.and()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::Or(all) })
    }

    fn and(&mut self) -> Result<Condition> {
        let mut all = vec![self.one()?];
        while self.takes("and") {
            all.push(self.one()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::And(all) })
    }

    fn one(&mut self) -> Result<Condition> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.wrong("less nesting"));
        }
        let one = if self.takes("not") {
            Condition::Not(Box::new(self.one()?))
        } else if self.sign("(") {
            let within = self.or()?;
            if !self.sign(")") {
                return Err(self.wrong("`)`"));
            }
            within
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(one)
    }

    fn comparison(&mut self) -> Result<Condition> {
        let word = self.word();
        let text = TEXTS.iter().find(|(name, _)| *name == word).map(|(_, text)| *text);
        let measure = Measure::ALL.iter().find(|measure| measure.name() == word);
        let number = NUMBERS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
        let number = number.or_else(|| measure.map(|&measure| Number::Measure(measure)));
        if text.is_none() && number.is_none() {
            let mut names: Vec<&str> = NUMBERS.iter().map(|(name, _)| *name).collect();
            names.extend(TEXTS.iter().map(|(name, _)| *name));
            names.extend(Measure::ALL.iter().map(|measure| measure.name()));
            return Err(self.wrong("a field").hint(format!("fields are {}", names.join(", "))));
        }
        self.at += word.len();
        let relation = RELATIONS.iter().find(|(sign, _)| self.sign(sign));
        let relation = relation.map(|(_, relation)| *relation);
        let relation = relation.ok_or_else(|| self.wrong("=, !=, <, <=, >, >= or ~"))?;
        match (text, number) {
            (Some(text), _) => Ok(Condition::Text(text, relation, self.string()?)),
            (None, Some(_)) if relation == Relation::Contains => Err(self.wrong("a text before ~")),
            (None, Some(number)) => Ok(Condition::Number(number, relation, self.number()?)),
            (None, None) => Err(self.wrong("a field")),
        }
    }

    fn number(&mut self) -> Result<f64> {
        self.blanks();
        let left = self.left();
        let end = left.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
        let word = &left[..end.unwrap_or(left.len())];
        let value = word.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| self.wrong("a number (times in seconds)"))?;
        self.at += word.len();
        Ok(value)
    }

    /// Parses a text in single or double quotes, which are doubled inside; or a word without quotes.
    fn string(&mut self) -> Result<Vec<u8>> {
        self.blanks();
        let left = self.left();
        let Some(quote) = left.chars().next().filter(|c| *c == '\'' || *c == '"') else {
            let end = left.find(|c: char| c.is_whitespace() || "()'\"".contains(c));
            let word = &left[..end.unwrap_or(left.len())];
            if word.is_empty() {
                return Err(self.wrong("a text"));
            }
            self.at += word.len();
            return Ok(word.as_bytes().to_vec());
        };
        let mut text = String::new();
        let mut rest = left[1..].char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            if c != quote {
                text.push(c);
            } else if rest.peek().is_some_and(|&(_, next)| next == quote) {
                rest.next();
                text.push(quote);
            } else {
                self.at += at + 2;
                return Ok(text.into_bytes());
            }
        }
        Err(self.wrong("a closing quote for the text that begins here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Numbers;
    use proptest::prelude::*;

    fn event() -> Event<'static> {
        let mut numbers = Numbers::default();
        numbers.set(Measure::RowsExamined, 1000);
        numbers.set(Measure::LockTime, 20_000_000);
        Event {
            end_ns: Some(5_000_000_000),
            duration_ns: Some(1_500_000_000),
            user: b"o'neil",
            text: b"select 1",
            numbers,
            ..Event::default()
        }
    }

    fn holds(text: &str) -> bool {
        Condition::parse(text).unwrap().holds(&event())
    }

    #[test]
    fn expressions_are_read_with_and_before_or() {
        assert!(holds("query_time = 1.5"));
        assert!(holds("query_time>1 and rows_examined>=1000"));
        assert!(holds("query_time < 1 and lock_time < 1 or user='o''neil'"));
        assert!(!holds("query_time < 1 and (lock_time < 1 or user='o''neil')"));
        assert!(holds("not (query_time < 1) AND lock_time <= 0.02"));
        assert!(holds("statement ~ \"lect\" and user ~ neil"));
    }

    #[test]
    fn what_an_event_does_not_have_meets_no_comparison() {
        assert!(!holds("rows_sent = 0"));
        assert!(!holds("rows_sent != 0"));
        assert!(!holds("host != 'a'"));
        assert!(holds("not host = 'a'"));
    }

    #[test]
    fn errors_say_where() {
        let what = |text: &str| Condition::parse(text).unwrap_err().what;
        assert!(what("query_time > x").contains("character 14: a number"));
        assert!(what("rows_exmined > 1").contains("character 1: a field"));
        assert!(what("(user = a").contains("`)`"));
        assert!(what("user = 'a").contains("closing quote"));
        assert!(what("user = a b").contains("the end"));
        assert!(what("lock_time ~ 1").contains("a text before ~"));
        assert!(what(&"(".repeat(5000)).contains("less nesting"));
    }

    #[test]
    fn an_event_without_an_end_is_in_no_range() {
        let within = Filter {
            since_ns: Some(5_000_000_000),
            until_ns: Some(5_000_000_001),
            ..Filter::default()
        };
        assert!(within.passes(&event()));
        assert!(!within.passes(&Event { end_ns: None, ..event() }));
        assert!(!Filter { until_ns: Some(5_000_000_000), ..within }.passes(&event()));
    }

    proptest! {
        #[test]
        fn no_expression_panics(text in "[ a-z_()<>=!~'\"0-9.é]{0,40}") {
            let _ = Condition::parse(&text);
        }
    }
}
