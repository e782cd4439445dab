//! Bounds parallel replication by schema: writes of one schema are serial, schemas are parallel.
//!
//! Let t1 >= t2 >= ... be the costs of the schemas' writes (time, or bytes if times are unknown).
//! Replication takes at least t1, so the speed-up is at most their sum divided by t1. All n schemas
//! are busy for tn, exactly n - 1 for t(n-1) - tn, and so on.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Unit of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Durations of statements, seconds.
    Seconds,
    /// Bytes in a binary log.
    Bytes,
}

/// Upper bound for parallel replication by schema.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Schemas {
    /// Unit of the costs.
    pub cost: Cost,
    /// The schemas, the most costly first.
    pub schemas: Vec<Schema>,
    /// Sum of the costs.
    pub total: f64,
    /// Upper bound of the speed-up for any number of workers: `total` divided by the largest cost.
    pub bound: f64,
    /// Time with exactly n busy schemas, by ascending n.
    pub busy: Vec<Busy>,
}

/// Writes of a schema.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Schema {
    /// Name of the schema; empty: unknown.
    pub name: String,
    /// Number of writing statements; in binary logs, of transactions.
    pub count: u64,
    /// Total cost of the writes.
    pub cost: f64,
}

/// Time with exactly n busy schemas.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Busy {
    /// Number of busy schemas.
    pub schemas: u64,
    /// Length of that time, in units of cost.
    pub cost: f64,
    /// Share of the total time, which is the largest cost of a schema; 0 to 1.
    pub share: f64,
}

impl Schemas {
    /// Computes the bound from the number of writes and their cost (nanoseconds or bytes) by schema; `None`
    /// if all costs are 0.
    pub fn of(cost: Cost, writes: &BTreeMap<Vec<u8>, (u64, u64)>) -> Option<Self> {
        let unit = if cost == Cost::Seconds { 1e9 } else { 1.0 };
        let mut schemas: Vec<Schema> = writes
            .iter()
            .map(|(name, &(count, cost))| Schema {
                name: String::from_utf8_lossy(name).into_owned(),
                count,
                cost: cost as f64 / unit,
            })
            .collect();
        schemas.sort_by(|a, b| b.cost.total_cmp(&a.cost).then_with(|| a.name.cmp(&b.name)));
        let longest = schemas.first().map(|schema| schema.cost).filter(|&cost| cost > 0.0)?;
        let total = schemas.iter().map(|schema| schema.cost).sum::<f64>();
        let next = schemas.iter().skip(1).map(|schema| schema.cost).chain([0.0]);
        let busy = schemas.iter().zip(next).zip(1..).map(|((schema, next), schemas)| {
            let cost = schema.cost - next;
            Busy { schemas, cost, share: cost / longest }
        });
        let busy = busy.filter(|busy| busy.cost > 0.0).collect();
        Some(Self { cost, total, bound: total / longest, busy, schemas })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times_s: &[f64]) -> Schemas {
        let writes =
            times_s.iter().zip(b'a'..).map(|(s, name)| (vec![name], (1, (s * 1e9) as u64)));
        Schemas::of(Cost::Seconds, &writes.collect()).unwrap()
    }

    /// The published example, whose conclusion ("hardly 50 %") ignored the time with two busy schemas.
    #[test]
    fn the_bound_is_the_sum_by_the_longest() {
        let found = of(&[203.4649, 791.6195, 525.1231]);
        assert_eq!(format!("{:.2}", found.bound), "1.92");
        let shares: Vec<_> =
            found.busy.iter().map(|b| (b.schemas, format!("{:.1}", b.share * 100.0))).collect();
        let expected = [(1, "33.7"), (2, "40.6"), (3, "25.7")];
        assert_eq!(shares, expected.map(|(n, share)| (n, share.to_owned())));
        assert_eq!(found.schemas[0].name, "b");
    }

    #[test]
    fn one_schema_gains_nothing() {
        assert_eq!(of(&[3.0]).bound, 1.0);
        assert_eq!(of(&[3.0, 0.0]).busy.len(), 1);
        assert_eq!(Schemas::of(Cost::Bytes, &BTreeMap::new()), None);
        assert_eq!(Schemas::of(Cost::Bytes, &BTreeMap::from([(vec![], (5, 0))])), None);
    }
}
