//! One example of each class of statements, with literals, for programs that explain its plan; and the
//! classes' indices in the results.

use crate::metrics::group::OTHER;
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{
    Command, Dialect, Effect, Request, Sql, Transaction, Value, Workload, put_decimal,
};

/// Maximum number of classes with their own histograms in a plan; the rest counts as `other`.
pub const CLASSES_MAX: usize = 64;
/// Number of transactions searched for examples: a class rarer than this has none.
const TRANSACTIONS: u64 = 2_000;
/// Maximum number of stages searched in each transaction.
const STAGES_MAX: u32 = 100;

/// Classes of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// Names of the classes, by index.
    pub names: Vec<String>,
    /// Index of each statement's class.
    pub of: Vec<u8>,
}

/// Gives each class of `statements` an index while fewer than `left` are taken; several statements
/// may share a class (one a table). The rest shares `other`.
pub fn classes(statements: &[Request], left: &mut usize) -> Classes {
    let mut names: Vec<String> = Vec::new();
    let mut of = Vec::with_capacity(statements.len());
    for statement in statements {
        let mut name = statement.class.as_str();
        if !names.iter().any(|known| known == name) {
            if *left == 0 {
                name = OTHER;
            } else {
                *left -= 1;
            }
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        let place = names.iter().position(|known| known == name).unwrap_or(0);
        of.push(place as u8);
    }
    Classes { names, of }
}

/// Returns (class, statement with literals) for each class that returns or changes rows; `statements`
/// are in SQL.
pub fn examples(
    workload: &dyn Workload,
    statements: &[Request],
    dialect: Dialect,
) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut wanted: Vec<&str> = Vec::new();
    for statement in statements.iter().filter(|s| is_shown(s)) {
        if !wanted.contains(&statement.class.as_str()) {
            wanted.push(&statement.class);
        }
    }
    let mut transaction = Transaction::default();
    for index in 0..TRANSACTIONS {
        if wanted.is_empty() {
            break;
        }
        compose(workload, statements, index, &mut transaction);
        for op in &transaction.ops {
            let statement = &statements[usize::from(op.request)];
            if let Some(place) = wanted.iter().position(|class| *class == statement.class) {
                wanted.remove(place);
                let values = transaction.values_of(op);
                found.push((
                    statement.class.clone(),
                    with_literals(statement.sql(), values, &transaction, dialect),
                ));
            }
        }
    }
    found
}

/// Whether it is a statement of SQL that returns or changes rows.
fn is_shown(statement: &Request) -> bool {
    matches!(statement.effect, Effect::Read | Effect::Write)
        && matches!(statement.command, Command::Sql(_))
}

/// Composes transaction `index` of session 0 with all its stages, without any answers.
fn compose(workload: &dyn Workload, statements: &[Request], index: u64, tx: &mut Transaction) {
    tx.clear();
    workload.fill(0, index, tx);
    let (mut stage, mut seen, mut answers) = (1, 0, Vec::new());
    while seen < tx.ops.len() && stage <= STAGES_MAX {
        let kept = tx.ops[seen..].iter().filter(|op| statements[usize::from(op.request)].keeps);
        answers.extend(kept.map(|_| Rows::unknown()));
        seen = tx.ops.len();
        workload.more(0, index, stage, &answers, tx);
        stage += 1;
    }
}

/// The statement with its values inserted as literals.
fn with_literals(sql: &Sql, values: &[Value], of: &Transaction, dialect: Dialect) -> String {
    sql.with(|param, out| match values.get(param) {
        Some(value) => put_literal(value, of, dialect, out),
        None => out.push('?'),
    })
}

fn put_literal(value: &Value, of: &Transaction, dialect: Dialect, out: &mut String) {
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Double(value) => out.push_str(&format!("{value:e}")),
        Value::Bool(value) => out.push_str(if *value { "TRUE" } else { "FALSE" }),
        Value::Decimal { unscaled, scale } => {
            let mut digits = Vec::new();
            put_decimal(*unscaled, *scale, &mut digits);
            out.push_str(&String::from_utf8_lossy(&digits));
        }
        Value::Text(range) => {
            let text = String::from_utf8_lossy(of.text_of(range)).replace('\'', "''");
            // Only MySQL interprets a backslash inside quotes as an escape.
            let text = if dialect == Dialect::Mysql { text.replace('\\', "\\\\") } else { text };
            out.push('\'');
            out.push_str(&text);
            out.push('\'');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(class: &'static str, sql: &str) -> Request {
        Request::new(class, Effect::Read, sql, vec![])
    }

    #[test]
    fn literals_are_quoted_as_the_dialect_wants() {
        let mut transaction = Transaction::default();
        transaction.int(-5);
        transaction.text(|text| text.extend_from_slice(b"it's a \\"));
        transaction.op(0);
        let values = transaction.values_of(&transaction.ops[0]);
        let sql = "UPDATE t SET c = ? WHERE d = ? AND e = 1";
        let show = |dialect| with_literals(&sql.into(), values, &transaction, dialect);
        assert_eq!(show(Dialect::Postgres), "UPDATE t SET c = -5 WHERE d = 'it''s a \\' AND e = 1");
        assert_eq!(show(Dialect::Mysql), "UPDATE t SET c = -5 WHERE d = 'it''s a \\\\' AND e = 1");
    }

    #[test]
    fn statements_share_classes_and_surplus_ones_are_other() {
        let statements =
            [statement("a", ""), statement("b", ""), statement("a", ""), statement("c", "")];
        let mut left = 2;
        let classes = classes(&statements, &mut left);
        assert_eq!(classes.names, ["a", "b", "other"]);
        assert_eq!((classes.of, left), (vec![0, 1, 0, 2], 0));
    }
}
