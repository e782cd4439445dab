//! A statement of the user's: its SQL cut at the parameters, and what goes with it.

use super::params::Param;
use super::scanner::{Token, cut, frame, reads, scan};
use crate::node::{Fields, Node, check_name};
use dyno_core::error::Result;
use dyno_core::workload::{Dialect, Expect, Kind, Sql, Statement};
use std::ops::RangeInclusive;

/// Longest statement, bytes: servers refuse much longer ones anyway.
const SQL_BYTES_MAX: usize = 1 << 20;
const REPEAT_MAX: i64 = 10_000;

/// A statement, and how it is sent.
#[derive(Debug)]
pub struct Line {
    /// As drivers take it.
    pub statement: Statement,
    /// Its parameters: indexes into the list of them.
    pub params: Vec<u16>,
    /// How many times in a row.
    pub repeat: u32,
}

impl Line {
    /// Whether it may change data.
    pub fn writes(&self) -> bool {
        self.statement.kind == Kind::Write
    }
}

/// What a line is read for.
pub struct Context<'a> {
    /// All parameters, sorted by name.
    pub params: &'a [Param],
    /// Whose rules the SQL follows.
    pub dialect: Dialect,
}

/// Reads a statement that is a transaction of its own: text, or a mapping. Its weight, and itself.
pub fn statement(name: &str, node: &Node, context: &Context) -> Result<(f64, Line)> {
    check_class(node, name)?;
    if node.value.is_string() {
        return Ok((1.0, line(name, node, None, context)?));
    }
    let mut fields = node.fields()?;
    let weight = fields.get("weight").map_or(Ok(1.0), |node| node.weight())?;
    let line = mapped(name, &mut fields, context)?;
    fields.finish()?;
    Ok((weight, line))
}

/// Reads a step of a transaction: text, or a mapping. Its class is `class` unless it has a name.
pub fn step(class: &str, node: &Node, context: &Context) -> Result<Line> {
    if node.value.is_string() {
        return line(class, node, None, context);
    }
    let mut fields = node.fields()?;
    let repeat = fields.get("repeat").map_or(Ok(1), |node| node.whole(1..=REPEAT_MAX))?;
    let class = match fields.get("name") {
        None => class,
        Some(name) => {
            let given = name.text()?;
            check_class(&name, given)?;
            given
        }
    };
    let mut line = mapped(class, &mut fields, context)?;
    line.repeat = repeat as u32;
    fields.finish()?;
    Ok(line)
}

fn mapped(class: &str, fields: &mut Fields, context: &Context) -> Result<Line> {
    let reads = fields.get("reads").map(|node| node.flag()).transpose()?;
    let expect = fields.get("expect").map(|node| expect(&node)).transpose()?;
    let mut line = line(class, &fields.need("sql")?, reads, context)?;
    line.statement.expect = expect;
    Ok(line)
}

fn line(class: &str, node: &Node, is_read: Option<bool>, context: &Context) -> Result<Line> {
    let sql = node.text()?;
    if sql.len() > SQL_BYTES_MAX {
        return Err(node.wrong(format_args!("it is longer than {SQL_BYTES_MAX} bytes")));
    }
    let tokens = scan(sql, context.dialect).map_err(|fault| node.wrong(fault))?;
    if let Some(word) = frame(&tokens) {
        return Err(node
            .wrong(format_args!("{word} is not for a statement to say"))
            .hint("begin and commit are sent around the steps of a transaction"));
    }
    if tokens.iter().all(|(token, _)| matches!(token, Token::Blank | Token::End)) {
        return Err(node.wrong("it is empty"));
    }
    let cut = cut(&tokens, sql);
    let params = cut.names.iter().map(|name| find(name, node, context.params));
    let params = params.collect::<Result<Vec<u16>>>()?;
    let types = params.iter().map(|&at| context.params[usize::from(at)].param_type()).collect();
    let kind = if is_read.unwrap_or_else(|| reads(&tokens)) { Kind::Read } else { Kind::Write };
    let mut statement = Statement::new(class, kind, Sql::new(cut.pieces), types);
    statement.names = cut.names;
    Ok(Line { statement, params, repeat: 1 })
}

fn find(name: &str, node: &Node, params: &[Param]) -> Result<u16> {
    let found = params.binary_search_by(|param| param.name.as_str().cmp(name));
    found.map(|at| at as u16).map_err(|_| {
        let known: Vec<&str> = params.iter().take(20).map(|param| param.name.as_str()).collect();
        let hint = match known[..] {
            [] => "there are none".to_owned(),
            _ => format!("declared are {}", known.join(", ")),
        };
        node.wrong(format_args!("there is no parameter :{name} in params")).hint(hint)
    })
}

/// Refuses names of classes that the engine itself uses.
pub fn check_class(node: &Node, name: &str) -> Result<()> {
    check_name(node, name, "statement")?;
    if ["begin", "commit", "other"].contains(&name) {
        return Err(node.wrong(format_args!("{name} is a name of the engine's own")));
    }
    Ok(())
}

fn expect(node: &Node) -> Result<Expect> {
    let mut fields = node.fields()?;
    let rows = fields.get("rows").map(|node| count(&node)).transpose()?;
    let affected = fields.get("affected").map(|node| count(&node)).transpose()?;
    if rows.is_none() && affected.is_none() {
        fields.finish()?;
        return Err(node.wrong("it has neither rows nor affected"));
    }
    fields.finish()?;
    Ok(Expect { rows, affected })
}

fn count(node: &Node) -> Result<RangeInclusive<u64>> {
    let whole = |node: &Node| node.whole(0..=i64::MAX).map(|n| n as u64);
    if node.value.is_array() {
        let [low, high] = node.pair("whole numbers")?;
        let (low, high) = (whole(&low)?, whole(&high)?);
        if low > high {
            return Err(node.wrong(format_args!("{low} is above {high}")));
        }
        return Ok(low..=high);
    }
    whole(node).map(|n| n..=n)
}
