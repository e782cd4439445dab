//! The parameters of `mix`: generators by name, and when they draw; sums of others.

use super::sum::Sum;
use crate::generator::Generator;
use crate::node::{Fields, Node, check_name};
use dyno_core::error::Result;
use dyno_core::workload::ParamType;

/// More than any statement's text could use.
const PARAMS_MAX: usize = 10_000;

/// How long a drawn value holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// All statements of a transaction share it.
    Transaction,
    /// Each statement, and each repetition of one, has its own.
    Statement,
    /// The same, but a sequence begins anew in each transaction.
    Repetition,
}

/// Where a parameter's values come from.
#[derive(Debug)]
pub enum Source {
    /// Drawn.
    Drawn(Generator, Per),
    /// Made of other parameters' values, wherever it is named.
    Sum(Sum),
}

/// A named parameter.
#[derive(Debug)]
pub struct Param {
    /// As statements call it.
    pub name: String,
    /// Makes its values.
    pub source: Source,
}

impl Param {
    /// What draws its values, if they are drawn.
    pub fn generator(&self) -> Option<&Generator> {
        match &self.source {
            Source::Drawn(generator, _) => Some(generator),
            Source::Sum(_) => None,
        }
    }

    /// What it is made of, if it is a sum.
    pub fn sum(&self) -> Option<&Sum> {
        match &self.source {
            Source::Drawn(..) => None,
            Source::Sum(sum) => Some(sum),
        }
    }

    /// Whether a drawn value holds for the transaction.
    pub fn is_kept(&self) -> bool {
        matches!(self.source, Source::Drawn(_, Per::Transaction))
    }

    /// Whether a sequence begins anew in each transaction.
    pub fn begins_anew(&self) -> bool {
        matches!(self.source, Source::Drawn(_, Per::Repetition))
    }

    /// Its type on the wire: nobody here knows the column.
    pub fn param_type(&self) -> ParamType {
        ParamType::Inferred(match &self.source {
            Source::Drawn(generator, _) => generator.form,
            Source::Sum(sum) => sum.form,
        })
    }
}

/// Reads `params`, sorted by name.
pub fn read(node: &Node) -> Result<Vec<Param>> {
    let mut members = node.members()?;
    if members.len() > PARAMS_MAX {
        let count = members.len();
        return Err(node.wrong(format_args!("{count} parameters: {PARAMS_MAX} are the most")));
    }
    members.sort_by_key(|(name, _)| *name);
    let mut params = Vec::with_capacity(members.len());
    let mut sums: Vec<(usize, Node)> = Vec::new();
    for (at, (name, node)) in members.iter().enumerate() {
        check_name(node, name, "parameter")?;
        let mut fields = node.fields()?;
        let source = match fields.get("sum") {
            Some(terms) => {
                sums.push((at, terms));
                // Its terms are looked for once all names are known.
                Source::Sum(Sum::unread())
            }
            None => drawn(&mut fields)?,
        };
        fields.finish()?;
        params.push(Param { name: (*name).to_owned(), source });
    }
    for (at, terms) in sums {
        let find = |name: &str| {
            let found = params.binary_search_by(|param| param.name.as_str().cmp(name));
            found.ok().map(|index| (index, params[index].generator()))
        };
        let sum = Sum::read(&terms, find)?;
        params[at].source = Source::Sum(sum);
    }
    Ok(params)
}

fn drawn(fields: &mut Fields) -> Result<Source> {
    let generator = Generator::read(fields)?;
    let words = ["transaction", "statement", "repetition"];
    let per = match fields.get("per").map(|per| per.word(&words)).transpose()? {
        Some("statement") => Per::Statement,
        Some("repetition") => Per::Repetition,
        _ => Per::Transaction,
    };
    Ok(Source::Drawn(generator, per))
}
