//! The parameters of `mix`: generators by name, and when they draw.

use crate::generator::Generator;
use crate::node::{Node, check_name};
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
}

/// A named generator.
#[derive(Debug)]
pub struct Param {
    /// As statements call it.
    pub name: String,
    /// Makes its values.
    pub generator: Generator,
    /// How long a value holds.
    pub per: Per,
}

impl Param {
    /// Its type on the wire: nobody here knows the column.
    pub fn param_type(&self) -> ParamType {
        ParamType::Inferred(self.generator.form)
    }
}

/// Reads `params`, sorted by name.
pub fn read(node: &Node) -> Result<Vec<Param>> {
    let members = node.members()?;
    if members.len() > PARAMS_MAX {
        let count = members.len();
        return Err(node.wrong(format_args!("{count} parameters: {PARAMS_MAX} are the most")));
    }
    let mut params = members.into_iter().map(param).collect::<Result<Vec<_>>>()?;
    params.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(params)
}

fn param((name, node): (&str, Node)) -> Result<Param> {
    check_name(&node, name, "parameter")?;
    let mut fields = node.fields()?;
    let generator = Generator::read(&mut fields)?;
    let word = fields.get("per").map(|per| per.word(&["transaction", "statement"])).transpose()?;
    let per = if word == Some("statement") { Per::Statement } else { Per::Transaction };
    fields.finish()?;
    Ok(Param { name: name.to_owned(), generator, per })
}
