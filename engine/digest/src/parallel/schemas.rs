//! Replication in parallel by schema: each schema's writes one after the other, schemas side by side.
//!
//! With t1 >= t2 >= ... the times that the schemas' writes take, nothing can be faster than t1: the
//! bound is their sum by t1. All n are busy for tn, exactly n - 1 for t(n-1) - tn, and so on.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What parallel replication by schema could bring.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Schemas {
    /// The schemas, the longest first.
    pub schemas: Vec<Schema>,
    /// Their sum.
    pub total_s: f64,
    /// Sum by longest: no number of workers can be faster.
    pub bound: f64,
    /// How long exactly so many would be busy, from 1; the shares are of the longest.
    pub busy: Vec<Busy>,
}

/// A schema's writes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Schema {
    /// Its name; empty: the log does not say.
    pub name: String,
    /// Writes.
    pub count: u64,
    /// What they took.
    pub time_s: f64,
}

/// Time with exactly so many schemas busy.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Busy {
    /// How many.
    pub schemas: u64,
    /// For how long.
    pub time_s: f64,
    /// Its share of the longest schema's time, which is all there is.
    pub share: f64,
}

impl Schemas {
    /// From writes and nanoseconds by schema; `None` if nothing took any time.
    pub fn of(writes: &BTreeMap<Vec<u8>, (u64, u64)>) -> Option<Self> {
        let mut schemas: Vec<Schema> = writes
            .iter()
            .map(|(name, &(count, ns))| Schema {
                name: String::from_utf8_lossy(name).into_owned(),
                count,
                time_s: ns as f64 / 1e9,
            })
            .collect();
        schemas.sort_by(|a, b| b.time_s.total_cmp(&a.time_s).then_with(|| a.name.cmp(&b.name)));
        let longest_s = schemas.first().map(|schema| schema.time_s).filter(|&s| s > 0.0)?;
        let total_s = schemas.iter().map(|schema| schema.time_s).sum::<f64>();
        let next = schemas.iter().skip(1).map(|schema| schema.time_s).chain([0.0]);
        let busy = schemas.iter().zip(next).zip(1..).map(|((schema, next_s), schemas)| {
            let time_s = schema.time_s - next_s;
            Busy { schemas, time_s, share: time_s / longest_s }
        });
        let busy = busy.filter(|busy| busy.time_s > 0.0).collect();
        Some(Self { total_s, bound: total_s / longest_s, busy, schemas })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times_s: &[f64]) -> Schemas {
        let writes =
            times_s.iter().zip(b'a'..).map(|(s, name)| (vec![name], (1, (s * 1e9) as u64)));
        Schemas::of(&writes.collect()).unwrap()
    }

    /// The published example, whose conclusion ("hardly 50 %") forgot the time with two busy.
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
        assert_eq!(Schemas::of(&BTreeMap::new()), None);
        assert_eq!(Schemas::of(&BTreeMap::from([(vec![], (5, 0))])), None);
    }
}
