//! Statements with lists of variable length, such as `IN (:id)` and `VALUES (:a, :b)`. Drivers prepare
//! each length as a separate statement.

use super::scanner::{Token, scan};
use crate::choice::Choice;
use crate::node::{Fields, Node};
use dyno_core::error::Result;
use dyno_core::workload::Dialect;
use std::ops::Range;

/// Maximum number of elements in a list: servers' limit of parameters in a statement.
const LENGTH_MAX: i64 = 65_535;
/// Maximum number of lengths of one list.
const LENGTHS_MAX: usize = 100;
/// Maximum number of forms of a statement, the product of its lists' numbers of lengths.
const FORMS_MAX: usize = 1000;

/// The lists of a statement.
#[derive(Debug, Default)]
pub struct Lists {
    /// In the order of the text; lists do not overlap.
    lists: Vec<List>,
    /// Byte offsets of the statement's parameters in its text.
    params: Vec<usize>,
}

#[derive(Debug)]
struct List {
    /// Byte range of the list's element in the statement's text.
    at: Range<usize>,
    lengths: Vec<u64>,
    weights: Vec<f64>,
}

/// A statement with one length chosen for each list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Form {
    /// The statement's text.
    pub sql: String,
    /// For each parameter in the text, the number of the list element around it, from 1; 0 outside lists.
    pub elements: Vec<u32>,
}

impl Lists {
    /// Reads the optional field `lists` of a statement whose text is `sql`.
    pub fn read(fields: &mut Fields, sql: &str, dialect: Dialect) -> Result<Self> {
        // `line::line` scans the statement again and reports its faults.
        let tokens = scan(sql, dialect).unwrap_or_default();
        let is_param = |(token, _): &&(Token, Range<usize>)| matches!(token, Token::Param(_));
        let params = tokens.iter().filter(is_param).map(|(_, at)| at.start).collect();
        let Some(node) = fields.get("lists").filter(|_| !tokens.is_empty()) else {
            return Ok(Self { lists: vec![], params });
        };
        let borders: Vec<usize> = tokens.iter().flat_map(|(_, at)| [at.start, at.end]).collect();
        let items = node.items()?;
        let mut lists = items
            .iter()
            .map(|item| list(item, sql, &borders, &params))
            .collect::<Result<Vec<List>>>()?;
        lists.sort_by_key(|list| list.at.start);
        if lists.windows(2).any(|pair| pair[0].at.end > pair[1].at.start) {
            return Err(node.wrong("one of them stands within another"));
        }
        let forms = lists.iter().fold(1usize, |n, list| n.saturating_mul(list.lengths.len()));
        if forms > FORMS_MAX {
            let why = format_args!("{forms} combinations of lengths, {FORMS_MAX} allowed");
            return Err(node.wrong(why));
        }
        Ok(Self { lists, params })
    }

    /// All combinations of lengths, and their distribution.
    pub fn forms(&self, sql: &str) -> (Vec<Form>, Choice) {
        let mut combinations: Vec<(Vec<u64>, f64)> = vec![(vec![], 1.0)];
        for list in &self.lists {
            let longer = |(lengths, weight): &(Vec<u64>, f64)| -> Vec<(Vec<u64>, f64)> {
                let options = list.lengths.iter().zip(&list.weights);
                options.map(|(&n, w)| ([&lengths[..], &[n]].concat(), weight * w)).collect()
            };
            combinations = combinations.iter().flat_map(longer).collect();
        }
        let weights: Vec<f64> = combinations.iter().map(|(_, weight)| *weight).collect();
        let forms = combinations.iter().map(|(lengths, _)| self.form(sql, lengths)).collect();
        (forms, Choice::weighted(&weights).unwrap_or_else(|| Choice::even(weights.len())))
    }

    fn form(&self, sql: &str, lengths: &[u64]) -> Form {
        let within = |at: &Range<usize>| self.params.iter().filter(|p| at.contains(p)).count();
        let mut form = Form::default();
        let (mut done, mut element) = (0, 0);
        for (list, &length) in self.lists.iter().zip(lengths) {
            let before = done..list.at.start;
            form.elements.extend(std::iter::repeat_n(0, within(&before)));
            form.sql.push_str(&sql[before]);
            for nth in 0..length {
                element += 1;
                form.sql.push_str(if nth > 0 { ", " } else { "" });
                form.sql.push_str(&sql[list.at.clone()]);
                form.elements.extend(std::iter::repeat_n(element, within(&list.at)));
            }
            done = list.at.end;
        }
        let rest = done..sql.len();
        form.elements.extend(std::iter::repeat_n(0, within(&rest)));
        form.sql.push_str(&sql[rest]);
        form
    }
}

fn list(node: &Node, sql: &str, borders: &[usize], params: &[usize]) -> Result<List> {
    let mut fields = node.fields()?;
    let of = fields.need("of")?;
    let element = of.text()?;
    let mut found = sql.match_indices(element).map(|(at, _)| at..at + element.len()).filter(|at| {
        !element.is_empty() && borders.contains(&at.start) && borders.contains(&at.end)
    });
    let (Some(at), None) = (found.next(), found.next()) else {
        return Err(of
            .wrong("it does not occur exactly once in the statement")
            .hint("give the element of the list as the statement has it: `:id`, `(:a, :b)`"));
    };
    if !params.iter().any(|param| at.contains(param)) {
        return Err(of.wrong("there is no parameter in it"));
    }
    let lengths = fields.need("lengths")?;
    let items = lengths.items()?;
    if !(1..=LENGTHS_MAX).contains(&items.len()) {
        let count = items.len();
        return Err(lengths.wrong(format_args!("{count} lengths: 1 to {LENGTHS_MAX} are allowed")));
    }
    let whole = |item: &Node| item.whole(1..=LENGTH_MAX).map(|length| length as u64);
    let lengths = items.iter().map(whole).collect::<Result<Vec<u64>>>()?;
    let weights = match fields.get("weights") {
        None => vec![1.0; lengths.len()],
        Some(node) => {
            let weights = node.items()?.iter().map(Node::weight).collect::<Result<Vec<f64>>>()?;
            if weights.len() != lengths.len() || weights.iter().sum::<f64>() <= 0.0 {
                let (weights, lengths) = (weights.len(), lengths.len());
                let why = format_args!("{weights} weights for {lengths} lengths, or all of them 0");
                return Err(node.wrong(why));
            }
            weights
        }
    };
    fields.finish()?;
    Ok(List { at, lengths, weights })
}
