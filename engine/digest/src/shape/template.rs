//! Statements with names in the place of their values.

use super::values::{Summary, Values, inner};
use crate::event::Language;
use crate::token::{Kind, Lexer};
use std::hash::{DefaultHasher, Hasher};

/// Forms of one class whose values are looked at.
const FORMS_MAX: usize = 8;
/// Places for values in one statement; of more, values are not looked at.
const PLACES_MAX: usize = 1000;

/// Makes templates; keeps its buffers.
pub struct Template {
    language: Language,
    /// The statement with `:p1` and so on.
    text: Vec<u8>,
    /// The literals, as they stand in the statement.
    places: Vec<Vec<u8>>,
    count: usize,
    /// A sign that belongs to the number behind it.
    sign: Option<u8>,
    /// Where the last place ends in `text`.
    place_end: usize,
}

impl Template {
    pub fn new(language: Language) -> Self {
        Self { language, text: vec![], places: vec![], count: 0, sign: None, place_end: 0 }
    }

    /// Takes a statement apart. `parameters`: values of `$1` and so on, as PostgreSQL logs them.
    pub fn take(&mut self, statement: &[u8], parameters: &[u8]) {
        self.text.clear();
        self.count = 0;
        self.sign = None;
        self.place_end = 0;
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
                Kind::Literal | Kind::Question => true,
                Kind::Parameter => text.first() == Some(&b'$'),
                _ => false,
            };
            // Comments and line breaks between tokens come down to a space. A name needs one where
            // a literal did without.
            let is_apart = token.begin > end_before && self.sign.is_none();
            if !self.text.is_empty() && (is_apart || self.touches(text, is_place)) {
                self.text.push(b' ');
            }
            end_before = token.end;
            match token.kind {
                _ if is_place && text.first() == Some(&b'$') && token.kind == Kind::Parameter => {
                    self.place(parameter(parameters, text).unwrap_or(b""));
                }
                _ if is_place => self.place(text),
                Kind::Operator
                    if matches!(text, b"-" | b"+") && !is_operand && is_number(&lexer) =>
                {
                    self.sign = Some(text[0]);
                    continue;
                }
                _ => self.text.extend_from_slice(text),
            }
            is_operand = match token.kind {
                Kind::Close | Kind::CloseBracket | Kind::Name | Kind::CutName => true,
                Kind::Word => !is_keyword(text),
                _ => is_place,
            };
        }
    }

    /// Whether a place and what stands directly before or behind it would run together.
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
        self.text.extend_from_slice(b":p");
        self.text.extend_from_slice(self.count.to_string().as_bytes());
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

    /// The values as hashes, with and without quotes alike; None: the log does not have it.
    pub fn hashes(&self) -> impl Iterator<Item = Option<u64>> {
        self.values().map(|value| {
            let mut hash = DefaultHasher::new();
            hash.write(inner(value));
            (!value.is_empty() && value != b"?").then(|| hash.finish())
        })
    }

    fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.places[..self.count.min(PLACES_MAX)].iter().map(Vec::as_slice)
    }
}

/// Whether a number without quotes comes next.
fn is_number(lexer: &Lexer<'_>) -> bool {
    let next = lexer.peek();
    next.kind == Kind::Literal && lexer.text(next).first().is_some_and(u8::is_ascii_digit)
}

/// Words after which an expression begins: a sign there belongs to its number.
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

/// The value of `$7` in `$1 = '..', $7 = '..'`.
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
}

struct Form {
    hash: u64,
    text: Vec<u8>,
    count: u64,
    values: Vec<Values>,
}

impl Templates {
    pub fn add(&mut self, template: &Template) {
        let mut hash = DefaultHasher::new();
        hash.write(&template.text);
        let hash = hash.finish();
        let place = self.forms.iter().position(|form| form.hash == hash);
        let place = match place {
            Some(place) => place,
            None if self.forms.len() >= FORMS_MAX => {
                self.others += 1;
                return;
            }
            None => {
                let values = template.values().map(|_| Values::default()).collect();
                self.forms.push(Form { hash, text: template.text.clone(), count: 0, values });
                self.forms.len() - 1
            }
        };
        let form = &mut self.forms[place];
        form.count += 1;
        for (values, value) in form.values.iter_mut().zip(template.values()) {
            values.add(value);
        }
    }

    /// The most frequent form: its text, its share of all, its values.
    pub fn best(self) -> (String, f64, Vec<Summary>) {
        let total = self.others + self.forms.iter().map(|form| form.count).sum::<u64>();
        let Some(best) = self.forms.into_iter().max_by_key(|form| form.count) else {
            return (String::new(), 0.0, vec![]);
        };
        let share = best.count as f64 / total.max(1) as f64;
        let parameters = best.values.into_iter().map(Values::finish).collect();
        (String::from_utf8_lossy(&best.text).into_owned(), share, parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(language: Language, statement: &str, parameters: &str) -> (String, Vec<String>) {
        let mut template = Template::new(language);
        template.take(statement.as_bytes(), parameters.as_bytes());
        let values = template.values().map(|v| String::from_utf8_lossy(v).into_owned()).collect();
        (String::from_utf8(template.text.clone()).unwrap(), values)
    }

    #[test]
    fn literals_become_names_and_the_rest_stays() {
        let (text, values) = taken(
            Language::Mysql,
            "SELECT `c`, 'x''y'\n FROM t1 /* why */ WHERE id IN (1,-2) AND `n` LIKE \"a%\"",
            "",
        );
        assert_eq!(text, "SELECT `c`, :p1 FROM t1 WHERE id IN (:p2,:p3) AND `n` LIKE :p4");
        assert_eq!(values, ["'x''y'", "1", "-2", "\"a%\""]);
    }

    #[test]
    fn a_sign_belongs_to_its_number_unless_something_stands_before_it() {
        let taken = |statement: &str| taken(Language::Mysql, statement, "");
        let (text, values) =
            taken("SELECT a-1, 5 - 2, (b) -3, -x FROM t WHERE c = - 4 AND d BETWEEN -5 AND +6");
        let expected =
            "SELECT a-:p1, :p2 - :p3, (b) -:p4, -x FROM t WHERE c = :p5 AND d BETWEEN :p6 AND :p7";
        assert_eq!(text, expected);
        assert_eq!(values, ["1", "5", "2", "3", "-4", "-5", "6"]);
    }

    #[test]
    fn names_of_places_stand_apart_from_what_is_around_them() {
        let (text, values) = taken(Language::Mysql, "SELECT'a'FROM t WHERE b='y'and c='x'", "");
        assert_eq!(text, "SELECT :p1 FROM t WHERE b=:p2 and c=:p3");
        assert_eq!(values.len(), 3);
    }

    #[test]
    fn numbered_parameters_take_the_values_that_the_log_has() {
        let (text, values) = taken(
            Language::Postgres,
            "update t set a = $2::int where b = $1",
            "$1 = 'it''s', $2 = '42'",
        );
        assert_eq!(text, "update t set a = :p1::int where b = :p2");
        assert_eq!(values, ["'42'", "'it''s'"]);
        assert_eq!(taken(Language::Postgres, "select $1", "").1, [""]);
    }
}
