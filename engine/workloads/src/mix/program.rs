//! What a transaction sends, worked out once: which values are drawn, and where each goes.

use super::line::Line;
use super::params::{Param, Per};
use dyno_core::rng::Rng;
use dyno_core::workload::{Op, Statement, Transaction, Value};
use std::collections::BTreeMap;

/// A transaction's statements, ready to be filled with values.
#[derive(Debug)]
pub struct Program {
    /// Drawn first, since several statements share them; they take places 0, 1, ... of the values.
    shared: Vec<u16>,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    /// Index into the workload's statements.
    statement: u16,
    repeat: u32,
    args: Vec<Arg>,
}

/// Where a parameter's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arg {
    /// A place among the shared values.
    Shared(u32),
    /// Drawn here: draw number `first` of parameter `param` in this transaction, and one further
    /// with each repetition.
    Drawn { param: u16, first: u32 },
    /// The same as another argument of this statement.
    Again(u32),
}

impl Program {
    /// A program of `lines`, each with its number among the workload's statements. A line without
    /// parameters may stand for `begin` or `commit`.
    pub fn new(lines: &[(u16, &Line)], params: &[Param]) -> Self {
        let mut uses: BTreeMap<u16, u64> = BTreeMap::new();
        for (_, line) in lines {
            for (place, param) in line.params.iter().enumerate() {
                if !line.params[..place].contains(param) {
                    *uses.entry(*param).or_default() += u64::from(line.repeat);
                }
            }
        }
        let is_shared =
            |param: &u16| params[usize::from(*param)].per == Per::Transaction && uses[param] > 1;
        let mut program = Self { shared: Vec::new(), steps: Vec::new() };
        let mut drawn: BTreeMap<u16, u32> = BTreeMap::new();
        for (statement, line) in lines {
            let mut args = Vec::with_capacity(line.params.len());
            for (place, &param) in line.params.iter().enumerate() {
                let earlier = line.params[..place].iter().position(|other| *other == param);
                args.push(if is_shared(&param) {
                    Arg::Shared(program.share(param))
                } else if let Some(earlier) = earlier {
                    Arg::Again(earlier as u32)
                } else {
                    let next = drawn.entry(param).or_default();
                    let first = *next;
                    *next += line.repeat;
                    Arg::Drawn { param, first }
                });
            }
            program.steps.push(Step { statement: *statement, repeat: line.repeat, args });
        }
        program
    }

    /// The place of a shared value.
    fn share(&mut self, param: u16) -> u32 {
        let place = self.shared.iter().position(|other| *other == param);
        place.unwrap_or_else(|| {
            self.shared.push(param);
            self.shared.len() - 1
        }) as u32
    }

    /// Statements that it sends.
    pub fn operations(&self) -> u64 {
        self.steps.iter().map(|step| u64::from(step.repeat)).sum()
    }

    /// Values that go with them.
    pub fn values(&self) -> u64 {
        let of = |step: &Step| u64::from(step.repeat) * step.args.len() as u64;
        self.shared.len() as u64 + self.steps.iter().map(of).sum::<u64>()
    }

    /// How many numbers of its sequence a transaction may use up, for each parameter it draws.
    pub fn draws(&self) -> BTreeMap<u16, u64> {
        let mut draws: BTreeMap<u16, u64> = self.shared.iter().map(|&param| (param, 1)).collect();
        for step in &self.steps {
            for arg in &step.args {
                if let Arg::Drawn { param, first } = *arg {
                    let upto = u64::from(first) + u64::from(step.repeat);
                    let most = draws.entry(param).or_default();
                    *most = upto.max(*most);
                }
            }
        }
        draws
    }

    /// Fills `tx`. `number`: of the transaction, among those of all sessions. `strides`: for each
    /// parameter, the most draws of any program, which keeps sequences apart.
    #[inline]
    pub fn fill(
        &self,
        params: &[Param],
        strides: &[u64],
        number: u64,
        rng: &mut Rng,
        tx: &mut Transaction,
    ) {
        let draw = |param: u16, nth: u64, rng: &mut Rng, text: &mut Vec<u8>| -> Value {
            let param = usize::from(param);
            let number = number.wrapping_mul(strides[param]).wrapping_add(nth);
            params[param].generator.draw(number, rng, text)
        };
        for &param in &self.shared {
            let value = draw(param, 0, rng, &mut tx.text);
            tx.values.push(value);
        }
        for step in &self.steps {
            for repetition in 0..step.repeat {
                let start = tx.values.len();
                for arg in &step.args {
                    let value = match *arg {
                        Arg::Shared(place) => tx.values[place as usize].clone(),
                        Arg::Again(place) => tx.values[start + place as usize].clone(),
                        Arg::Drawn { param, first } => {
                            draw(param, u64::from(first + repetition), rng, &mut tx.text)
                        }
                    };
                    tx.values.push(value);
                }
                let values = start as u32..tx.values.len() as u32;
                tx.ops.push(Op { statement: step.statement, values });
            }
        }
    }
}

/// The workload's statements, each once: the same text in two transactions is prepared once if
/// its class and expectations are the same too.
#[derive(Debug, Default)]
pub struct Catalogue(pub Vec<Statement>);

impl Catalogue {
    /// The number of a statement.
    pub fn number(&mut self, statement: &Statement) -> u16 {
        let known = self.0.iter().position(|other| other == statement);
        known.unwrap_or_else(|| {
            self.0.push(statement.clone());
            self.0.len() - 1
        }) as u16
    }
}
