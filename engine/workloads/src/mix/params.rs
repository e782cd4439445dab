//! The parameters of `mix`: named generators with the scope of their draws, and sums of parameters.

use super::sum::Sum;
use crate::generator::Generator;
use crate::node::{Fields, Node, check_name};
use dyno_core::error::Result;
use dyno_core::workload::ParamType;

/// Maximum number of parameters.
const PARAMS_MAX: usize = 10_000;

/// The scope of a drawn value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// All statements of a transaction share the value.
    Transaction,
    /// Each statement and each repetition draws its own value.
    Statement,
    /// Like `Statement`, but each transaction restarts sequences.
    Repetition,
}

/// Source of a parameter's values.
#[derive(Debug)]
pub enum Source {
    /// A generator and the scope of its draws.
    Drawn(Generator, Per),
    /// A sum of other parameters, computed at each use.
    Sum(Sum),
}

/// A named parameter.
#[derive(Debug)]
pub struct Param {
    /// The name in statements, without the colon.
    pub name: String,
    /// Source of the values.
    pub source: Source,
}

impl Param {
    /// The generator, unless the parameter is a sum.
    pub fn generator(&self) -> Option<&Generator> {
        match &self.source {
            Source::Drawn(generator, _) => Some(generator),
            Source::Sum(_) => None,
        }
    }

    /// The sum, if the parameter is one.
    pub fn sum(&self) -> Option<&Sum> {
        match &self.source {
            Source::Drawn(..) => None,
            Source::Sum(sum) => Some(sum),
        }
    }

    /// Whether the parameter is drawn once per transaction.
    pub fn is_kept(&self) -> bool {
        matches!(self.source, Source::Drawn(_, Per::Transaction))
    }

    /// Whether each transaction restarts the parameter's sequence.
    pub fn begins_anew(&self) -> bool {
        matches!(self.source, Source::Drawn(_, Per::Repetition))
    }

    /// The type in the protocol, inferred from the values' form since the column is unknown.
    pub fn param_type(&self) -> ParamType {
        ParamType::Inferred(match &self.source {
            Source::Drawn(generator, _) => generator.form,
            Source::Sum(sum) => sum.form,
        })
    }
}

/// Reads `params` and sorts them by name.
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
                // The terms are resolved below, once all names are known.
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
