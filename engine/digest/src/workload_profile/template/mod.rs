//! Builds templates: statements with names in place of values and one element of each list.

mod layout;

use super::correlated_params::{Seen, Ties};
use super::values::distribution::{Numbers, Spread};
use super::values::literal::{inner, width};
use super::values::{Summary, Values};
use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer};
use layout::{Layout, Mark};
use schemars::JsonSchema;
use serde::Serialize;
use std::hash::{DefaultHasher, Hasher};

/// Maximum number of forms of one class whose values are examined.
const FORMS_MAX: usize = 8;
/// Maximum number of places in one statement, all elements of lists included; values of further places
/// are ignored.
const PLACES_MAX: usize = 1000;
/// Minimum share of executions with a known width for a range.
const WIDTHS_MIN: f64 = 0.95;

/// Builds templates in reusable buffers.
pub struct Template {
    language: Language,
    /// The statement with `:p1`, `:p2`, ... for values.
    text: Vec<u8>,
    /// The literals as written in the statement.
    places: Vec<Vec<u8>>,
    count: usize,
    /// Literals within hints, which stay in the template; each ends with a zero byte.
    hints: Vec<u8>,
    /// A sign that belongs to the next number.
    sign: Option<u8>,
    /// End of the last place in `text`.
    place_end: usize,
    /// The tokens of `text`.
    marks: Vec<Mark>,
    /// The short template: `text` with one element of each list.
    short: Vec<u8>,
    /// For each place of `short`, the places of `text` that it represents.
    slots: Vec<Slot>,
    lists: Vec<Found>,
}

/// A place of a short template: represents `count` places of the full one, from `first` with `stride`.
#[derive(Debug, Clone, Copy)]
struct Slot {
    first: usize,
    stride: usize,
    count: usize,
}

/// A list in a short template.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// The first place, from 0.
    first: usize,
    /// Number of places in an element.
    places: usize,
    /// Begin and end of the element in the text, bytes.
    begin: usize,
    end: usize,
    length: usize,
}

/// A list of variable length: `IN (...)`, `VALUES (...), (...)`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct List {
    /// Number of its first parameter, from 1.
    pub place: u16,
    /// Number of parameters in an element.
    pub places: u16,
    /// Text of the element in the template.
    pub element: String,
    /// Distribution of the number of elements.
    pub lengths: Spread,
}

/// Two parameters that are the ends of a range.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Range {
    /// Number of the parameter at the lower end, from 1.
    pub low: u16,
    /// Number of the parameter at the upper end, from 1.
    pub high: u16,
    /// Distribution of the upper end minus the lower end; for dates and moments in seconds.
    pub widths: Spread,
}

impl Template {
    pub fn new(language: Language) -> Self {
        Self {
            language,
            text: vec![],
            places: vec![],
            count: 0,
            hints: vec![],
            sign: None,
            place_end: 0,
            marks: vec![],
            short: vec![],
            slots: vec![],
            lists: vec![],
        }
    }

    /// Parses a statement. `parameters`: values of `$1`, `$2`, ... in the format of PostgreSQL's log.
    pub fn take(&mut self, statement: &[u8], parameters: &[u8]) {
        self.text.clear();
        self.count = 0;
        self.hints.clear();
        self.sign = None;
        self.place_end = 0;
        self.marks.clear();
        let mut lexer = Lexer::new(statement, self.language);
        let mut end_before = 0;
        let mut is_operand = false;
        loop {
            let token = lexer.next_token();
            if token.kind == Kind::End {
                break;
            }
            let text = lexer.text(token);
            let is_place = match token.kind {
                // An unterminated name may be a literal in the client's character set.
                Kind::Literal | Kind::CutName | Kind::Question => true,
                Kind::Parameter => text.first() == Some(&b'$'),
                _ => false,
            };
            // Comments and line breaks between tokens become a space. A place may need a space where
            // its literal did not.
            let is_apart = token.begin > end_before && self.sign.is_none();
            if !self.text.is_empty() && (is_apart || self.touches(text, is_place)) {
                self.text.push(b' ');
            }
            end_before = token.end;
            let begin = self.text.len();
            match token.kind {
                _ if is_place && text.first() == Some(&b'$') && token.kind == Kind::Parameter => {
                    self.place(parameter(parameters, text).unwrap_or(b""));
                }
                _ if is_place => self.place(text),
                Kind::HintBegin => {
                    let hint = token.begin..self.hint(&mut lexer);
                    end_before = hint.end;
                    self.text.extend_from_slice(&statement[hint]);
                }
                Kind::Operator
                    if matches!(text, b"-" | b"+") && !is_operand && is_number(&lexer) =>
                {
                    self.sign = Some(text[0]);
                    continue;
                }
                _ => self.text.extend_from_slice(text),
            }
            let mark = Mark { kind: token.kind, is_place, begin, end: self.text.len() };
            self.marks.push(mark);
            is_operand = match token.kind {
                Kind::Close | Kind::CloseBracket | Kind::Name => true,
                Kind::Word => !is_keyword(text),
                _ => is_place,
            };
        }
        self.shorten();
    }

    /// Reads a hint; returns its end, bytes. Its literals stay, because servers ignore hints that they
    /// cannot parse, such as one with a parameter.
    fn hint(&mut self, lexer: &mut Lexer<'_>) -> usize {
        loop {
            let token = lexer.next_token();
            match token.kind {
                Kind::HintEnd | Kind::End => return token.end,
                Kind::Literal | Kind::CutName | Kind::Parameter | Kind::Question => {
                    self.hints.extend_from_slice(lexer.text(token));
                    self.hints.push(0);
                }
                _ => {}
            }
        }
    }

    fn layout(&self) -> Layout<'_> {
        Layout { marks: &self.marks, text: &self.text }
    }

    /// Builds the short template, with one element of each list.
    fn shorten(&mut self) {
        let lists = self.layout().lists();
        self.short.clear();
        self.slots.clear();
        self.lists.clear();
        let (mut done, mut place, mut at) = (0, 0, 0);
        let mut next = lists.iter().peekable();
        while at < self.marks.len() {
            match next.next_if(|list| list[0].start == at) {
                Some(list) => {
                    let elements = list.len();
                    let marks = &self.marks[list[0].clone()];
                    let places = marks.iter().filter(|mark| mark.is_place).count();
                    self.short.extend_from_slice(&self.text[done..marks[0].begin]);
                    let (first, begin) = (self.slots.len(), self.short.len());
                    done = marks[0].begin;
                    for mark in marks.iter().filter(|mark| mark.is_place) {
                        self.short.extend_from_slice(&self.text[done..mark.begin]);
                        self.slots.push(Slot { first: place, stride: places, count: elements });
                        put_name(self.slots.len(), &mut self.short);
                        done = mark.end;
                        place += 1;
                    }
                    self.short.extend_from_slice(&self.text[done..marks[marks.len() - 1].end]);
                    let end = self.short.len();
                    self.lists.push(Found { first, places, begin, end, length: elements });
                    place += places * (elements - 1);
                    at = list[elements - 1].end;
                    done = self.marks[at - 1].end;
                }
                None => {
                    let mark = self.marks[at];
                    if mark.is_place {
                        self.short.extend_from_slice(&self.text[done..mark.begin]);
                        self.slots.push(Slot { first: place, stride: 0, count: 1 });
                        put_name(self.slots.len(), &mut self.short);
                        done = mark.end;
                        place += 1;
                    }
                    at += 1;
                }
            }
        }
        self.short.extend_from_slice(&self.text[done..]);
    }

    /// Ranges of the short template, as pairs of places from 0.
    fn ranges(&self) -> Vec<(usize, usize)> {
        let number = |at: usize| self.marks[..at].iter().filter(|mark| mark.is_place).count();
        let slot = |at: usize| {
            let place = number(at);
            self.slots.iter().position(|slot| slot.count == 1 && slot.first == place)
        };
        let ranges = self.layout().ranges().into_iter();
        ranges.filter_map(|(low, high)| slot(low).zip(slot(high))).collect()
    }

    /// Whether a place would merge with the adjacent token without a space.
    fn touches(&self, text: &[u8], is_place: bool) -> bool {
        let runs_on = |byte: Option<&u8>| {
            byte.is_some_and(|&b| b.is_ascii_alphanumeric() || b >= 0x80 || b"_`\"'$".contains(&b))
        };
        let after_place = self.text.len() == self.place_end && runs_on(text.first());
        after_place || (is_place && runs_on(self.text.last()))
    }

    fn place(&mut self, value: &[u8]) {
        let sign = self.sign.take();
        self.count += 1;
        put_name(self.count, &mut self.text);
        self.place_end = self.text.len();
        if self.count > PLACES_MAX {
            return;
        }
        if self.places.len() < self.count {
            self.places.push(vec![]);
        }
        let place = &mut self.places[self.count - 1];
        place.clear();
        place.extend(sign.filter(|&sign| sign == b'-'));
        place.extend_from_slice(value);
    }

    /// The values, regardless of quotes; `None`: the log does not contain it, or it differs between elements
    /// of a list.
    pub fn seen(&self) -> impl Iterator<Item = Option<Seen>> {
        (0..self.slots.len()).map(|slot| {
            let mut all = self.values(slot).map(|value| {
                let (value, mut hash) = (inner(value), DefaultHasher::new());
                hash.write(value);
                let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                (!value.is_empty() && value != b"?").then(|| Seen { hash: hash.finish(), number })
            });
            let first = all.next()??;
            all.all(|other| other == Some(first)).then_some(first)
        })
    }

    /// The values of a place of the short template.
    fn values(&self, slot: usize) -> impl Iterator<Item = &[u8]> {
        let Slot { first, stride, count } = self.slots[slot];
        let kept = &self.places[..self.count.min(PLACES_MAX)];
        (0..count).map_while(move |nth| kept.get(first + nth * stride)).map(Vec::as_slice)
    }
}

fn put_name(number: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(b":p");
    out.extend_from_slice(number.to_string().as_bytes());
}

/// Whether the next token is an unquoted number.
fn is_number(lexer: &Lexer<'_>) -> bool {
    let next = lexer.peek();
    next.kind == Kind::Literal && matches!(lexer.text(next).first(), Some(b'0'..=b'9' | b'.'))
}

/// Words that an expression follows, so that a sign after them belongs to a number.
const KEYWORDS: [&str; 32] = [
    "all",
    "and",
    "any",
    "between",
    "by",
    "case",
    "div",
    "else",
    "from",
    "having",
    "ilike",
    "in",
    "interval",
    "is",
    "like",
    "limit",
    "mod",
    "not",
    "offset",
    "on",
    "or",
    "regexp",
    "return",
    "returning",
    "rlike",
    "select",
    "set",
    "some",
    "then",
    "values",
    "when",
    "where",
];

fn is_keyword(word: &[u8]) -> bool {
    KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword.as_bytes()))
}

/// The value of a parameter such as `$7` in `$1 = '..', $7 = '..'`.
fn parameter<'a>(parameters: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut lexer = Lexer::new(parameters, Language::Postgres);
    loop {
        let token = lexer.next_token();
        match token.kind {
            Kind::End => return None,
            Kind::Parameter if lexer.text(token) == name => {
                lexer.next_token();
                let value = lexer.next_token();
                return (value.kind != Kind::End).then(|| lexer.text(value));
            }
            _ => {}
        }
    }
}

/// The forms of one class, with the values of each.
#[derive(Default)]
pub struct Templates {
    forms: Vec<Form>,
    others: u64,
    /// Literals within the hints of the first execution.
    hints: Option<Vec<u8>>,
    hints_differ: bool,
}

struct Form {
    hash: u64,
    text: Vec<u8>,
    count: u64,
    values: Vec<Values>,
    lists: Vec<(Found, Numbers)>,
    /// Ranges, as pairs of places from 0, with their widths.
    ranges: Vec<((usize, usize), Numbers)>,
}

impl Form {
    fn new(hash: u64, template: &Template) -> Self {
        let lists = template.lists.iter().map(|list| (list.clone(), Numbers::default()));
        let ranges = template.ranges().into_iter().map(|ends| (ends, Numbers::default()));
        Self {
            hash,
            text: template.short.clone(),
            count: 0,
            values: template.slots.iter().map(|_| Values::default()).collect(),
            lists: lists.collect(),
            ranges: ranges.collect(),
        }
    }

    fn add(&mut self, template: &Template, ties: &Ties) {
        self.count += 1;
        for (slot, values) in self.values.iter_mut().enumerate() {
            let (is_held, session) = (ties.is_held(slot), ties.session());
            template.values(slot).for_each(|value| values.add(value, is_held, session));
        }
        for ((_, lengths), list) in self.lists.iter_mut().zip(&template.lists) {
            lengths.add(list.length as f64);
        }
        for (ends, widths) in &mut self.ranges {
            let value = |slot| template.values(slot).next();
            let (low, high) = (value(ends.0), value(ends.1));
            if let Some(wide) = low.zip(high).and_then(|(low, high)| width(low, high)) {
                widths.add(wide);
            }
        }
    }

    fn finish(self, share: f64) -> Best {
        let element = |list: &Found| self.text[list.begin..list.end].to_vec();
        let lists = self.lists.iter().map(|(list, _)| element(list)).collect::<Vec<_>>();
        let lists = self.lists.into_iter().zip(lists).map(|((list, lengths), element)| List {
            place: (list.first + 1) as u16,
            places: list.places as u16,
            element: String::from_utf8_lossy(&element).into_owned(),
            lengths: lengths.finish(),
        });
        let ranges = self.ranges.into_iter().map(|((low, high), widths)| Range {
            low: (low + 1) as u16,
            high: (high + 1) as u16,
            widths: widths.finish(),
        });
        let enough = self.count as f64 * WIDTHS_MIN;
        Best {
            text: String::from_utf8_lossy(&self.text).into_owned(),
            share,
            parameters: self.values.into_iter().map(Values::finish).collect(),
            lists: lists.collect(),
            ranges: ranges.filter(|range| range.widths.count as f64 >= enough).collect(),
            hints_differ: false,
        }
    }
}

/// The most frequent form of a class.
#[derive(Default)]
pub struct Best {
    pub text: String,
    /// Share of all events of the class, 0 to 1.
    pub share: f64,
    pub parameters: Vec<Summary>,
    pub lists: Vec<List>,
    pub ranges: Vec<Range>,
    /// Whether values within hints differ between events of the class.
    pub hints_differ: bool,
}

impl Templates {
    /// Adds an execution, which must be the last statement of `ties`.
    pub fn add(&mut self, template: &Template, ties: &Ties) {
        let hints = self.hints.get_or_insert_with(|| template.hints.clone());
        self.hints_differ |= *hints != template.hints;
        let mut hash = DefaultHasher::new();
        hash.write(&template.short);
        let hash = hash.finish();
        let place = self.forms.iter().position(|form| form.hash == hash);
        let place = match place {
            Some(place) => place,
            None if self.forms.len() >= FORMS_MAX => {
                self.others += 1;
                return;
            }
            None => {
                self.forms.push(Form::new(hash, template));
                self.forms.len() - 1
            }
        };
        self.forms[place].add(template, ties);
    }

    /// The most frequent form.
    pub fn best(self) -> Best {
        let total = self.others + self.forms.iter().map(|form| form.count).sum::<u64>();
        let Some(best) = self.forms.into_iter().max_by_key(|form| form.count) else {
            return Best::default();
        };
        let share = best.count as f64 / total.max(1) as f64;
        Best { hints_differ: self.hints_differ, ..best.finish(share) }
    }
}

#[cfg(test)]
mod tests;
