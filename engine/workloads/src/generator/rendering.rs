//! What becomes of a histogram's numbers: values of their own sort, every n-th of a list of keys,
//! labels, or made-up texts.

use super::calendar;
use super::histogram::{Histogram, Sort};
use super::pattern::{Numbered, Pattern};
use crate::node::{Fields, Node};
use dyno_core::error::Result;
use dyno_core::workload::Form;

/// How a number is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Rendering {
    /// As the number, day or time that it is.
    Own,
    /// As the key with this number, counted from 1, of `count` keys evenly spaced over a range.
    Key { low: i64, span: u64, count: u64, sort: Sort },
    /// As the label with this number, counted from 1.
    Labels(Vec<Box<[u8]>>),
    /// As a text that belongs to this number; other numbers have others as far as the pattern has
    /// room.
    Text(Numbered),
}

impl Rendering {
    /// Reads `keys: [lowest, highest, count]`, `labels: [...]`, or `pattern: ...` with `lengths:
    /// [least, most]` and `count` of all numbers; at most one of them.
    pub fn read(histogram: &Histogram, fields: &mut Fields) -> Result<Self> {
        let (keys, labels) = (fields.get("keys"), fields.get("labels"));
        let (pattern, lengths) = (fields.get("pattern"), fields.get("lengths"));
        let count = fields.get("count");
        let given = [&keys, &labels, &pattern].iter().filter(|node| node.is_some()).count();
        if given > 1 {
            return Err(fields.node.wrong("it can have one of keys, labels and pattern"));
        }
        let (low, high) = histogram.ends();
        let is_counted = histogram.sort == Sort::Number(0) && low >= 1;
        if given == 1 && !is_counted {
            return Err(fields
                .node
                .wrong("keys, labels and pattern need a histogram of whole numbers from 1 on"));
        }
        if let (Some(node), None) = (lengths.as_ref().or(count.as_ref()), &pattern) {
            return Err(node.wrong("it belongs to a pattern"));
        }
        if let Some(node) = keys {
            return read_keys(&node, high);
        }
        if let Some(node) = labels {
            return read_labels(&node, high);
        }
        let Some(node) = pattern else { return Ok(Self::Own) };
        let pattern = Pattern::new(node.text()?).map_err(|why| node.wrong(why))?;
        let lengths = lengths.map(|node| read_lengths(&node)).transpose()?;
        if pattern.is_fixed() {
            return Err(node.wrong("it has none of #, @ and *: all texts would be the same"));
        }
        let count = count.map_or(Ok(high), |node| node.whole(high..=super::END_MAX))?;
        Ok(Self::Text(Numbered::new(pattern, count.unsigned_abs(), lengths)))
    }

    /// The common form of the values.
    pub fn form(&self, own: Sort) -> Form {
        match self {
            Self::Own => form(own),
            Self::Key { sort, .. } => form(*sort),
            Self::Labels(_) | Self::Text(_) => Form::Text,
        }
    }
}

fn form(sort: Sort) -> Form {
    match sort {
        Sort::Number(0) => Form::Int,
        Sort::Number(_) => Form::Decimal,
        Sort::Day | Sort::Second => Form::Text,
    }
}

fn read_keys(node: &Node, high: i64) -> Result<Rendering> {
    let parts = node.items()?;
    let [low, top, count] = &parts[..] else {
        return Err(node.wrong("keys are [lowest, highest, how many]"));
    };
    let read = |end: &Node| -> Result<(i64, Sort)> {
        if let Some(text) = end.value.as_str() {
            let day = calendar::day(text).map(|day| (day, Sort::Day));
            let found = day.or_else(|| Some((calendar::second(text)?, Sort::Second)));
            return found.ok_or_else(|| end.wrong("it is neither a day nor a time"));
        }
        Ok((end.whole(-super::END_MAX..=super::END_MAX)?, Sort::Number(0)))
    };
    let ((low, sort), (top, other)) = (read(low)?, read(top)?);
    if low > top || sort != other {
        return Err(node.wrong("the lowest key is above the highest, or of another sort"));
    }
    let span = top.abs_diff(low);
    let most = span.saturating_add(1).min(super::END_MAX as u64);
    let count = count.whole(1..=most as i64)?;
    if high > count {
        return Err(node.wrong(format_args!("the histogram goes to {high}, above {count} keys")));
    }
    Ok(Rendering::Key { low, span, count: count.unsigned_abs(), sort })
}

fn read_labels(node: &Node, high: i64) -> Result<Rendering> {
    let items = node.items()?;
    if (items.len() as i64) < high {
        let count = items.len();
        return Err(node.wrong(format_args!("the histogram goes to {high}, above {count} labels")));
    }
    let labels = items.iter().map(|item| item.text().map(|text| text.as_bytes().into()));
    Ok(Rendering::Labels(labels.collect::<Result<_>>()?))
}

fn read_lengths(node: &Node) -> Result<(usize, usize)> {
    let [least, most] = node.pair("lengths")?;
    let (least, most) = (least.whole(0..=1_000_000)?, most.whole(0..=1_000_000)?);
    if least > most {
        return Err(node.wrong("the least length is above the greatest"));
    }
    Ok((least as usize, most as usize))
}
