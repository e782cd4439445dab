//! Builds the document from classes.

use crate::aggregate::class_id::id;
use crate::aggregate::classes::{Classes, DETAILED};
use crate::aggregate::grouping::GroupBy;
use crate::aggregate::order_by::OrderBy;
use crate::aggregate::per_class::details::{Details, Spread, Title, seconds};
use crate::aggregate::per_class::sums::{NO_DETAILS, Sums};
use crate::aggregate::stats::name_counts::Names;
use crate::aggregate::stats::quantile_sketch;
use crate::aggregate::stats::timeline::Frame;
use crate::document::{Censored, Concurrency, Timeline};
use crate::document::{
    Class, Distribution, Document, Input, Measured, Mergeable, SCHEMA_VERSION, Stats,
};
use crate::event::Unit;
use crate::sql::fingerprint::merge_names;
use std::collections::{BTreeMap, HashSet};

/// Limits of the list of classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Lists classes until they have this share of the total cost, 0 to 1.
    pub share: f64,
    /// The most classes to list.
    pub count: usize,
}

/// Options of the document.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The attribute by which events were grouped.
    pub group_by: GroupBy,
    /// The cost by which classes are ranked.
    pub order_by: OrderBy,
    /// How many classes to list.
    pub limit: Limit,
    /// Whether numbers and hashes in names were replaced by `?`.
    pub merges_names: bool,
}

/// Sums of some classes, or of all.
#[derive(Clone)]
struct Whole {
    sums: Sums,
    details: Option<Details>,
}

impl Whole {
    fn of<'a>(classes: impl Iterator<Item = &'a Sums>) -> Self {
        let mut sums = Sums::new(0, NO_DETAILS);
        classes.for_each(|class| sums.merge(class));
        Self { sums, details: None }
    }
}

/// Builds the document from everything read so far.
pub fn document(
    classes: &Classes,
    concurrency: Option<Concurrency>,
    asked: Asked,
    inputs: Vec<Input>,
    censored: Vec<Censored>,
) -> Document {
    let mut all: Vec<&Sums> = classes.sums.iter().collect();
    // Classes beyond the most costly ones have no name and are not listed, so they stay unsorted.
    let rank = |sums: &&Sums| std::cmp::Reverse((sums.cost, sums.count, sums.key));
    if all.len() > DETAILED {
        all.select_nth_unstable_by_key(DETAILED - 1, rank);
        all[..DETAILED].sort_unstable_by_key(rank);
    } else {
        all.sort_unstable_by_key(rank);
    }
    let overall = Whole::of(all.iter().copied());
    let listed = listed(&all, asked, &overall.sums);
    let times = &classes.overall.times;
    let rest = &all[listed..];
    Document {
        schema_version: SCHEMA_VERSION,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        group_by: asked.group_by.name().to_owned(),
        order_by: asked.order_by.name().to_owned(),
        inputs,
        censored,
        overall: stats(&overall.sums, Some(&classes.overall)),
        classes_total: all.len() as u64,
        merges_names: asked.merges_names,
        mergeable: mergeable(&all, classes, asked),
        classes: all[..listed]
            .iter()
            .enumerate()
            .map(|(at, sums)| class(at, sums, classes, &overall.sums, times.frame()))
            .collect(),
        rest: (!rest.is_empty()).then(|| rest_of(rest, classes)),
        timeline: (!times.is_empty()).then(|| {
            let frame = times.frame();
            Timeline {
                begin_unix_s: frame.begin_unix_s(),
                bucket_s: frame.bucket_s(),
                count: times.counts_in(frame),
                time_s: times.seconds_in(frame),
                gap_s: classes.gaps.longest_in(frame),
            }
        }),
        concurrency,
    }
}

/// The number of classes after merging names, among those with names; `None` if merging changes
/// nothing.
fn mergeable(all: &[&Sums], classes: &Classes, asked: Asked) -> Option<Mergeable> {
    if asked.merges_names || !asked.group_by.has_names() {
        return None;
    }
    let titles = all.iter().filter_map(|sums| classes.details(sums)?.title.as_deref());
    let (mut known, mut merged) = (HashSet::new(), Vec::new());
    let mut count = 0;
    for title in titles {
        merge_names(title.fingerprint.as_bytes(), &mut merged);
        if !known.contains(&merged) {
            known.insert(merged.clone());
        }
        count += 1;
    }
    let merged = known.len() as u64;
    (merged < count).then_some(Mergeable { classes: count, merged })
}

/// The number of classes to list, from the first.
fn listed(all: &[&Sums], asked: Asked, overall: &Sums) -> usize {
    let most = asked.limit.count.min(DETAILED).min(all.len());
    // If no class has a cost, the share is that of events.
    let by_count = all.first().is_none_or(|first| first.cost == 0);
    let cost = |sums: &Sums| if by_count { sums.count } else { sums.cost } as f64;
    let total: f64 =
        if by_count { overall.count as f64 } else { all.iter().map(|sums| cost(sums)).sum() };
    let mut so_far = 0.0;
    for (at, sums) in all[..most].iter().enumerate() {
        if asked.limit.share < 1.0 && so_far >= asked.limit.share * total {
            return at;
        }
        so_far += cost(sums);
    }
    most
}

/// Statistics of the classes that are not listed: with all measures if all of them have details of
/// every event.
fn rest_of(rest: &[&Sums], classes: &Classes) -> Stats {
    let mut whole = Whole::of(rest.iter().copied());
    let mut details = Details::default();
    let is_whole = rest.len() <= DETAILED
        && rest.iter().all(|sums| {
            classes.details(sums).is_some_and(|theirs| {
                details.merge(theirs);
                theirs.time.count == sums.timed
            })
        });
    whole.details = is_whole.then_some(details);
    stats(&whole.sums, whole.details.as_ref())
}

fn class(at: usize, sums: &Sums, classes: &Classes, overall: &Sums, frame: Frame) -> Class {
    let none = Details::default();
    let details = classes.details(sums).unwrap_or(&none);
    let unknown = Title {
        at: (0, 0),
        fingerprint: "(not kept: it came to be among the most costly classes at the end)"
            .to_owned(),
        pt_id: None,
        distill: String::new(),
        tables: Vec::new(),
    };
    let [users, hosts, databases, errors, plans] = details.names.each_ref().map(Names::map);
    let title = details.title.as_deref().unwrap_or(&unknown);
    Class {
        rank: at as u64 + 1,
        id: id(sums.key),
        pt_id: title.pt_id.clone(),
        fingerprint: title.fingerprint.clone(),
        distill: title.distill.clone(),
        tables: title.tables.clone(),
        time_share: (overall.time_ns > 0 && sums.timed > 0)
            .then(|| sums.time_ns as f64 / overall.time_ns as f64),
        v_m: variance_to_mean(&details.time),
        users,
        hosts,
        databases,
        error_codes: errors,
        plans,
        histogram: (details.time.count > 0).then_some(details.histogram),
        timeline_s: (!details.times.is_empty() && sums.timed > 0)
            .then(|| details.times.seconds_in(frame)),
        sample: details.sample.as_deref().cloned(),
        stats: stats(sums, Some(details)),
    }
}

fn stats(sums: &Sums, details: Option<&Details>) -> Stats {
    let moment = |ns: i64| (sums.first_ns <= sums.last_ns).then_some(ns as f64 / 1e9);
    Stats {
        count: sums.count,
        weighted_count: sums.weighted as f64,
        errors: u64::from(sums.errors),
        statement_bytes: sums.bytes,
        query_time: (sums.timed > 0).then(|| query_time(sums, details.map(|d| &d.time))),
        measures: details.map(measures).unwrap_or_default(),
        first_unix_s: moment(sums.first_ns),
        last_unix_s: moment(sums.last_ns),
    }
}

/// Query times: exact sums of all events, quantiles of the events in the sketch.
fn query_time(sums: &Sums, seen: Option<&Spread>) -> Distribution {
    let exact = Distribution {
        count: sums.timed,
        sum: seconds(sums.time_ns),
        min: seconds(sums.min_ns),
        max: seconds(sums.max_ns),
        mean: sums.time_ns as f64 / sums.timed_weighted as f64 / 1e9,
        stddev: None,
        p50: None,
        p95: None,
        p99: None,
        quantile_error: None,
        sketched: None,
    };
    let Some(seen) = seen.filter(|seen| seen.count > 0) else { return exact };
    let spread = distribution(seen, 1e-9);
    Distribution {
        stddev: spread.stddev,
        p50: spread.p50,
        p95: spread.p95,
        p99: spread.p99,
        quantile_error: spread.quantile_error,
        sketched: Some(seen.count as f64 / sums.timed as f64),
        ..exact
    }
}

fn measures(details: &Details) -> BTreeMap<String, Measured> {
    let of = |(measure, spread): &(crate::event::Measure, Spread)| {
        let unit = measure.unit();
        let scale = if unit == Unit::Ns { 1e-9 } else { 1.0 };
        (measure.name().to_owned(), Measured { unit, values: distribution(spread, scale) })
    };
    details.measures.iter().map(of).collect()
}

/// Distribution of the values multiplied by `scale`.
fn distribution(spread: &Spread, scale: f64) -> Distribution {
    let quantiles = spread.sketch.quantiles([0.5, 0.95, 0.99]);
    // The middle of a bucket may be outside the range of the values.
    let within = |value: f64| value.clamp(spread.min as f64, spread.max as f64) * scale;
    let quantile = |at: usize| quantiles.map(|values| within(values[at]));
    Distribution {
        count: spread.count,
        sum: spread.sum as f64 * scale,
        min: spread.min as f64 * scale,
        max: spread.max as f64 * scale,
        mean: mean(spread) * scale,
        stddev: Some(variance(spread).sqrt() * scale),
        p50: quantile(0),
        p95: quantile(1),
        p99: quantile(2),
        quantile_error: Some(quantile_sketch::ERROR),
        sketched: Some(1.0),
    }
}

fn mean(spread: &Spread) -> f64 {
    spread.sum as f64 / spread.weighted as f64
}

/// Population variance: (n * sum of squares - sum^2) / n^2, in integers as long as they fit, so
/// that subtraction loses no precision.
fn variance(spread: &Spread) -> f64 {
    let (count, sum) = (u128::from(spread.weighted), u128::from(spread.sum));
    let weighted = spread.weighted as f64;
    match count.checked_mul(spread.squares) {
        Some(product) => product.saturating_sub(sum * sum) as f64 / weighted / weighted,
        None => (spread.squares as f64 / weighted - mean(spread).powi(2)).max(0.0),
    }
}

fn variance_to_mean(time: &Spread) -> Option<f64> {
    (time.sum > 0).then(|| variance(time) / mean(time) / 1e9)
}
