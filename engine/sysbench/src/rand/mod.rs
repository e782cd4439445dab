//! Random numbers of scripts: the distributions that sysbench documents (`--rand-type` and
//! following), drawn from a generator of the session's own.
//!
//! Ranges include both ends, in either order. With `--rand-seed` other than 0 a session's draws
//! depend on the seed and the session's number alone.

mod strings;
mod unique;

use crate::options::Options;
use dyno_core::distribution::{Distribution, Shape};
use dyno_core::rng::Rng;
use std::sync::Arc;
pub use unique::Uniques;

/// The distributions by their names in `--rand-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Every number equally likely.
    Uniform,
    /// A bell around the middle.
    Gaussian,
    /// Few numbers in the middle, often; the rest a bell.
    Special,
    /// Small numbers often, by the rule of 80 to 20.
    Pareto,
    /// Small numbers often, by a power law.
    Zipfian,
}

impl Kind {
    /// By its name.
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

/// What the options say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// `--rand-type`: what [`Rand::default`] draws.
    pub kind: Kind,
    /// `--rand-spec-iter`: how many uniform draws are averaged, for gaussian too.
    pub iterations: u32,
    /// `--rand-spec-pct`: size of the special part in per cent of the range.
    pub special_percent: u32,
    /// `--rand-spec-res`: share of draws that hit the special part, in per cent.
    pub special_hits_percent: u32,
    /// `--rand-pareto-h`.
    pub pareto_h: f64,
    /// `--rand-zipfian-exp`.
    pub zipfian_exp: f64,
    /// Of the whole run: `--rand-seed`, or the time where that is 0.
    pub seed: u64,
}

impl Settings {
    /// What `options` say; sysbench's defaults where one is not declared (which are differs by
    /// `--compat`). `now`: the seed where none is given. An error is the message to print.
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

/// Distributions kept ready; a script seldom draws from more ranges than this.
const READY: usize = 8;

/// The random numbers of one session.
#[derive(Debug)]
pub struct Rand {
    settings: Settings,
    rng: Rng,
    ready: Vec<(Kind, u64, Distribution)>,
    /// Which of `ready` goes next.
    oldest: usize,
    uniques: Arc<Uniques>,
    last_unique: Option<unique::Range>,
}

impl Rand {
    /// Of session `session`; `uniques` is the run's.
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

    /// A number from `a` to `b`, every one equally likely.
    #[inline]
    pub fn uniform(&mut self, a: i64, b: i64) -> i64 {
        let (low, span) = ordered(a, b);
        low.wrapping_add(self.rng.between(0, span) as i64)
    }

    /// As `--rand-type` says.
    pub fn default(&mut self, a: i64, b: i64) -> i64 {
        self.draw(self.settings.kind, a, b)
    }

    /// A number from `a` to `b`. (Of all 2^64 numbers the last one is drawn by uniform only.)
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

    /// A number from `a` to `b` that no session of the run has had of this range, until all have
    /// been had: then they come again in the same order.
    pub fn unique(&mut self, a: i64, b: i64) -> i64 {
        let (low, span) = ordered(a, b);
        let range = match &self.last_unique {
            Some(range) if range.is(low, span) => range,
            _ => self.last_unique.insert(self.uniques.range(low, span)),
        };
        low.wrapping_add(range.next() as i64)
    }

    /// 64 random bits.
    #[inline]
    pub fn uniform_uint64(&mut self) -> u64 {
        self.rng.u64()
    }

    /// A number in `[0, 1)`.
    #[inline]
    pub fn uniform_double(&mut self) -> f64 {
        self.rng.unit()
    }

    /// Appends `template` with every `#` replaced by a digit and every `@` by a letter a to z.
    pub fn string(&mut self, template: &[u8], out: &mut Vec<u8>) {
        strings::template(&mut self.rng, template, out);
    }

    /// Appends `min` to `max` letters and digits; every length is equally likely.
    pub fn varstring(&mut self, min: u32, max: u32, out: &mut Vec<u8>) {
        let length = self.uniform(i64::from(min), i64::from(max));
        strings::alphanumeric(&mut self.rng, length as usize, out);
    }
}

/// The lower end, and the distance to the upper one.
fn ordered(a: i64, b: i64) -> (i64, u64) {
    let (low, high) = (a.min(b), a.max(b));
    (low, high.wrapping_sub(low) as u64)
}

#[cfg(test)]
mod tests;
