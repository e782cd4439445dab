//! `mix`: the user's own statements and transactions, weighted, with typed parameters.
//!
//! | file | noun |
//! |---|---|
//! | `params.rs` | named value generators |
//! | `sum.rs` | parameters that are sums of others |
//! | `lists.rs` | lists of changing length |
//! | `scanner.rs` | SQL taken apart: where its parameters are |
//! | `statement.rs` | what a statement is: cut at its parameters, whether it reads, whether it frames a transaction |
//! | `line.rs` | one statement with what goes with it |
//! | `step.rs` | a step of a transaction: a statement, or one of several |
//! | `program.rs` | a transaction worked out: which values go where |
//!
//! Options: `params` (name: generator, and `per: transaction | statement | repetition`; or `sum: [name, name]`),
//! `statements` (name: SQL or `{sql, weight, lists, expect, reads}`; each a transaction without begin and commit) and
//! `transactions` (name: `{weight, steps}`, a step being SQL or `{sql, name, repeat, lists, expect, reads}`, or
//! `{one_of: [step, ...], repeat, choice}`; between begin and commit, unless `atomic: false`). One of `statements` and `transactions` is chosen by weight each time.
//!
//! The class of a statement is its name, that of a step its name or `TRANSACTION_NUMBER`, counted
//! from 1; that of a branch its name or `TRANSACTION_NUMBER_NUMBER`. Number n of a sequence belongs to one transaction of one session: `first + number x k`,
//! where numbers interleave the sessions and k is the most that a transaction draws. With `per: repetition`
//! each transaction draws `first`, `first + 1`, ... anew.

mod line;
mod lists;
mod params;
mod program;
pub mod scanner;
mod statement;
mod step;
mod sum;
#[cfg(test)]
mod tests;

use crate::choice::Choice;
use crate::node::Node;
use dyno_core::error::{Error, Kind as ErrorKind, Result};
use dyno_core::request::capability::Capability;
use dyno_core::rng::Rng;
use dyno_core::workload::{
    Effect, Order, Request, RowSink, Table, Transaction, Workload, WorkloadKind,
};
use line::{Context, Line, check_class};
use params::Param;
use program::{Catalogue, Program};
use serde_json::Value;
use std::ops::Range;
use step::{Step, Steps};

/// The family member.
pub static KIND: WorkloadKind = WorkloadKind {
    name: "mix",
    about: "your own statements and transactions in SQL, weighted, with typed parameters",
    needs: &[Capability::Sql],
    build,
};

const NAME: &str = "mix";
const OPTIONS: [&str; 3] = ["params", "statements", "transactions"];
/// Each is prepared on every connection.
const STATEMENTS_MAX: usize = 4096;
/// As `oltp` allows.
const OPERATIONS_MAX: u64 = 10_000;
/// A transaction's values are kept in memory for each session.
const VALUES_MAX: u64 = 100_000;
/// Sessions are numbered in this many bits; the others hold the group.
pub(crate) const SESSION_BITS: u32 = 24;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Mix::new(order)?))
}

struct Mix {
    seed: u64,
    sessions: u64,
    params: Vec<Param>,
    /// For each parameter, the most draws of a transaction.
    strides: Vec<u64>,
    statements: Vec<Request>,
    programs: Vec<Program>,
    choice: Choice,
    writes: bool,
}

impl Mix {
    fn new(order: &Order<'_>) -> Result<Self> {
        let empty = Value::Object(serde_json::Map::new());
        if let Some(unknown) = order.options.keys().find(|name| !OPTIONS.contains(&name.as_str())) {
            let what = format!("workload {NAME} has no option {unknown}");
            return Err(Error::new(ErrorKind::Plan, what)
                .hint(format!("its options are {}", OPTIONS.join(", "))));
        }
        let option = |name: &'static str| {
            let given = order.options.get(name).filter(|value| !value.is_null());
            Node::new(NAME, name, given.unwrap_or(&empty))
        };
        let params = params::read(&option("params"))?;
        let context = Context { params: &params, dialect: order.dialect };
        let mut parts = Parts::default();
        for (name, node) in option("statements").members()? {
            let (weight, line) = line::statement(name, &node, &context)?;
            parts.add(weight, Steps::of(line), false, &node, &params)?;
        }
        for (name, node) in option("transactions").members()? {
            check_class(&node, name)?;
            let (weight, is_atomic, steps) = transaction(name, &node, &context)?;
            parts.add(weight, steps, is_atomic, &node, &params)?;
        }
        let Some(choice) = Choice::weighted(&parts.weights) else {
            let why = "it has no statement and no transaction with a weight above 0";
            return Err(option("statements").wrong(why).hint("nothing would be sent: add one"));
        };
        let mut strides = vec![1; params.len()];
        for (param, draws) in parts.programs.iter().flat_map(Program::draws) {
            strides[usize::from(param)] = draws.max(strides[usize::from(param)]);
        }
        Ok(Self {
            seed: order.seed,
            sessions: u64::from(order.sessions.max(1)),
            params,
            strides,
            statements: parts.catalogue.0,
            programs: parts.programs,
            choice,
            writes: parts.writes,
        })
    }
}

/// The weight of a transaction, whether its steps commit together, and the steps.
fn transaction(name: &str, node: &Node, context: &Context) -> Result<(f64, bool, Steps)> {
    let mut fields = node.fields()?;
    let weight = fields.get("weight").map_or(Ok(1.0), |node| node.weight())?;
    let is_atomic = fields.get("atomic").map_or(Ok(true), |node| node.flag())?;
    let steps = step::read(name, &fields.need("steps")?, context)?;
    fields.finish()?;
    Ok((weight, is_atomic, steps))
}

/// What is being put together.
#[derive(Default)]
struct Parts {
    catalogue: Catalogue,
    programs: Vec<Program>,
    weights: Vec<f64>,
    writes: bool,
}

impl Parts {
    /// Adds a transaction. One without weight is checked, and left out.
    fn add(
        &mut self,
        weight: f64,
        mut all: Steps,
        framed: bool,
        node: &Node,
        params: &[Param],
    ) -> Result<()> {
        let lines = all.steps.iter().flat_map(|step| &step.branches);
        let forms: usize = lines.map(|line| line.forms.len()).sum();
        if forms > usize::from(u16::MAX) {
            let why =
                format_args!("{forms} statements with all lengths of their lists, 65535 allowed");
            return Err(node.wrong(why));
        }
        let mut catalogue = std::mem::take(&mut self.catalogue);
        let before = catalogue.0.len();
        let writes = all.steps.iter().any(Step::writes);
        if framed {
            let frame =
                |class: &str, kind| Step::of(Line::plain(Request::new(class, kind, "", vec![])));
            let begin = if writes { Effect::BeginWrite } else { Effect::BeginRead };
            all.steps.insert(0, frame("begin", begin));
            all.steps.push(frame("commit", Effect::Commit));
        }
        let program = Program::new(&all, params, &mut catalogue);
        if weight == 0.0 {
            catalogue.0.truncate(before);
        }
        self.catalogue = catalogue;
        let limits = [
            (program.operations(), OPERATIONS_MAX, "statements in a transaction"),
            (program.values(), VALUES_MAX, "parameters in a transaction"),
            (self.catalogue.0.len() as u64, STATEMENTS_MAX as u64, "different statements"),
        ];
        if let Some((count, most, what)) = limits.iter().find(|(count, most, _)| count > most) {
            return Err(node.wrong(format_args!("{count} {what}, {most} allowed")));
        }
        if weight > 0.0 {
            self.programs.push(program);
            self.weights.push(weight);
            self.writes |= writes;
        }
        Ok(())
    }
}

impl Workload for Mix {
    fn requests(&self) -> Vec<Request> {
        self.statements.clone()
    }

    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        let mut rng = Rng::for_transaction(self.seed, session, index);
        let within = u64::from(session & ((1 << SESSION_BITS) - 1));
        let number = index.wrapping_mul(self.sessions).wrapping_add(within);
        let program = &self.programs[self.choice.draw(&mut rng)];
        program.fill(&self.params, &self.strides, number, &mut rng, tx);
    }

    fn changes_data(&self) -> bool {
        self.writes
    }

    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }

    fn rows(&self, _: usize, _: Range<u64>, _: &mut dyn RowSink) {}
}
