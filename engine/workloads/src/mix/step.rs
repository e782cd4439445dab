//! A step of a transaction: a statement, or a random one of several.
//!
//! In `{one_of: [branch, ...], repeat, choice}`, a branch is SQL or a mapping like a step's, plus
//! `weight`; a branch without `sql` sends nothing. Steps of a transaction with the same `choice` send
//! the branch at the same position.

use super::line::{self, Context, Line};
use crate::choice::Choice;
use crate::node::{Node, check_name};
use dyno_core::error::Result;

/// Maximum number of branches of a step.
const BRANCHES_MAX: usize = 1000;
/// Maximum number of named choices in a transaction.
pub const CHOICES_MAX: usize = 64;

/// A parsed step.
#[derive(Debug)]
pub struct Step {
    /// The statements to choose from.
    pub branches: Vec<Line>,
    /// How the step chooses its branch.
    pub pick: Pick,
    /// Number of repetitions, each of which chooses a branch again.
    pub repeat: u32,
}

/// How a step chooses its branch.
#[derive(Debug, Clone)]
pub enum Pick {
    /// Independently of other steps.
    Own(Choice),
    /// By an index into [`Steps::choices`], together with other steps.
    Shared(u16),
}

/// The steps of a transaction.
#[derive(Debug, Default)]
pub struct Steps {
    /// The steps in order of execution.
    pub steps: Vec<Step>,
    /// Choices that steps share, each drawn once per transaction.
    pub choices: Vec<Choice>,
}

impl Steps {
    /// A transaction of a single statement.
    pub fn of(line: Line) -> Self {
        Self { steps: vec![Step::of(line)], choices: vec![] }
    }
}

impl Step {
    /// A step of a single statement.
    pub fn of(line: Line) -> Self {
        Self { branches: vec![line], pick: Pick::Own(Choice::even(1)), repeat: 1 }
    }

    /// Whether a branch may change data.
    pub fn writes(&self) -> bool {
        self.branches.iter().any(Line::writes)
    }

    /// Maximum number of statements that the step sends.
    pub fn operations(&self) -> u32 {
        self.repeat * self.branches.iter().map(|line| line.repeat).max().unwrap_or(0)
    }
}

/// A named choice, while the steps are parsed.
struct Shared<'a> {
    name: &'a str,
    weights: Vec<f64>,
}

/// Reads the steps of transaction `name`.
pub fn read(name: &str, node: &Node, context: &Context) -> Result<Steps> {
    let mut read = Steps::default();
    let mut shared: Vec<Shared> = Vec::new();
    for (number, item) in node.items()?.iter().enumerate() {
        let class = format!("{name}_{}", number + 1);
        let step = match item.value.get("one_of") {
            None => Step::of(line::step(&class, item, context)?),
            Some(_) => one_of(&class, item, context, &mut shared)?,
        };
        read.steps.push(step);
    }
    if read.steps.is_empty() {
        return Err(node.wrong("a transaction has at least one step"));
    }
    // `one_of` rejects weights that are all 0.
    let choice = |shared: &Shared| Choice::weighted(&shared.weights);
    read.choices = shared.iter().filter_map(choice).collect();
    Ok(read)
}

fn one_of<'a>(
    class: &str,
    node: &Node<'a>,
    context: &Context,
    shared: &mut Vec<Shared<'a>>,
) -> Result<Step> {
    let mut fields = node.fields()?;
    let list = fields.need("one_of")?;
    let items = list.items()?;
    if !(1..=BRANCHES_MAX).contains(&items.len()) {
        let count = items.len();
        return Err(list.wrong(format_args!("{count} branches: 1 to {BRANCHES_MAX} are allowed")));
    }
    let read = |(at, item): (usize, &Node)| branch(&format!("{class}_{}", at + 1), item, context);
    let branches = items.iter().enumerate().map(read).collect::<Result<Vec<_>>>()?;
    let (weights, branches): (Vec<f64>, Vec<Line>) = branches.into_iter().unzip();
    let (Some(choice), true) = (
        Choice::weighted(&weights),
        branches.iter().zip(&weights).any(|(line, weight)| line.repeat > 0 && *weight > 0.0),
    ) else {
        return Err(list.wrong("it has no statement with a weight above 0"));
    };
    let pick = match fields.get("choice") {
        None => Pick::Own(choice),
        Some(name) => Pick::Shared(shared_by(&name, weights, shared)?),
    };
    let repeat = fields.get("repeat").map_or(Ok(1), |node| node.whole(1..=line::REPEAT_MAX))?;
    fields.finish()?;
    let most = branches.iter().map(|line| i64::from(line.repeat)).max().unwrap_or(0) * repeat;
    if most > line::REPEAT_MAX {
        let allowed = line::REPEAT_MAX;
        return Err(node.wrong(format_args!("{most} statements in a row, {allowed} allowed")));
    }
    Ok(Step { branches, pick, repeat: repeat as u32 })
}

/// Reads a branch: its weight and its statement.
fn branch(class: &str, node: &Node, context: &Context) -> Result<(f64, Line)> {
    if node.value.is_string() {
        return Ok((1.0, line::step(class, node, context)?));
    }
    let mut fields = node.fields()?;
    let weight = fields.get("weight").map_or(Ok(1.0), |node| node.weight())?;
    let line = match fields.get("sql") {
        None => Line::nothing(),
        Some(_) => line::of_step(class, &mut fields, context)?,
    };
    fields.finish()?;
    Ok((weight, line))
}

/// Index of the choice named in `node`, which is added if absent. Fails if other steps use it with
/// different weights.
fn shared_by<'a>(node: &Node<'a>, weights: Vec<f64>, shared: &mut Vec<Shared<'a>>) -> Result<u16> {
    let name = node.text()?;
    check_name(node, name, "choice")?;
    if let Some(known) = shared.iter().position(|other| other.name == name) {
        if shared[known].weights != weights {
            return Err(node
                .wrong(format_args!("steps that share the choice {name} have other weights"))
                .hint("give all of them as many branches, with the same weights"));
        }
        return Ok(known as u16);
    }
    if shared.len() >= CHOICES_MAX {
        return Err(node.wrong(format_args!("{CHOICES_MAX} choices that steps share are the most")));
    }
    shared.push(Shared { name, weights });
    Ok((shared.len() - 1) as u16)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error, mix, sent};
    use serde_json::{Value, json};
    use std::collections::{BTreeMap, BTreeSet};

    /// Reads one of two tables two or three times, sometimes sends another read, then deletes a row of one
    /// table and inserts it again.
    fn tables() -> Value {
        json!({
            "params": {
                "a": {"uniform": [1, 1_000_000]}, "b": {"uniform": [1, 1_000_000]},
                "id": {"uniform": [1, 1_000_000], "per": "statement"},
                "n": {"sequence": 1, "per": "statement"},
            },
            "transactions": {"t": {"steps": [
                {"one_of": [
                    {"sql": "SELECT 1 FROM a WHERE id = :id", "name": "read", "repeat": 3, "weight": 3},
                    {"sql": "SELECT 1 FROM b WHERE id = :id", "name": "read", "repeat": 2},
                ]},
                {"one_of": ["SELECT 2", {"weight": 4}]},
                {"choice": "table", "one_of": ["DELETE FROM a WHERE id = :a", "DELETE FROM b WHERE id = :b"]},
                {"repeat": 3, "one_of": ["SELECT 3 FROM t WHERE n = :n", "SELECT 4 FROM t WHERE n = :n"]},
                {"choice": "table", "one_of": ["INSERT INTO a VALUES (:a)", "INSERT INTO b VALUES (:b)"]},
            ]}},
        })
    }

    #[test]
    fn a_step_sends_one_of_its_branches_by_weight() {
        let workload = mix(tables());
        let (mut reads, mut extra) = (BTreeMap::new(), 0);
        for index in 0..4000 {
            let ops = sent(&*workload, 0, index);
            let read = ops.iter().filter(|(class, _)| class == "read");
            let ids: BTreeSet<&String> = read.clone().map(|(_, values)| &values[0]).collect();
            assert_eq!(ids.len(), read.clone().count(), "each statement draws its own");
            *reads.entry(read.count()).or_insert(0u32) += 1;
            extra += u32::from(ops.iter().any(|(class, _)| class == "t_2_1"));
        }
        assert_eq!(reads.keys().copied().collect::<Vec<_>>(), [2, 3]);
        assert!(reads[&3].abs_diff(3000) < 140, "{reads:?}");
        assert!(extra.abs_diff(800) < 130, "{extra}");
    }

    #[test]
    fn steps_with_one_choice_take_branches_of_the_same_position() {
        let workload = mix(tables());
        let mut tables = BTreeMap::new();
        for index in 0..1000 {
            let ops = sent(&*workload, 1, index);
            let [.., (delete, gone), _, _, _, (insert, new), _] = &ops[..] else {
                panic!("{ops:?}")
            };
            assert_eq!((delete.replace("t_3", "t_5"), gone), (insert.clone(), new));
            *tables.entry(insert.clone()).or_insert(0u32) += 1;
        }
        assert!(tables.len() == 2 && tables["t_5_1"].abs_diff(500) < 80, "{tables:?}");
    }

    #[test]
    fn repetitions_choose_anew_and_sequences_go_on_over_all_branches() {
        let workload = mix(tables());
        let (mut numbers, mut mixed) = (BTreeSet::new(), 0);
        for index in 0..500 {
            let ops = sent(&*workload, 2, index);
            let of: Vec<_> = ops.iter().filter(|(class, _)| class.starts_with("t_4")).collect();
            assert_eq!(of.len(), 3);
            mixed += u32::from(of.iter().any(|(class, _)| *class != of[0].0));
            assert!(of.iter().all(|(_, values)| numbers.insert(values[0].clone())));
        }
        assert!(mixed.abs_diff(375) < 50, "{mixed}");
    }

    #[test]
    fn a_transaction_writes_if_a_branch_of_it_does() {
        use dyno_core::workload::Effect;
        let begins = |branch: &str| {
            let step = json!({"one_of": ["SELECT 1", branch]});
            mix(json!({"transactions": {"t": {"steps": [step]}}})).requests()[0].effect
        };
        assert_eq!(begins("SELECT 2"), Effect::BeginRead);
        assert_eq!(begins("DELETE FROM t"), Effect::BeginWrite);
    }

    #[test]
    fn steps_that_cannot_choose_are_refused_with_their_place() {
        let of = |step: Value| json!({"transactions": {"t": {"steps": [step]}}});
        let both = |one: Value, other: Value| {
            let step = |branches: Value| json!({"choice": "c", "one_of": branches});
            json!({"transactions": {"t": {"steps": [step(one), step(other)]}}})
        };
        for (options, expected) in [
            (of(json!({"one_of": []})), "steps.0.one_of of workload mix: 0 branches: 1 to 1000"),
            (of(json!({"one_of": [{"weight": 1}]})), "it has no statement with a weight above 0"),
            (
                of(json!({"one_of": [{"sql": "SELECT 1", "weight": 0}, {}]})),
                "steps.0.one_of of workload mix: it has no statement with a weight above 0",
            ),
            (
                of(json!({"one_of": ["SELECT 1"], "sql": "SELECT 2"})),
                "steps.0 of workload mix: it has no field sql: its fields are one_of, choice, repeat",
            ),
            (
                of(json!({"one_of": [{"name": "a"}]})),
                "steps.0.one_of.0 of workload mix: it has no field name",
            ),
            (
                of(json!({"one_of": [{"sql": "SELECT 1", "repeat": 200}], "repeat": 100})),
                "steps.0 of workload mix: 20000 statements in a row, 10000 allowed",
            ),
            (
                both(json!(["SELECT 1", {}]), json!(["SELECT 1"])),
                "steps.1.choice of workload mix: steps that share the choice c have other weights",
            ),
        ] {
            let message = error(options.clone());
            assert!(message.contains(expected), "{options}: {message}");
        }
    }
}
