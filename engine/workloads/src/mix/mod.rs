//! `mix`: user-defined statements and transactions, chosen by weight, with typed parameters.
//!
//! | file | noun |
//! |---|---|
//! | `params.rs` | named value generators |
//! | `sum.rs` | parameters that are sums of others |
//! | `lists.rs` | lists of changing length |
//! | `scanner.rs` | SQL tokenizer that finds parameters |
//! | `statement.rs` | classifies a statement: pieces between parameters, read or write, begin or commit |
//! | `line.rs` | one statement with its parameters and options |
//! | `step.rs` | a step of a transaction: a statement, or one of several |
//! | `program.rs` | a compiled transaction: the source of each parameter's value |
//!
//! Options:
//!
//! - `params` (name: generator and `per: transaction | statement | repetition`; or `sum: [name, name]`),
//! - `statements` (name: SQL or `{sql, weight, lists, expect, reads}`), each sent without begin and commit,
//! - `transactions` (name: `{weight, steps}`), sent between begin and commit unless `atomic: false`. A
//!   step is SQL, `{sql, name, repeat, lists, expect, reads}` or `{one_of: [step, ...], repeat, choice}`.
//!
//! Each transaction is one entry of `statements` or `transactions`, chosen by weight.
//!
//! The class of a statement is its name; that of a step its name or `TRANSACTION_NUMBER`, counted
//! from 1; that of a branch its name or `TRANSACTION_NUMBER_NUMBER`. A transaction's first value of a
//! sequence is `first + number x k`: `number` interleaves the sessions, k is the maximum number of draws
//! per transaction. With `per: repetition` each transaction draws `first`, `first + 1`, ... again.

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
use dyno_core::random::rng::Rng;
use dyno_core::request::capability::Capability;
use dyno_core::workload::{
    Effect, Order, Request, RowSink, Table, Transaction, Workload, WorkloadKind,
};
use line::{Context, Line, check_class};
use params::Param;
use program::{Catalogue, Program};
use serde_json::Value;
use std::ops::Range;
use step::{Step, Steps};

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: "mix",
    about: "your own statements and transactions in SQL, weighted, with typed parameters",
    needs: &[Capability::Sql],
    build,
};

const NAME: &str = "mix";
const OPTIONS: [&str; 3] = ["params", "statements", "transactions"];
/// Limit of distinct statements, since each is prepared on every connection.
const STATEMENTS_MAX: usize = 4096;
/// Limit of statements per transaction, the same as that of `oltp`.
const OPERATIONS_MAX: u64 = 10_000;
/// Limit of values per transaction, which each session holds in memory.
const VALUES_MAX: u64 = 100_000;
/// Number of low bits of a session number that hold the session; the others hold the group.
pub(crate) const SESSION_BITS: u32 = 24;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Mix::new(order)?))
}

struct Mix {
    seed: u64,
    sessions: u64,
    params: Vec<Param>,
    /// Per parameter, the maximum number of draws in a transaction.
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

/// Reads a transaction: its weight, whether it is atomic, and its steps.
fn transaction(name: &str, node: &Node, context: &Context) -> Result<(f64, bool, Steps)> {
    let mut fields = node.fields()?;
    let weight = fields.get("weight").map_or(Ok(1.0), |node| node.weight())?;
    let is_atomic = fields.get("atomic").map_or(Ok(true), |node| node.flag())?;
    let steps = step::read(name, &fields.need("steps")?, context)?;
    fields.finish()?;
    Ok((weight, is_atomic, steps))
}

/// The workload's compiled parts, while its options are read.
#[derive(Default)]
struct Parts {
    catalogue: Catalogue,
    programs: Vec<Program>,
    weights: Vec<f64>,
    writes: bool,
}

impl Parts {
    /// Compiles and adds a transaction. One of weight 0 is validated but not added.
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
