//! Statements with names in the place of their values.

use super::values::{Summary, Values};
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
}

impl Template {
    pub fn new(language: Language) -> Self {
        Self { language, text: vec![], places: vec![], count: 0 }
    }

    /// Takes a statement apart. `parameters`: values of `$1` and so on, as PostgreSQL logs them.
    pub fn take(&mut self, statement: &[u8], parameters: &[u8]) {
        self.text.clear();
        self.count = 0;
        let mut lexer = Lexer::new(statement, self.language);
        let mut end_before = 0;
        loop {
            let token = lexer.next_token();
            if token.kind == Kind::End {
                break;
            }
            if token.begin > end_before && !self.text.is_empty() {
                // Comments and line breaks between tokens come down to a space.
                self.text.push(b' ');
            }
            end_before = token.end;
            let text = lexer.text(token);
            match token.kind {
                Kind::Literal | Kind::Question => self.place(text),
                Kind::Parameter if text.first() == Some(&b'$') => {
                    let value = parameter(parameters, text).unwrap_or(b"");
                    self.place(value);
                }
                _ => self.text.extend_from_slice(text),
            }
        }
    }

    fn place(&mut self, value: &[u8]) {
        self.count += 1;
        self.text.extend_from_slice(b":p");
        self.text.extend_from_slice(self.count.to_string().as_bytes());
        if self.count > PLACES_MAX {
            return;
        }
        if self.places.len() < self.count {
            self.places.push(vec![]);
        }
        let place = &mut self.places[self.count - 1];
        place.clear();
        place.extend_from_slice(value);
    }

    fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.places[..self.count.min(PLACES_MAX)].iter().map(Vec::as_slice)
    }
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
        assert_eq!(text, "SELECT `c`, :p1 FROM t1 WHERE id IN (:p2,-:p3) AND `n` LIKE :p4");
        assert_eq!(values, ["'x''y'", "1", "2", "\"a%\""]);
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
