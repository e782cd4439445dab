//! A user's statement: its SQL, split at the parameters, with its list lengths, repetitions and
//! expectations.

use super::lists::Lists;
use super::params::Param;
use super::scanner::{Token, scan};
use super::statement::{cut, frame, reads};
use crate::choice::Choice;
use crate::node::{Fields, Node, check_name};
use dyno_core::error::Result;
use dyno_core::workload::{Dialect, Effect, Expect, Request, Sql};
use std::ops::{Range, RangeInclusive};

/// Maximum length of a statement, bytes; servers reject much longer ones.
const SQL_BYTES_MAX: usize = 1 << 20;
/// Maximum number of consecutive repetitions of a statement.
pub const REPEAT_MAX: i64 = 10_000;

/// A statement with its list lengths and repetitions.
#[derive(Debug)]
pub struct Line {
    /// One form per combination of list lengths; one if the statement has no lists. Forms differ only
    /// in text and parameters.
    pub forms: Vec<Form>,
    /// Distribution over the forms.
    pub choice: Choice,
    /// Number of consecutive executions.
    pub repeat: u32,
}

/// A statement as drivers prepare it.
#[derive(Debug)]
pub struct Form {
    /// The statement's text and parameter types.
    pub statement: Request,
    /// The statement's parameters in order: index into the workload's parameters, and number of the
    /// list element around it, from 1 (0 outside lists).
    pub params: Vec<(u16, u32)>,
}

impl Line {
    /// A statement without parameters.
    pub fn plain(statement: Request) -> Self {
        Self { forms: vec![Form { statement, params: vec![] }], choice: Choice::even(1), repeat: 1 }
    }

    /// A line that sends no statement.
    pub fn nothing() -> Self {
        Self { forms: vec![], choice: Choice::even(1), repeat: 0 }
    }

    /// Whether the statement may change data.
    pub fn writes(&self) -> bool {
        self.forms.first().is_some_and(|form| form.statement.effect == Effect::Write)
    }
}

/// The context in which a statement is parsed.
pub struct Context<'a> {
    /// All parameters, sorted by name.
    pub params: &'a [Param],
    /// Dialect of the SQL.
    pub dialect: Dialect,
}

/// Reads an entry of `statements`, SQL or a mapping, and returns its weight and the statement.
pub fn statement(name: &str, node: &Node, context: &Context) -> Result<(f64, Line)> {
    check_class(node, name)?;
    if node.value.is_string() {
        return Ok((1.0, line(name, node, None, &Lists::default(), context)?));
    }
    let mut fields = node.fields()?;
    let weight = fields.get("weight").map_or(Ok(1.0), |node| node.weight())?;
    let line = mapped(name, &mut fields, context)?;
    fields.finish()?;
    Ok((weight, line))
}

/// Reads a step of a transaction, SQL or a mapping. Its class is its `name`, by default `class`.
pub fn step(class: &str, node: &Node, context: &Context) -> Result<Line> {
    if node.value.is_string() {
        return line(class, node, None, &Lists::default(), context);
    }
    let mut fields = node.fields()?;
    let line = of_step(class, &mut fields, context)?;
    fields.finish()?;
    Ok(line)
}

/// Reads a step's fields about its statement.
pub fn of_step(class: &str, fields: &mut Fields, context: &Context) -> Result<Line> {
    let repeat = fields.get("repeat").map_or(Ok(1), |node| node.whole(1..=REPEAT_MAX))?;
    let class = match fields.get("name") {
        None => class,
        Some(name) => {
            let given = name.text()?;
            check_class(&name, given)?;
            given
        }
    };
    let mut line = mapped(class, fields, context)?;
    line.repeat = repeat as u32;
    Ok(line)
}

fn mapped(class: &str, fields: &mut Fields, context: &Context) -> Result<Line> {
    let reads = fields.get("reads").map(|node| node.flag()).transpose()?;
    let expect = fields.get("expect").map(|node| expect(&node)).transpose()?;
    let sql = fields.need("sql")?;
    let lists = Lists::read(fields, sql.text()?, context.dialect)?;
    let mut line = line(class, &sql, reads, &lists, context)?;
    for form in &mut line.forms {
        form.statement.expect.clone_from(&expect);
    }
    Ok(line)
}

fn line(
    class: &str,
    node: &Node,
    is_read: Option<bool>,
    lists: &Lists,
    context: &Context,
) -> Result<Line> {
    let sql = node.text()?;
    let scanned = tokens(node, sql, context)?;
    if let Some(word) = frame(&scanned) {
        return Err(node
            .wrong(format_args!("{word} is not for a statement to say"))
            .hint("begin and commit are sent around the steps of a transaction"));
    }
    if scanned.iter().all(|(token, _)| matches!(token, Token::Blank | Token::End)) {
        return Err(node.wrong("it is empty"));
    }
    let kind =
        if is_read.unwrap_or_else(|| reads(&scanned)) { Effect::Read } else { Effect::Write };
    let (texts, choice) = lists.forms(sql);
    let mut forms = Vec::with_capacity(texts.len());
    for text in &texts {
        let cut = cut(&tokens(node, &text.sql, context)?, &text.sql);
        let params = cut.names.iter().map(|name| find(name, node, context.params));
        let params = params.collect::<Result<Vec<u16>>>()?;
        let types = params.iter().map(|&at| context.params[usize::from(at)].param_type()).collect();
        let mut statement = Request::new(class, kind, Sql::new(cut.pieces), types);
        statement.names = cut.names;
        // Statements without lists have no element numbers.
        let elements = text.elements.iter().copied().chain(std::iter::repeat(0));
        forms.push(Form { statement, params: params.into_iter().zip(elements).collect() });
    }
    Ok(Line { forms, choice, repeat: 1 })
}

type Tokens<'a> = Vec<(Token<'a>, Range<usize>)>;

fn tokens<'a>(node: &Node, sql: &'a str, context: &Context) -> Result<Tokens<'a>> {
    if sql.len() > SQL_BYTES_MAX {
        return Err(node.wrong(format_args!("it is longer than {SQL_BYTES_MAX} bytes")));
    }
    scan(sql, context.dialect).map_err(|fault| node.wrong(fault))
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

/// Fails if `name` is not an ASCII identifier or is a class that the engine uses itself.
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
