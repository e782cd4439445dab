//! Random numbers of scripts: the distributions that sysbench documents (`--rand-type` and
//! following), drawn from a generator of each session.
//!
//! Ranges include both ends, in either order. With `--rand-seed` other than 0, a session's draws
//! depend only on the seed and the session's number.

mod strings;
mod unique;

use crate::options::Options;
use dyno_core::random::distribution::{Distribution, Shape};
use dyno_core::random::rng::Rng;
use std::sync::Arc;
pub use unique::Uniques;

/// Distributions, by their names in `--rand-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All numbers are equally likely.
    Uniform,
    /// A bell curve around the middle of the range.
    Gaussian,
    /// A few numbers in the middle are frequent; the others follow a bell curve.
    Special,
    /// Small numbers are frequent, by the 80/20 rule.
    Pareto,
    /// Small numbers are frequent, by a power law.
    Zipfian,
}

impl Kind {
    /// Looks a distribution up by name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "uniform" => Self::Uniform,
            "gaussian" => Self::Gaussian,
            "special" => Self::Special,
            "pareto" => Self::Pareto,
            "zipfian" => Self::Zipfian,
            _ => return None,
        })
    }
}

/// The options of random numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// `--rand-type`: the distribution of [`Rand::default`].
    pub kind: Kind,
    /// `--rand-spec-iter`: the number of uniform draws that are averaged, for gaussian too.
    pub iterations: u32,
    /// `--rand-spec-pct`: size of the special part in per cent of the range.
    pub special_percent: u32,
    /// `--rand-spec-res`: share of draws from the special part, in per cent.
    pub special_hits_percent: u32,
    /// `--rand-pareto-h`.
    pub pareto_h: f64,
    /// `--rand-zipfian-exp`.
    pub zipfian_exp: f64,
    /// The seed of the whole run: `--rand-seed`, or the time if that is 0.
    pub seed: u64,
}

impl Settings {
    /// Reads `options`; undeclared ones have sysbench's defaults (`--compat` determines which are
    /// declared). `now`: the seed if none is given. An error is the message to print.
    pub fn of(options: &Options, now: u64) -> Result<Self, String> {
        let int = |name: &str, default: i64, low: i64, high: i64| {
            let value = options.get(name).map_or(default, |_| options.int(name));
            if (low..=high).contains(&value) {
                return Ok(value as u32);
            }
            Err(format!("Invalid value for --{name}: {value} (it must be {low} to {high})"))
        };
        let double = |name: &str, default: f64, range: &str, holds: fn(f64) -> bool| {
            let value = options.get(name).map_or(default, |_| options.double(name));
            if holds(value) {
                return Ok(value);
            }
            Err(format!("Invalid value for --{name}: {value} (it must be {range})"))
        };
        let name = options.text("rand-type");
        let kind = Kind::named(name)
            .ok_or_else(|| format!("Invalid random numbers distribution: {name}."))?;
        Ok(Self {
            kind,
            iterations: int("rand-spec-iter", 12, 1, 1_000_000)?,
            special_percent: int("rand-spec-pct", 1, 1, 100)?,
            special_hits_percent: int("rand-spec-res", 75, 0, 100)?,
            pareto_h: double("rand-pareto-h", 0.2, "between 0 and 1", |h| h > 0.0 && h < 1.0)?,
            zipfian_exp: double("rand-zipfian-exp", 0.8, "0 or more", |e| {
                e >= 0.0 && e.is_finite()
            })?,
            seed: match options.int("rand-seed") {
                0 => now,
                seed => seed as u64,
            },
        })
    }

    fn shape(&self, kind: Kind) -> Shape {
        match kind {
            Kind::Uniform => Shape::Uniform,
            Kind::Gaussian => Shape::Gaussian { iterations: self.iterations },
            Kind::Special => Shape::Special {
                iterations: self.iterations,
                pct_percent: self.special_percent,
                res_percent: self.special_hits_percent,
            },
            Kind::Pareto => Shape::Pareto { h: self.pareto_h },
            Kind::Zipfian => Shape::Zipfian { theta: self.zipfian_exp },
        }
    }
}

/// The maximum number of cached distributions; a script rarely draws from more ranges.
const READY: usize = 8;

/// The random numbers of one session.
#[derive(Debug)]
pub struct Rand {
    settings: Settings,
    rng: Rng,
    ready: Vec<(Kind, u64, Distribution)>,
    /// The index in `ready` to be replaced next.
    oldest: usize,
    uniques: Arc<Uniques>,
    last_unique: Option<unique::Range>,
}

impl Rand {
    /// Creates the generator of session `session`; `uniques` is shared by the run.
    pub fn new(settings: Settings, session: u32, uniques: Arc<Uniques>) -> Self {
        Self {
            settings,
            rng: Rng::for_transaction(settings.seed, session, 0),
            ready: Vec::with_capacity(READY),
            oldest: 0,
            uniques,
            last_unique: None,
        }
    }

    /// Draws a number from `a` to `b`, all equally likely.
    #[inline]
    pub fn uniform(&mut self, a: i64, b: i64) -> i64 {
        let (low, span) = ordered(a, b);
        low.wrapping_add(self.rng.between(0, span) as i64)
    }

    /// Draws a number as `--rand-type` specifies.
    pub fn default(&mut self, a: i64, b: i64) -> i64 {
        self.draw(self.settings.kind, a, b)
    }

    /// Draws a number from `a` to `b`. (In the range of all 2^64 numbers, only uniform draws the last.)
    pub fn draw(&mut self, kind: Kind, a: i64, b: i64) -> i64 {
        if kind == Kind::Uniform {
            return self.uniform(a, b);
        }
        let (low, span) = ordered(a, b);
        let is_it = |(of, over, _): &(Kind, u64, Distribution)| (*of, *over) == (kind, span);
        let place = self.ready.iter().position(is_it).unwrap_or_else(|| self.make(kind, span));
        low.wrapping_add((self.ready[place].2.sample(&mut self.rng) - 1) as i64)
    }

    fn make(&mut self, kind: Kind, span: u64) -> usize {
        let shape = self.settings.shape(kind);
        let entry = (kind, span, Distribution::new(shape, span.saturating_add(1)));
        if self.ready.len() < READY {
            self.ready.push(entry);
            return self.ready.len() - 1;
        }
        let place = self.oldest;
        self.oldest = (place + 1) % READY;
        self.ready[place] = entry;
        place
    }

    /// Draws a number from `a` to `b` that no session of the run has drawn from this range. After all
    /// numbers have been drawn, they repeat in the same order.
    pub fn unique(&mut self, a: i64, b: i64) -> i64 {
        let (low, span) = ordered(a, b);
        let range = match &self.last_unique {
            Some(range) if range.is(low, span) => range,
            _ => self.last_unique.insert(self.uniques.range(low, span)),
        };
        low.wrapping_add(range.next() as i64)
    }

    /// Draws 64 random bits.
    #[inline]
    pub fn uniform_uint64(&mut self) -> u64 {
        self.rng.u64()
    }

    /// Draws a number in `[0, 1)`.
    #[inline]
    pub fn uniform_double(&mut self) -> f64 {
        self.rng.unit()
    }

    /// Appends `template` with every `#` replaced by a digit and every `@` by a letter a to z.
    pub fn string(&mut self, template: &[u8], out: &mut Vec<u8>) {
        strings::template(&mut self.rng, template, out);
    }

    /// Appends `min` to `max` letters and digits; all lengths are equally likely.
    pub fn varstring(&mut self, min: u32, max: u32, out: &mut Vec<u8>) {
        let length = self.uniform(i64::from(min), i64::from(max));
        strings::alphanumeric(&mut self.rng, length as usize, out);
    }
}

/// Returns the lower end, and the distance to the upper one.
fn ordered(a: i64, b: i64) -> (i64, u64) {
    let (low, high) = (a.min(b), a.max(b));
    (low, high.wrapping_sub(low) as u64)
}

#[cfg(test)]
mod tests;
