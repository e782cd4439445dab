//! `cpu`: each event finds the primes up to a limit, from 3, by dividing each number by all from 2 to
//! its square root until one divides it. All numbers have 64 bits, as in sysbench, so that events per
//! second are comparable.

use super::events::{Events, Work};
use super::{Crew, Native, Run, number};
use crate::options::{Declared, Options};
use crate::report::Kind;
use crate::session::Session;
use std::hint::black_box;
use std::sync::Arc;

/// The test.
pub struct Cpu;

impl Native for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn about(&self) -> &'static str {
        "CPU performance test"
    }

    fn options(&self) -> Vec<Declared> {
        vec![number("cpu-max-prime", "upper limit for primes generator", 10000)]
    }

    fn run(&self, options: &Options, _crew: Crew) -> Result<Run, String> {
        let limit = options.int("cpu-max-prime");
        let Some(max) = u64::try_from(limit).ok().filter(|&max| max > 0) else {
            return Err(format!("Invalid value of cpu-max-prime: {limit}."));
        };
        Ok(Run {
            heading: format!("Prime numbers limit: {max}\n\n"),
            kind: Kind::Cpu,
            limits_events: false,
            make: Arc::new(move |_| Ok(Box::new(Events::new(Primes { max }, None)))),
        })
    }
}

struct Primes {
    max: u64,
}

impl Work for Primes {
    fn event(&mut self, _session: &Session<'_>) -> Result<(), String> {
        black_box(primes(black_box(self.max)));
        Ok(())
    }
}

/// The number of primes from 3 to `max`.
fn primes(max: u64) -> u64 {
    (3..=max).filter(|&candidate| is_prime(candidate)).count() as u64
}

#[inline]
fn is_prime(candidate: u64) -> bool {
    let root = (candidate.cast_signed() as f64).sqrt();
    let mut divisor = 2_u64;
    // Signed, because the conversion is one instruction.
    while divisor.cast_signed() as f64 <= root {
        if remainder(candidate, divisor) == 0 {
            return false;
        }
        divisor += 1;
    }
    true
}

/// The processor's 64-bit division: a compiler would choose a shorter one for small numbers, which on
/// some processors takes a third of the time and would change the test.
#[cfg(target_arch = "x86_64")]
#[inline]
fn remainder(number: u64, divisor: u64) -> u64 {
    let rest: u64;
    // SAFETY: the divisor is at least 2 and the upper half of the dividend 0, so that the division
    // cannot fail; it touches the named registers and the flags only.
    unsafe {
        std::arch::asm!(
            "div {divisor}",
            divisor = in(reg) divisor,
            inout("rax") number => _,
            inout("rdx") 0_u64 => rest,
            options(pure, nomem, nostack),
        );
    }
    rest
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn remainder(number: u64, divisor: u64) -> u64 {
    number % divisor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_counted_from_three() {
        // Of the 25 primes to 100 all but 2, of the 1229 to 10,000.
        assert_eq!([1, 2, 3, 4, 100, 10_000].map(primes), [0, 0, 1, 1, 24, 1228]);
    }
}
