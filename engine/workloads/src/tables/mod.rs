//! `tables`: creates and populates declared tables. It sends no statements; use `mix` for that.
//!
//! | file | noun |
//! |---|---|
//! | `declared.rs` | a table's declaration and its SQL |
//! | `position.rs` | where in its histogram a column's value lies: correlation |
//! | `types.rs` | column types in every dialect |
//!
//! Option `tables` (name: `{rows, columns, indexes}`, or `{rows, columns, existing: true}` for a
//! table that files of SQL have made). A column is `{type, key: primary, null}` plus
//! the fields of a value generator; a sequence numbers the rows. Columns are NOT NULL unless `null` is
//! true or the generator returns NULLs. An index is a list of columns or `{columns, unique}`; it is
//! built after the rows are loaded. Names are unquoted ASCII identifiers.
//!
//! Row n of a table is a pure function of (seed, table name, n).

mod declared;
mod position;
#[cfg(test)]
mod tests;
mod types;

use crate::node::Node;
use declared::Declared;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::random::rng::Rng;
use dyno_core::request::capability::Capability;
use dyno_core::workload::{
    Dialect, Order, Request, RowSink, Table, Transaction, Value, Workload, WorkloadKind,
};
use position::Place;
use std::ops::Range;

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: "tables",
    about: "declared tables with generated rows; loads only",
    needs: &[Capability::Sql, Capability::Populate],
    build,
};

const NAME: &str = "tables";
const TABLES_MAX: usize = 1000;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    if let Some(unknown) = order.options.keys().find(|name| *name != NAME) {
        let what = format!("workload {NAME} has no option {unknown}");
        return Err(Error::new(Kind::Plan, what).hint("its only option is tables"));
    }
    let Some(value) = order.options.get(NAME) else {
        return Err(Error::new(Kind::Plan, "workload tables has no tables")
            .hint("give option tables: a mapping of names to {rows, columns, indexes}"));
    };
    let node = Node::new(NAME, NAME, value);
    let members = node.members()?;
    if members.is_empty() || members.len() > TABLES_MAX {
        let count = members.len();
        return Err(node.wrong(format_args!("{count} tables: 1 to {TABLES_MAX} are allowed")));
    }
    let read = |(name, node): (&str, Node)| Declared::read(name, &node, order.dialect);
    let tables = members.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(Tables { tables, dialect: order.dialect, seed: order.seed }))
}

struct Tables {
    tables: Vec<Declared>,
    dialect: Dialect,
    seed: u64,
}

/// FNV-1a hash of the table's name, the table's part of the row seed. It depends on the name alone,
/// so that other declarations do not change the table's rows.
fn number_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Workload for Tables {
    fn requests(&self) -> Vec<Request> {
        Vec::new()
    }

    /// Never called, since a workload without statements is not run.
    fn fill(&self, _: u32, _: u64, _: &mut Transaction) {}

    fn changes_data(&self) -> bool {
        false
    }

    fn tables(&self) -> Vec<Table> {
        self.tables.iter().map(|table| table.table(self.dialect)).collect()
    }

    fn rows(&self, table: usize, rows: Range<u64>, sink: &mut dyn RowSink) {
        let Declared { name, columns, rows: all, .. } = &self.tables[table];
        let number = number_of(name);
        let mut text = Vec::new();
        let mut positions = vec![0.0; columns.len()];
        let histograms: Vec<_> = columns.iter().map(|one| one.generator.histogram()).collect();
        for row in rows {
            let mut rng = Rng::for_row(self.seed, number, row);
            for (at, column) in columns.iter().enumerate() {
                text.clear();
                let value = match &column.position {
                    None => column.generator.draw(row, &mut rng, &mut text),
                    Some(position) => {
                        let place = Place {
                            row,
                            rows: *all,
                            histograms: &histograms,
                            positions: &positions,
                        };
                        let (number, position) = position.draw(at, place, &mut rng);
                        positions[at] = position;
                        column.generator.render(number, &mut rng, &mut text)
                    }
                };
                match value {
                    Value::Null => sink.null(),
                    Value::Int(value) => sink.int(value),
                    Value::Decimal { unscaled, scale } => sink.decimal(unscaled, scale),
                    Value::Double(value) => sink.double(value),
                    // The only spelling that every server accepts from a file.
                    Value::Bool(value) => sink.int(i64::from(value)),
                    Value::Text(_) => sink.text(&text),
                }
            }
            sink.end_row();
        }
    }
}
