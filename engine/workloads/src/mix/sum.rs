//! Parameters that are sums of others, such as the upper bound of a range: lower bound plus width.
//!
//! The first term is a number, a number as text, a date or a date with time. The other terms are
//! numbers in its unit: ones, days or seconds. The sum has the format of its first term and saturates
//! at the limits of numbers or of the calendar.

use crate::generator::calendar::{DAY_S, day, put_day, put_second, second};
use crate::generator::{END_MAX, Generator, Unit};
use crate::node::Node;
use dyno_core::error::Result;
use dyno_core::workload::{Form, SCALE_MAX, Transaction, Value, put_decimal};

/// Maximum number of terms in a sum.
const TERMS_MAX: usize = 8;
/// First and last day of the calendar (years 1 to 9999), in days from 1970-01-01.
const DAYS: [i64; 2] = [-719_162, 2_932_896];

/// A sum of other parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// Indexes of the terms in the list of parameters.
    pub terms: Vec<u16>,
    unit: Unit,
    /// Form of the sum's values.
    pub form: Form,
}

impl Sum {
    /// A placeholder, until [`Sum::read`] resolves the terms.
    pub fn unread() -> Self {
        Self { terms: vec![], unit: Unit::Number, form: Form::Int }
    }

    /// Resolves the names in `node` by `find`, which returns a parameter's index and, unless the parameter
    /// is a sum, its generator. Fails if a term is unknown, a sum or of an unsuitable type.
    pub fn read<'a>(
        node: &Node,
        find: impl Fn(&str) -> Option<(usize, Option<&'a Generator>)>,
    ) -> Result<Self> {
        let items = node.items()?;
        if !(2..=TERMS_MAX).contains(&items.len()) {
            let count = items.len();
            return Err(node.wrong(format_args!("{count} terms: 2 to {TERMS_MAX} are allowed")));
        }
        let mut terms = Vec::with_capacity(items.len());
        let mut generators = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let name = item.text()?;
            let Some((index, generator)) = find(name) else {
                return Err(item.wrong(format_args!("there is no parameter {name} in params")));
            };
            let Some(generator) = generator else {
                return Err(item
                    .wrong(format_args!("{name} is a sum itself"))
                    .hint("name the terms of that one here too"));
            };
            if generator.unit.is_none() || (at > 0 && generator.form == Form::Text) {
                let what = if at == 0 { "numbers, days or seconds" } else { "numbers" };
                return Err(item.wrong(format_args!("{name} does not make {what}")));
            }
            terms.push(index as u16);
            generators.push(generator);
        }
        let unit = generators[0].unit.unwrap_or(Unit::Number);
        let form = generators[0].form;
        let is_whole = form == Form::Int || unit != Unit::Number;
        if is_whole && generators[1..].iter().any(|generator| generator.form == Form::Decimal) {
            return Err(node
                .wrong("a term has decimals, and the first has none")
                .hint("give the first term `decimals`, too"));
        }
        Ok(Self { terms, unit, form })
    }

    /// The sum of the values of `tx` at `places`; NULL if one of them is NULL. A sum in text form is
    /// appended to the text of `tx`.
    pub fn of(&self, places: impl Iterator<Item = usize>, tx: &mut Transaction) -> Value {
        let mut total: Option<(i64, u8)> = None;
        for place in places {
            let value = &tx.values[place];
            let Some(term) = self.number(value, total.is_none(), tx) else { return Value::Null };
            total = Some(match total {
                None => term,
                Some(total) => add(total, term),
            });
        }
        let (unscaled, scale) = total.unwrap_or((0, 0));
        let start = tx.text.len() as u32;
        match (self.form, self.unit) {
            (Form::Text, Unit::Day) => put_day(unscaled.clamp(DAYS[0], DAYS[1]), &mut tx.text),
            (Form::Text, Unit::Second) => {
                let last = DAYS[1] * DAY_S + DAY_S - 1;
                put_second(unscaled.clamp(DAYS[0] * DAY_S, last), &mut tx.text);
            }
            (Form::Text, Unit::Number) => put_decimal(unscaled, scale, &mut tx.text),
            (Form::Decimal, _) => return Value::Decimal { unscaled, scale },
            _ => return Value::Int(unscaled),
        }
        Value::Text(start..tx.text.len() as u32)
    }

    /// A term as (number, scale), in units of 10^-scale.
    fn number(&self, value: &Value, is_first: bool, tx: &Transaction) -> Option<(i64, u8)> {
        match value {
            Value::Int(number) => Some((*number, 0)),
            Value::Decimal { unscaled, scale } => Some((*unscaled, *scale)),
            Value::Text(range) if is_first => {
                let text = std::str::from_utf8(tx.text_of(range)).ok()?;
                match self.unit {
                    Unit::Day => day(text).map(|day| (day, 0)),
                    Unit::Second => second(text).map(|second| (second, 0)),
                    Unit::Number => digits(text),
                }
            }
            _ => None,
        }
    }
}

/// Parses a number as [`put_decimal`] formats it.
fn digits(text: &str) -> Option<(i64, u8)> {
    let scale = text.split_once('.').map_or(0, |(_, behind)| behind.len());
    let scale = u8::try_from(scale).ok().filter(|&scale| scale <= SCALE_MAX)?;
    Some((text.replacen('.', "", 1).parse().ok()?, scale))
}

/// The sum of two numbers in units of 10^-scale, with the scale of the first.
fn add((a, scale): (i64, u8), (b, other): (i64, u8)) -> (i64, u8) {
    let up = 10i128.pow(u32::from(scale.saturating_sub(other)));
    let down = 10i128.pow(u32::from(other.saturating_sub(scale)));
    let sum = i128::from(a) + i128::from(b) * up / down;
    let end = i128::from(END_MAX);
    (sum.clamp(-end, end) as i64, scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn added(unit: Unit, form: Form, values: Vec<Value>, text: &str) -> String {
        let sum = Sum { terms: vec![], unit, form };
        let places = 0..values.len();
        let mut tx = Transaction { values, text: text.into(), ..Transaction::default() };
        match sum.of(places, &mut tx) {
            Value::Text(range) => String::from_utf8_lossy(tx.text_of(&range)).into_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_sum_looks_as_its_first_term_does() {
        for (unit, first, more, expected) in [
            (Unit::Day, "2024-02-28", 2, "2024-03-01"),
            (Unit::Day, "9999-12-30", 500, "9999-12-31"),
            (Unit::Second, "2024-02-29 23:59:59", 1, "2024-03-01 00:00:00"),
            (Unit::Second, "0001-01-01 00:00:01", -60, "0001-01-01 00:00:00"),
            (Unit::Number, "41", 1, "42"),
            (Unit::Number, "-0.05", 1, "0.95"),
        ] {
            let values = vec![Value::Text(0..first.len() as u32), Value::Int(more)];
            assert_eq!(added(unit, Form::Text, values, first), expected);
        }
        let decimal = |unscaled, scale| Value::Decimal { unscaled, scale };
        let values = vec![decimal(105, 2), decimal(5, 1), Value::Int(2)];
        let expected = format!("{:?}", decimal(355, 2));
        assert_eq!(added(Unit::Number, Form::Decimal, values, ""), expected);
        let values = vec![Value::Int(1), Value::Null];
        assert_eq!(added(Unit::Number, Form::Int, values, ""), "Null");
    }

    proptest! {
        #[test]
        fn whole_numbers_add_up_and_stay_in_what_a_number_holds(a in -END_MAX..=END_MAX, b: i64) {
            let made = added(Unit::Number, Form::Int, vec![Value::Int(a), Value::Int(b)], "");
            let end = i128::from(END_MAX);
            let exact = (i128::from(a) + i128::from(b)).clamp(-end, end) as i64;
            prop_assert_eq!(made, format!("{:?}", Value::Int(exact)));
        }
    }
}
