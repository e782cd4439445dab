//! Compiles a transaction once into a plan of its draws and of the source of each parameter's value.

use super::line;
use super::params::Param;
use super::step::{self, CHOICES_MAX, Pick, Steps};
use crate::choice::Choice;
use dyno_core::random::rng::Rng;
use dyno_core::workload::{Op, Request, Transaction, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A compiled transaction, which [`Program::fill`] fills with values.
#[derive(Debug)]
pub struct Program {
    /// Parameters that several statements share. They are drawn first and are values 0, 1, ... of the
    /// transaction.
    shared: Vec<u16>,
    /// Choices of branches that several steps share, each drawn once per transaction.
    choices: Vec<Choice>,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    branches: Vec<Branch>,
    pick: Pick,
    repeat: u32,
}

/// A statement that a step may send, with its number of consecutive executions.
#[derive(Debug)]
struct Branch {
    forms: Vec<Form>,
    choice: Choice,
    repeat: u32,
}

/// A statement with one length chosen for each list.
#[derive(Debug)]
struct Form {
    /// Index into the workload's statements.
    statement: u16,
    /// Sources of the values, in order.
    args: Vec<Arg>,
    /// Number of leading values that are terms of sums and not parameters of the statement.
    hidden: usize,
    has_sums: bool,
}

/// Source of a parameter's value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Arg {
    /// Index among the shared values.
    Shared(u32),
    /// Draw number `first` of parameter `param` in this transaction, plus `stride` for each statement
    /// that the step has already sent.
    Drawn { param: u16, first: u32, stride: u32 },
    /// The value of an earlier argument of this statement, by its index.
    Again(u32),
    /// A sum of other arguments.
    Sum { param: u16, terms: Vec<Term> },
}

/// Location of a sum's term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Term {
    /// Index among the shared values.
    Shared(u32),
    /// Index among the arguments of the same statement.
    Here(u32),
}

impl Program {
    /// Compiles steps and adds their statements to the catalogue.
    pub fn new(all: &Steps, params: &[Param], catalogue: &mut Catalogue) -> Self {
        let shared = shared(&all.steps, params);
        let mut program = Self { shared, choices: all.choices.clone(), steps: Vec::new() };
        let mut drawn: BTreeMap<u16, u32> = BTreeMap::new();
        for step in &all.steps {
            let most = most_draws(step, params);
            let form = |form: &line::Form, catalogue: &mut Catalogue| {
                let mut composing = Composing::new(&program.shared, params, &drawn, &most);
                composing.all(&form.params);
                Form {
                    statement: catalogue.number(&form.statement),
                    hidden: composing.args.len() - form.params.len(),
                    has_sums: composing.args.iter().any(|arg| matches!(arg, Arg::Sum { .. })),
                    args: composing.args,
                }
            };
            let branches = step.branches.iter().map(|line| Branch {
                forms: line.forms.iter().map(|one| form(one, catalogue)).collect(),
                choice: line.choice.clone(),
                repeat: line.repeat,
            });
            let branches = branches.collect();
            for (&param, &most) in &most {
                *drawn.entry(param).or_default() += most * step.operations();
            }
            program.steps.push(Step { branches, pick: step.pick.clone(), repeat: step.repeat });
        }
        program
    }

    /// Maximum number of statements in a transaction.
    pub fn operations(&self) -> u64 {
        self.steps.iter().map(Step::operations).sum()
    }

    /// Maximum number of values in a transaction.
    pub fn values(&self) -> u64 {
        let of = |step: &Step| {
            let most =
                step.branches.iter().map(|branch| u64::from(branch.repeat) * branch.values());
            u64::from(step.repeat) * most.max().unwrap_or(0)
        };
        self.shared.len() as u64 + self.steps.iter().map(of).sum::<u64>()
    }

    /// Per parameter, the maximum number of draws in a transaction: the sequence numbers that it reserves.
    pub fn draws(&self) -> BTreeMap<u16, u64> {
        let mut draws: BTreeMap<u16, u64> = self.shared.iter().map(|&param| (param, 1)).collect();
        for step in &self.steps {
            let forms = step.branches.iter().flat_map(|branch| &branch.forms);
            for arg in forms.flat_map(|form| &form.args) {
                if let Arg::Drawn { param, first, stride } = *arg {
                    let upto = u64::from(first) + (step.operations() - 1) * u64::from(stride) + 1;
                    let most = draws.entry(param).or_default();
                    *most = upto.max(*most);
                }
            }
        }
        draws
    }

    /// Appends the transaction's statements and values to `tx`. `number` counts the transactions of all
    /// sessions. `strides` has, per parameter, the maximum number of draws of any program, so that the
    /// transactions' parts of a sequence do not overlap.
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
            let before = if params[param].begins_anew() { 0 } else { number };
            let number = before.wrapping_mul(strides[param]).wrapping_add(nth);
            let generator = params[param].generator().expect("only what is drawn is drawn");
            generator.draw(number, rng, text)
        };
        for &param in &self.shared {
            let value = draw(param, 0, rng, &mut tx.text);
            tx.values.push(value);
        }
        let mut picked = [0; CHOICES_MAX];
        for (picked, choice) in picked.iter_mut().zip(&self.choices) {
            *picked = choice.draw(rng);
        }
        for step in &self.steps {
            let mut sent = 0;
            for _ in 0..step.repeat {
                let branch = match &step.pick {
                    Pick::Own(choice) => &step.branches[choice.draw(rng)],
                    Pick::Shared(number) => &step.branches[picked[usize::from(*number)]],
                };
                for _ in 0..branch.repeat {
                    let form = &branch.forms[branch.choice.draw(rng)];
                    form.fill(params, sent, tx, |param, nth, text| draw(param, nth, rng, text));
                    sent += 1;
                }
            }
        }
    }
}

impl Step {
    /// Maximum number of statements that the step sends.
    fn operations(&self) -> u64 {
        let most = self.branches.iter().map(|branch| branch.repeat).max().unwrap_or(0);
        u64::from(self.repeat) * u64::from(most)
    }
}

impl Branch {
    /// Maximum number of values per execution.
    fn values(&self) -> u64 {
        self.forms.iter().map(|form| form.args.len()).max().unwrap_or(0) as u64
    }
}

impl Form {
    /// Appends the statement and its values to `tx`. `sent` is the number of statements that the step
    /// has already sent.
    #[inline]
    fn fill(
        &self,
        params: &[Param],
        sent: u64,
        tx: &mut Transaction,
        mut draw: impl FnMut(u16, u64, &mut Vec<u8>) -> Value,
    ) {
        let start = tx.values.len();
        for arg in &self.args {
            let value = match arg {
                Arg::Shared(place) => tx.values[*place as usize].clone(),
                Arg::Again(place) => tx.values[start + *place as usize].clone(),
                Arg::Drawn { param, first, stride } => {
                    let nth = u64::from(*first) + sent * u64::from(*stride);
                    draw(*param, nth, &mut tx.text)
                }
                Arg::Sum { .. } => Value::Null, // Replaced by `add` once all terms are drawn.
            };
            tx.values.push(value);
        }
        if self.has_sums {
            self.add(params, start, tx);
        }
        let values = (start + self.hidden) as u32..tx.values.len() as u32;
        tx.ops.push(Op { request: self.statement, values });
    }

    /// Computes the statement's sums. The values of its arguments begin at `start`.
    fn add(&self, params: &[Param], start: usize, tx: &mut Transaction) {
        for (at, arg) in self.args.iter().enumerate() {
            let Arg::Sum { param, terms } = arg else { continue };
            let sum = params[usize::from(*param)].sum().expect("only sums are added up");
            let place = |term: &Term| match *term {
                Term::Shared(place) => place as usize,
                Term::Here(place) => start + place as usize,
            };
            tx.values[start + at] = sum.of(terms.iter().map(place), tx);
        }
    }
}

/// (parameter, number of the list element): a statement draws a parameter once per element.
type Key = (u16, u32);

/// The draws of a form: its parameters, with sums replaced by their terms.
fn keys(form: &[Key], params: &[Param]) -> BTreeSet<Key> {
    let of = |&(param, element): &Key| match params[usize::from(param)].sum() {
        Some(sum) => sum.terms.iter().map(|&term| (term, element)).collect(),
        None => vec![(param, element)],
    };
    form.iter().flat_map(of).collect()
}

/// Per parameter, the maximum number of draws over the forms of a step.
fn most_draws(step: &step::Step, params: &[Param]) -> BTreeMap<u16, u32> {
    let mut most: BTreeMap<u16, u32> = BTreeMap::new();
    for form in step.branches.iter().flat_map(|line| &line.forms) {
        let mut count: BTreeMap<u16, u32> = BTreeMap::new();
        for (param, _) in keys(&form.params, params) {
            *count.entry(param).or_default() += 1;
        }
        for (param, count) in count {
            let most = most.entry(param).or_default();
            *most = count.max(*most);
        }
    }
    most
}

/// The parameters drawn per transaction that it uses more than once, in order of their first use.
fn shared(steps: &[step::Step], params: &[Param]) -> Vec<u16> {
    let mut uses: BTreeMap<u16, u64> = BTreeMap::new();
    let mut met = Vec::new();
    for step in steps {
        for (param, most) in most_draws(step, params) {
            *uses.entry(param).or_default() += u64::from(most) * u64::from(step.operations());
        }
        for form in step.branches.iter().flat_map(|line| &line.forms) {
            for &(param, _) in &form.params {
                match params[usize::from(param)].sum() {
                    Some(sum) => met.extend(&sum.terms),
                    None => met.push(param),
                }
            }
        }
    }
    let mut seen = BTreeSet::new();
    met.retain(|param| {
        params[usize::from(*param)].is_kept() && uses[param] > 1 && seen.insert(*param)
    });
    met
}

/// Builds the arguments of a form.
struct Composing<'a> {
    shared: &'a [u16],
    params: &'a [Param],
    /// Per parameter, the draws of the steps before this one.
    drawn: &'a BTreeMap<u16, u32>,
    /// Per parameter, the maximum number of draws of each statement of this step.
    most: &'a BTreeMap<u16, u32>,
    here: BTreeMap<Key, u32>,
    nth: BTreeMap<u16, u32>,
    args: Vec<Arg>,
}

impl<'a> Composing<'a> {
    fn new(
        shared: &'a [u16],
        params: &'a [Param],
        drawn: &'a BTreeMap<u16, u32>,
        most: &'a BTreeMap<u16, u32>,
    ) -> Self {
        let (here, nth, args) = (BTreeMap::new(), BTreeMap::new(), vec![]);
        Self { shared, params, drawn, most, here, nth, args }
    }

    fn all(&mut self, form: &[Key]) {
        let named: BTreeSet<Key> = form.iter().copied().collect();
        for key in keys(form, self.params) {
            if !named.contains(&key) && self.place(key.0).is_none() {
                self.draw(key);
            }
        }
        let mut sums = Vec::new();
        for &key in form {
            if self.params[usize::from(key.0)].sum().is_some() {
                sums.push((self.args.len(), key));
                self.args.push(Arg::Sum { param: key.0, terms: vec![] });
            } else if let Some(place) = self.place(key.0) {
                self.args.push(Arg::Shared(place));
            } else if let Some(&earlier) = self.here.get(&key) {
                self.args.push(Arg::Again(earlier));
            } else {
                self.draw(key);
            }
        }
        for (at, (param, element)) in sums {
            let terms = self.params[usize::from(param)].sum().map_or(&[][..], |sum| &sum.terms);
            let of = |&term: &u16| match self.place(term) {
                Some(place) => Term::Shared(place),
                None => Term::Here(self.here[&(term, element)]),
            };
            self.args[at] = Arg::Sum { param, terms: terms.iter().map(of).collect() };
        }
    }

    /// Index of a parameter among the shared values.
    fn place(&self, param: u16) -> Option<u32> {
        self.shared.iter().position(|other| *other == param).map(|place| place as u32)
    }

    fn draw(&mut self, key: Key) {
        let (param, _) = key;
        let nth = self.nth.entry(param).or_default();
        let first = self.drawn.get(&param).copied().unwrap_or(0) + *nth;
        *nth += 1;
        self.here.insert(key, self.args.len() as u32);
        self.args.push(Arg::Drawn { param, first, stride: self.most[&param] });
    }
}

/// The workload's distinct statements. Transactions share a prepared statement if text, class and
/// expectations are equal.
#[derive(Debug, Default)]
pub struct Catalogue(pub Vec<Request>);

impl Catalogue {
    /// Index of a statement, which is added if absent.
    pub fn number(&mut self, statement: &Request) -> u16 {
        let known = self.0.iter().position(|other| other == statement);
        known.unwrap_or_else(|| {
            self.0.push(statement.clone());
            self.0.len() - 1
        }) as u16
    }
}
