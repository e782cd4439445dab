//! Value generators for the parameters of `mix` and the columns of `tables`.
//!
//! A generator is a mapping with exactly one key of [`SOURCES`] and optional further keys:
//!
//! | generator | further keys | values |
//! |---|---|---|
//! | `uniform: [low, high]` | `decimals` | uniform numbers |
//! | `zipfian: [low, high]` | `theta` (0.99), `scramble` (true), `decimals` | rank r with weight `r^-theta` |
//! | `gaussian: [low, high]` | `iterations` (12), `decimals` | approximately normal around the middle |
//! | `pareto: [low, high]` | `h` (0.2), `scramble` (true), `decimals` | self-similar, such as 80/20 |
//! | `special: [low, high]` | `iterations`, `pct` (1), `res` (75), `decimals` | sysbench's: a hot part in the middle |
//! | `sequence: first` | | `first`, `first + 1`, ..., each once |
//! | `values: [...]` | `weights` | an element of the list |
//! | `const: value` | | a constant |
//! | `text: pattern` | | text, see [`pattern`] |
//! | `dates: [first, last]` | | uniform dates |
//! | `times: [first, last]` | | uniform dates with times, in seconds |
//! | `histogram: [[low, high, weight, distinct], ...]` | `decimals`, `shuffle`, `keys`, `labels`, `pattern`, `lengths`, `count` | pieces of a range, see [`histogram`] and [`rendering`] |
//!
//! All accept `nulls: share` (0). `as_text: true` formats the numbers of a range or sequence as text.
//! `scramble` spreads the hot values over the range; without it the lowest values are the hottest.
//! `decimals` is at least, and by default, the number of decimals of the range's bounds. Numbers with
//! decimals are exact decimals, not binary fractions.

pub mod calendar;
pub mod histogram;
pub mod pattern;
pub mod rendering;
pub mod scatter;
mod values;

use crate::choice::Choice;
use crate::node::{Fields, Node};
use dyno_core::error::Result;
use dyno_core::random::distribution::{Distribution, Shape};
use dyno_core::random::rng::Rng;
use dyno_core::workload::{Form, SCALE_MAX, Value, put_decimal};
use histogram::{Histogram, Sort};
use pattern::Pattern;
use rendering::Rendering;
use scatter::Scatter;
use values::{Constant, decimal, unify};

/// The keys that name a source of values; a generator has exactly one.
pub const SOURCES: [&str; 12] = [
    "uniform",
    "zipfian",
    "gaussian",
    "pareto",
    "special",
    "sequence",
    "values",
    "const",
    "text",
    "dates",
    "times",
    "histogram",
];

/// Maximum absolute value of a range's bounds, so that the size of the range fits 64 bits.
pub const END_MAX: i64 = 9_000_000_000_000_000_000;
const VALUES_MAX: usize = 100_000;
const PATTERN_CHARS_MAX: usize = 10_000;

/// Generates the values of a parameter or column.
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    source: Source,
    /// Fraction of values that are NULL.
    nulls: f64,
    /// Whether numbers are formatted as text.
    as_text: bool,
    /// Form of the values.
    pub form: Form,
    /// Unit of the values in sums; `None` if they cannot be added.
    pub unit: Option<Unit>,
}

/// The unit of values in sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Plain numbers, also as text.
    Number,
    /// Days of the calendar.
    Day,
    /// Seconds.
    Second,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    /// Numbers from `low`, in units of 10^-scale.
    Numbers {
        low: i64,
        scale: u8,
        of: Distribution,
        scatter: Option<Scatter>,
    },
    Sequence {
        first: i64,
    },
    Values {
        constants: Vec<Constant>,
        choice: Choice,
    },
    Text(Pattern),
    Days {
        first: i64,
        of: Distribution,
    },
    Seconds {
        first: i64,
        of: Distribution,
    },
    Histogram {
        histogram: Histogram,
        rendering: Rendering,
    },
}

impl Generator {
    /// Reads a generator. The mapping may have further fields, which the caller reads.
    pub fn read(fields: &mut Fields) -> Result<Self> {
        let found: Vec<(&str, Node)> = SOURCES
            .iter()
            .filter_map(|&name| fields.given(name).map(|node| (name, node)))
            .collect();
        let [(name, node)] = &found[..] else {
            return Err(not_one(fields, &found));
        };
        let (source, form) = match *name {
            "sequence" => (Source::Sequence { first: node.whole(-END_MAX..=END_MAX)? }, Form::Int),
            "values" => read_values(node, fields)?,
            "const" => {
                let (constants, form) = unify(vec![Constant::read(node)?]);
                (Source::Values { constants, choice: Choice::even(1) }, form)
            }
            "text" => (Source::Text(read_pattern(node)?), Form::Text),
            "dates" => {
                let (first, of) = read_span(node, "days such as 2024-12-31", calendar::day)?;
                (Source::Days { first, of }, Form::Text)
            }
            "times" => {
                let what = "times such as 2024-12-31 23:59:59";
                let (first, of) = read_span(node, what, calendar::second)?;
                (Source::Seconds { first, of }, Form::Text)
            }
            "histogram" => {
                let histogram = Histogram::read(node, fields)?;
                let rendering = Rendering::read(&histogram, fields)?;
                let form = rendering.form(histogram.sort);
                (Source::Histogram { histogram, rendering }, form)
            }
            _ => read_numbers(name, node, fields)?,
        };
        let nulls = fields.get("nulls").map_or(Ok(0.0), |node| node.share())?;
        let is_number = matches!(source, Source::Numbers { .. } | Source::Sequence { .. });
        let as_text = is_number && fields.get("as_text").map_or(Ok(false), |node| node.flag())?;
        let unit = match source {
            Source::Days { .. } => Some(Unit::Day),
            Source::Seconds { .. } => Some(Unit::Second),
            Source::Histogram { .. } => None,
            _ => matches!(form, Form::Int | Form::Decimal).then_some(Unit::Number),
        };
        let form = if as_text { Form::Text } else { form };
        Ok(Self { source, nulls, as_text, form, unit })
    }

    /// Whether the generator may return NULL.
    pub fn has_nulls(&self) -> bool {
        let constant_null = |constant: &Constant| *constant == Constant::Plain(Value::Null);
        let listed = matches!(&self.source, Source::Values { constants, .. }
            if constants.iter().any(constant_null));
        self.nulls > 0.0 || listed
    }

    /// The histogram that values are drawn from, if it is one.
    pub fn histogram(&self) -> Option<&Histogram> {
        match &self.source {
            Source::Histogram { histogram, .. } => Some(histogram),
            _ => None,
        }
    }

    /// Writes number `number` of the histogram, or NULL. Only for histograms.
    pub fn render(&self, number: i64, rng: &mut Rng, text: &mut Vec<u8>) -> Value {
        if self.nulls > 0.0 && rng.unit() < self.nulls {
            return Value::Null;
        }
        match &self.source {
            Source::Histogram { histogram, rendering } => {
                rendered(number, histogram.sort, rendering, text)
            }
            _ => Value::Null,
        }
    }

    /// Draws a value. `number` is its position in a sequence; other sources ignore it. Text is appended to
    /// `text`.
    #[inline]
    pub fn draw(&self, number: u64, rng: &mut Rng, text: &mut Vec<u8>) -> Value {
        if self.nulls > 0.0 && rng.unit() < self.nulls {
            return Value::Null;
        }
        match &self.source {
            Source::Numbers { low, scale, of, scatter } => {
                let rank = of.sample(rng) - 1;
                let place = scatter.as_ref().map_or(rank, |scatter| scatter.place(rank));
                let unscaled = low.wrapping_add_unsigned(place);
                self.number(unscaled, *scale, text)
            }
            Source::Sequence { first } => self.number(first.wrapping_add_unsigned(number), 0, text),
            Source::Values { constants, choice } => match &constants[choice.draw(rng)] {
                Constant::Plain(value) => value.clone(),
                Constant::Text(bytes) => written(text, |out| out.extend_from_slice(bytes)),
            },
            Source::Text(pattern) => written(text, |out| pattern.put(rng, out)),
            Source::Days { first, of } => {
                let day = first + (of.sample(rng) - 1) as i64;
                written(text, |out| calendar::put_day(day, out))
            }
            Source::Seconds { first, of } => {
                let second = first + (of.sample(rng) - 1) as i64;
                written(text, |out| calendar::put_second(second, out))
            }
            Source::Histogram { histogram, rendering } => {
                let number = histogram.at(rng.unit()).number;
                rendered(number, histogram.sort, rendering, text)
            }
        }
    }

    #[inline]
    fn number(&self, unscaled: i64, scale: u8, text: &mut Vec<u8>) -> Value {
        match scale {
            _ if self.as_text => written(text, |out| put_decimal(unscaled, scale, out)),
            0 => Value::Int(unscaled),
            _ => Value::Decimal { unscaled, scale },
        }
    }
}

fn rendered(number: i64, sort: Sort, rendering: &Rendering, text: &mut Vec<u8>) -> Value {
    match rendering {
        Rendering::Own => of_sort(number, sort, text),
        Rendering::Key { low, span, count, sort } => {
            let place = u128::from((number - 1).unsigned_abs()) * u128::from(*span);
            let place = place / u128::from((count - 1).max(1));
            of_sort(low.wrapping_add_unsigned(place as u64), *sort, text)
        }
        Rendering::Labels(labels) => {
            let label = &labels[(number - 1).unsigned_abs() as usize];
            written(text, |out| out.extend_from_slice(label))
        }
        Rendering::Text(numbered) => written(text, |out| numbered.put(number.unsigned_abs(), out)),
    }
}

fn of_sort(number: i64, sort: Sort, text: &mut Vec<u8>) -> Value {
    match sort {
        Sort::Number(0) => Value::Int(number),
        Sort::Number(scale) => Value::Decimal { unscaled: number, scale },
        Sort::Day => written(text, |out| calendar::put_day(number, out)),
        Sort::Second => written(text, |out| calendar::put_second(number, out)),
    }
}

#[inline]
fn written(text: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Value {
    let start = text.len() as u32;
    write(text);
    Value::Text(start..text.len() as u32)
}

fn not_one(fields: &mut Fields, found: &[(&str, Node)]) -> dyno_core::Error {
    match found {
        [(first, _), (second, _), ..] => {
            fields.node.wrong(format_args!("it can have one of {first} and {second}, not both"))
        }
        _ if fields.given("column").is_some() => fields
            .node
            .wrong("a column's values are not known here")
            .hint("dyno looks them up before a trial and gives them as values: give a list"),
        _ => fields
            .node
            .wrong("it does not say how values are made")
            .hint(format!("give it one of {}", SOURCES.join(", "))),
    }
}

fn read_numbers(name: &str, node: &Node, fields: &mut Fields) -> Result<(Source, Form)> {
    let shape = match name {
        "zipfian" => Shape::Zipfian { theta: theta(fields)? },
        "gaussian" => Shape::Gaussian { iterations: iterations(fields)? },
        "pareto" => Shape::Pareto { h: h(fields)? },
        "special" => Shape::Special {
            iterations: iterations(fields)?,
            pct_percent: fields.get("pct").map_or(Ok(1), |node| node.whole(1..=100))? as u32,
            res_percent: fields.get("res").map_or(Ok(75), |node| node.whole(0..=100))? as u32,
        },
        _ => Shape::Uniform,
    };
    let (low, high, scale) = range(node, fields)?;
    let n = high.abs_diff(low) + 1;
    let skewed = matches!(shape, Shape::Zipfian { .. } | Shape::Pareto { .. });
    let scramble = skewed && fields.get("scramble").map_or(Ok(true), |node| node.flag())?;
    let source = Source::Numbers {
        low,
        scale,
        of: Distribution::new(shape, n),
        scatter: scramble.then(|| Scatter::new(n)),
    };
    Ok((source, if scale == 0 { Form::Int } else { Form::Decimal }))
}

fn theta(fields: &mut Fields) -> Result<f64> {
    let read = |node: Node| node.number(|x| (0.0..=10.0).contains(&x), "from 0 to 10");
    fields.get("theta").map_or(Ok(0.99), read)
}

fn h(fields: &mut Fields) -> Result<f64> {
    let read = |node: Node| node.number(|x| (0.001..=0.999).contains(&x), "from 0.001 to 0.999");
    fields.get("h").map_or(Ok(0.2), read)
}

fn iterations(fields: &mut Fields) -> Result<u32> {
    Ok(fields.get("iterations").map_or(Ok(12), |node| node.whole(1..=1000))? as u32)
}

/// Reads a range: both bounds in units of 10^-scale, and the scale.
fn range(node: &Node, fields: &mut Fields) -> Result<(i64, i64, u8)> {
    let ends = node.pair("numbers")?;
    let mut digits = [(0, 0); 2];
    for (place, end) in digits.iter_mut().zip(&ends) {
        *place = end.value.as_number().and_then(decimal).ok_or_else(|| {
            end.wrong(format_args!("{} is not a number of at most 18 digits", end.value))
        })?;
    }
    let least = digits[0].1.max(digits[1].1);
    let scale = match fields.get("decimals") {
        Some(decimals) => decimals.whole(i64::from(least)..=i64::from(SCALE_MAX))? as u8,
        None => least,
    };
    let [low, high] = digits.map(|(unscaled, own)| {
        let factor = 10i64.checked_pow(u32::from(scale - own))?;
        unscaled.checked_mul(factor).filter(|end| end.abs() <= END_MAX)
    });
    let (Some(low), Some(high)) = (low, high) else {
        let most =
            "with this many decimals: 9000000000000000000 units of the last digit are the most";
        return Err(node.wrong(format_args!("its ends are too large {most}")));
    };
    if low > high {
        let (low, high) = (ends[0].value, ends[1].value);
        return Err(node
            .wrong(format_args!("{low} is above {high}"))
            .hint("give [lowest, highest]"));
    }
    Ok((low, high, scale))
}

fn read_values(node: &Node, fields: &mut Fields) -> Result<(Source, Form)> {
    let items = node.items()?;
    if items.is_empty() || items.len() > VALUES_MAX {
        let count = items.len();
        return Err(node.wrong(format_args!("{count} values: 1 to {VALUES_MAX} are allowed")));
    }
    let constants = items.iter().map(Constant::read).collect::<Result<Vec<_>>>()?;
    let choice = match fields.get("weights") {
        None => Choice::even(constants.len()),
        Some(node) => {
            let weights = node.items()?.iter().map(Node::weight).collect::<Result<Vec<_>>>()?;
            if weights.len() != constants.len() {
                let (weights, values) = (weights.len(), constants.len());
                return Err(node.wrong(format_args!("{weights} weights for {values} values")));
            }
            Choice::weighted(&weights).ok_or_else(|| node.wrong("all weights are 0"))?
        }
    };
    let (constants, form) = unify(constants);
    Ok((Source::Values { constants, choice }, form))
}

fn read_pattern(node: &Node) -> Result<Pattern> {
    let text = node.text()?;
    if text.chars().count() > PATTERN_CHARS_MAX {
        return Err(node.wrong(format_args!("it is longer than {PATTERN_CHARS_MAX} characters")));
    }
    Pattern::new(text).map_err(|why| node.wrong(why))
}

/// Reads a range of days or seconds: the first, and the distribution over their number.
fn read_span(
    node: &Node,
    what: &str,
    parse: fn(&str) -> Option<i64>,
) -> Result<(i64, Distribution)> {
    let ends = node.pair(what)?;
    let mut moments = [0; 2];
    for (place, end) in moments.iter_mut().zip(&ends) {
        *place = end
            .value
            .as_str()
            .and_then(parse)
            .ok_or_else(|| end.wrong(format_args!("{} is not one of the {what}", end.value)))?;
    }
    let [first, last] = moments;
    if first > last {
        return Err(node.wrong("its first is behind its last").hint("give [first, last]"));
    }
    Ok((first, Distribution::new(Shape::Uniform, last.abs_diff(first) + 1)))
}

#[cfg(test)]
mod tests;
