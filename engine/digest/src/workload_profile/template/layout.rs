//! Finds related places of a statement: elements of lists, bounds of ranges.

use crate::sql::token::Kind;
use std::ops::Range;

/// A token of a template.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    pub kind: Kind,
    pub is_place: bool,
    pub begin: usize,
    pub end: usize,
}

/// A template's text and its tokens.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub marks: &'a [Mark],
    pub text: &'a [u8],
}

/// Maximum number of ranges of one statement.
const RANGES_MAX: usize = 16;
/// Maximum number of comparisons per level that wait for their counterpart.
const ENDS_MAX: usize = 64;
/// Words after which another condition begins.
const BORDERS: [&str; 14] = [
    "or", "xor", "select", "from", "where", "having", "on", "set", "when", "then", "else", "union",
    "join", "values",
];

impl Layout<'_> {
    fn word(&self, at: usize) -> &[u8] {
        let word = self.marks.get(at).filter(|mark| mark.kind == Kind::Word && !mark.is_place);
        word.map_or(b"", |mark| &self.text[mark.begin..mark.end])
    }

    fn is_word(&self, at: usize, word: &str) -> bool {
        self.word(at).eq_ignore_ascii_case(word.as_bytes())
    }

    fn is(&self, at: usize, kind: Kind) -> bool {
        self.marks.get(at).is_some_and(|mark| mark.kind == kind && !mark.is_place)
    }

    fn text_of(&self, at: usize) -> &[u8] {
        self.marks.get(at).map_or(b"", |mark| &self.text[mark.begin..mark.end])
    }

    fn is_place(&self, at: usize) -> bool {
        self.marks.get(at).is_some_and(|mark| mark.is_place)
    }

    /// Lists whose elements differ only in their values, each as the mark ranges of its elements. In order,
    /// not nested.
    pub fn lists(&self) -> Vec<Vec<Range<usize>>> {
        let mut lists = Vec::new();
        let parens = self.parens();
        let mut at = 0;
        while at < self.marks.len() {
            let found = match () {
                () if self.is_word(at, "in") && self.is(at + 1, Kind::Open) => {
                    self.elements(at + 2, Some(Kind::Close), &parens)
                }
                () if self.is_word(at, "array") && self.is(at + 1, Kind::OpenBracket) => {
                    self.elements(at + 2, Some(Kind::CloseBracket), &parens)
                }
                () if self.is_word(at, "values") || self.is_word(at, "value") => {
                    if self.is(at + 1, Kind::Open) {
                        self.elements(at + 1, None, &parens)
                    } else {
                        None
                    }
                }
                () => None,
            };
            at = found.as_ref().and_then(|list| list.last()).map_or(at + 1, |last| last.end);
            lists.extend(found);
        }
        lists
    }

    /// The elements from `begin` to `end`; `None` if they differ in more than values, or have no values.
    fn elements(
        &self,
        begin: usize,
        end: Option<Kind>,
        parens: &Parens,
    ) -> Option<Vec<Range<usize>>> {
        let mut list = vec![self.element(begin, parens)?];
        loop {
            let behind = list[list.len() - 1].end;
            if !self.is(behind, Kind::Comma) {
                return end.is_none_or(|end| self.is(behind, end)).then_some(list);
            }
            let next = self.element(behind + 1, parens)?;
            if !self.is_alike(&list[0], &next) {
                return None;
            }
            list.push(next);
        }
    }

    /// A place, or parentheses that contain places.
    fn element(&self, begin: usize, parens: &Parens) -> Option<Range<usize>> {
        if self.is_place(begin) {
            return Some(begin..begin + 1);
        }
        let behind = parens.behind.get(begin).copied().filter(|&behind| behind > 0)?;
        (parens.places[behind] > parens.places[begin]).then_some(begin..behind)
    }

    /// Computed once, because lists may nest as deep as a statement is long.
    fn parens(&self) -> Parens {
        let mut parens = Parens { behind: vec![0; self.marks.len()], places: vec![0] };
        let (mut open, mut places) = (vec![], 0);
        for at in 0..self.marks.len() {
            places += u32::from(self.is_place(at));
            parens.places.push(places);
            if self.is(at, Kind::Open) {
                open.push(at);
            } else if self.is(at, Kind::Close)
                && let Some(begin) = open.pop()
            {
                parens.behind[begin] = at + 1;
            }
        }
        parens
    }

    fn is_alike(&self, one: &Range<usize>, other: &Range<usize>) -> bool {
        let same = |(a, b): (usize, usize)| match (self.is_place(a), self.is_place(b)) {
            (true, true) => true,
            (false, false) => self.text_of(a) == self.text_of(b),
            _ => false,
        };
        one.len() == other.len() && one.clone().zip(other.clone()).all(same)
    }

    /// Bounds of ranges, as marks (low, high): `BETWEEN a AND b`, and `x >= a AND x < b` of one column.
    pub fn ranges(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        // Comparisons that wait for their counterpart, by level of parentheses.
        let mut open: Vec<Vec<End>> = vec![vec![]];
        for at in 0..self.marks.len() {
            if self.is(at, Kind::Open) {
                open.push(vec![]);
            } else if self.is(at, Kind::Close) && open.len() > 1 {
                open.pop();
            } else if BORDERS.iter().any(|word| self.is_word(at, word)) {
                open.last_mut().into_iter().for_each(Vec::clear);
            } else if self.is_word(at, "between") {
                found.extend(self.between(at));
            } else if let (Some(end), Some(ends)) = (self.end(at), open.last_mut()) {
                let is_other = |other: &End| {
                    other.is_low != end.is_low && other.column.eq_ignore_ascii_case(&end.column)
                };
                match ends.iter().position(is_other) {
                    Some(other) => {
                        let other = ends.swap_remove(other).place;
                        found.push(if end.is_low {
                            (end.place, other)
                        } else {
                            (other, end.place)
                        });
                    }
                    None if ends.len() < ENDS_MAX => ends.push(end),
                    None => {}
                }
            }
        }
        found.truncate(RANGES_MAX);
        found
    }

    fn between(&self, at: usize) -> Option<(usize, usize)> {
        let (low, behind) = self.value(at + 1)?;
        if !self.is_word(behind, "and") {
            return None;
        }
        let (high, _) = self.value(behind + 1)?;
        Some((low, high))
    }

    /// A comparison that bounds a range from below or above, by its operator.
    fn end(&self, at: usize) -> Option<End> {
        let is_low = match self.text_of(at) {
            b">" | b">=" => true,
            b"<" | b"<=" => false,
            _ => return None,
        };
        if !self.is(at, Kind::Operator) {
            return None;
        }
        let (place, _) = self.value(at + 1)?;
        let mut first = at.checked_sub(1).filter(|&at| self.is_name(at))?;
        while first > 1 && self.is(first - 1, Kind::Dot) && self.is_name(first - 2) {
            first -= 2;
        }
        let column = (first..at).flat_map(|at| self.text_of(at).iter().copied()).collect();
        Some(End { column, is_low, place })
    }

    fn is_name(&self, at: usize) -> bool {
        self.is(at, Kind::Word) || self.is(at, Kind::Name)
    }

    /// A value that consists of one place, with an optional `DATE` before it and an optional cast after it.
    /// Returns the place and the mark after the value.
    fn value(&self, at: usize) -> Option<(usize, usize)> {
        let is_typed = ["date", "timestamp", "time"].iter().any(|word| self.is_word(at, word));
        let place = if is_typed { at + 1 } else { at };
        let mut behind = place + 1;
        if self.text_of(behind) == b"::" {
            behind += 2;
        }
        (self.is_place(place) && !self.is(behind, Kind::Operator)).then_some((place, behind))
    }
}

/// A statement's parentheses.
struct Parens {
    /// For each opening parenthesis the mark after its closing one; 0 if there is none.
    behind: Vec<usize>,
    /// Number of places before each mark, and finally before the end.
    places: Vec<u32>,
}

struct End {
    column: Vec<u8>,
    is_low: bool,
    place: usize,
}
