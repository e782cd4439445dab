//! Builds a plan's groups: workload, drivers, requests, classes and arrivals of each, and the
//! assignment of sessions to load threads.

use crate::audit::workload::{Audited, Carrier};
use crate::machine;
use crate::metrics::thread::ThreadMetrics;
use crate::pacing::arrival_source::ArrivalSource;
use crate::pacing::arrivals::Stream;
use crate::pacing::due_count::DueCount;
use crate::pacing::replay::{Replay, ReplayState};
use crate::pacing::think_time::ThinkTime;
use crate::reactor::control::{GroupTargets, Server};
use crate::reactor::plan::lanes::NODES_MAX;
use crate::session::GroupConfig;
use crate::setup::examples::{CLASSES_MAX, Classes, classes, examples};
use crate::transport::endpoint::Endpoint;
use dyno_core::driver::needs;
use dyno_core::driver::{Driver, DriverKind, Router, Session};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::event::Event;
use dyno_core::plan::{Group, Plan, Target, ThinkPer};
use dyno_core::request::capability::Capability;
use dyno_core::request::{Request, in_sql};
use dyno_core::workload::history;
use dyno_core::workload::{Dialect, Effect, Order, Workload, WorkloadKind};
use std::sync::Arc;

/// Maximum number of transaction kinds that a workload may distinguish.
const KINDS_MAX: usize = 16;

/// How load threads drive a group's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    Network,
    Thread { in_process: bool },
}

/// A group's parts, owned for the whole trial.
pub(crate) struct Built {
    pub workload: Box<dyn Workload>,
    pub requests: Arc<[Request]>,
    pub classes: Classes,
    /// Kinds of its transactions; their histograms follow those of the classes.
    pub kinds: Vec<String>,
    pub dialect: Dialect,
    pub speaks_sql: bool,
    /// At least one, all of one nature.
    pub backends: Vec<Backend>,
    pub nature: Nature,
    /// Which of the backends each operation is sent to, if they are nodes of a cluster. Otherwise
    /// each session has one of them.
    pub router: Option<Box<dyn Router>>,
    pub arrival_source: Option<ArrivalSource>,
    /// Which operations carry identities, if commits are audited.
    pub audit: Option<Carrier>,
    /// Whether the history is recorded.
    pub history: bool,
    /// State of the replay, if the workload is one.
    pub stage: ReplayState,
}

impl Built {
    /// Number of histograms of classes and kinds.
    fn histograms(&self) -> usize {
        self.classes.names.len() + self.kinds.len()
    }

    /// Most connections that a session has.
    pub fn connections(&self) -> usize {
        if self.router.is_some() { self.backends.len() } else { 1 }
    }

    /// The replay, if the workload is one.
    pub fn replay(&self) -> Option<Replay<'_>> {
        let recording = self.workload.recording()?;
        Some(Replay { recording, stage: &self.stage })
    }

    /// Source of its arrivals, if it is an open loop or a paced replay.
    pub fn due(&self) -> Option<DueCount<'_>> {
        let recorded = || self.replay().filter(|replay| replay.recording.is_paced());
        self.arrival_source
            .as_ref()
            .map(DueCount::Drawn)
            .or_else(|| recorded().map(DueCount::Recorded))
    }
}

/// One of a group's targets.
pub(crate) struct Backend {
    pub driver: Box<dyn Driver>,
    pub endpoint: Option<Endpoint>,
}

/// Builds all groups of a checked plan.
pub(crate) fn build(
    plan: &Plan,
    drivers: &[&DriverKind],
    workloads: &[&WorkloadKind],
) -> Result<Vec<Built>> {
    let mut classes_left = CLASSES_MAX;
    let group = |(number, group): (usize, &Group)| {
        build_group(plan, number, group, drivers, workloads, &mut classes_left)
            .map_err(|e| Error { what: format!("groups.{}: {}", group.name, e.what), ..e })
    };
    let has = |one: fn(&Group) -> bool| plan.groups.iter().any(one);
    if has(|group| group.audit) && has(|group| group.history) {
        return Err(Error::new(Kind::Plan, "groups have both `audit` and `history`")
            .hint("a load has one log: use one of them"));
    }
    plan.groups.iter().enumerate().map(group).collect()
}

fn build_group(
    plan: &Plan,
    number: usize,
    group: &Group,
    drivers: &[&DriverKind],
    workloads: &[&WorkloadKind],
    classes_left: &mut usize,
) -> Result<Built> {
    let driver_kind = driver_kind(plan, group, drivers)?;
    let workload_kind =
        workloads.iter().find(|kind| kind.name == group.workload).ok_or_else(|| {
            let known: Vec<&str> = workloads.iter().map(|kind| kind.name).collect();
            Error::new(Kind::Plan, format!("there is no workload {}", group.workload))
                .hint(format!("this engine has {}", known.join(", ")))
        })?;
    let workload = (workload_kind.build)(&Order {
        options: &group.options,
        dialect: driver_kind.dialect,
        seed: plan.seed,
        // An open loop numbers its transactions consecutively over all sessions.
        sessions: if group.arrivals.is_some() { 1 } else { group.sessions },
    })?;
    let (workload, audit) = audited(group, driver_kind, workload)?;
    check_history(number, group, &*workload)?;
    let requests: Arc<[Request]> = workload.requests().into();
    if requests.is_empty() {
        let what = format!("workload {} only loads: it sends nothing", group.workload);
        return Err(Error::new(Kind::Plan, what).hint("run another one on its tables, such as mix"));
    }
    needs::check(driver_kind, workload_kind, &requests, workload.pipeline())?;
    check_pipeline(group, &*workload, &requests)?;
    let kinds = workload.kinds();
    assert!(kinds.len() <= KINDS_MAX, "a workload tells too many kinds of transactions apart");
    if group.arrivals.is_some() && workload.pauses() {
        let what = format!("workload {} pauses, and the group has arrivals", group.workload);
        return Err(Error::new(Kind::Plan, what)
            .hint("pauses are those of a closed loop: leave one of them out"));
    }
    let (mut backends, mut nature) = (Vec::new(), Nature::Network);
    let targets = targets(plan, group, &*workload)?;
    let (drivers, router) = drivers_of(driver_kind, &targets, &requests, workload.pipeline())?;
    for (target, driver) in targets.iter().zip(drivers) {
        let endpoint = match driver.session(0)? {
            Session::Wire(_) => Some(Endpoint::resolve(target)?),
            Session::Timed(_) => None,
            Session::Blocking(_) => {
                nature = Nature::Thread { in_process: driver.in_process() };
                None
            }
        };
        backends.push(Backend { driver, endpoint });
    }
    let stream = |arrivals| {
        ArrivalSource::new(Stream::new(arrivals, plan.seed, number as u32, plan.warmup_s))
    };
    Ok(Built {
        classes: classes(&requests, classes_left),
        kinds,
        workload,
        requests,
        dialect: driver_kind.dialect,
        speaks_sql: driver_kind.capabilities.contains(&Capability::Sql),
        backends,
        nature,
        router,
        arrival_source: group.arrivals.as_ref().map(stream),
        audit,
        history: group.history,
        stage: ReplayState::default(),
    })
}

/// The driver of each of a group's targets, and what routes over these.
type Drivers = (Vec<Box<dyn Driver>>, Option<Box<dyn Router>>);

/// The driver of each target, and what routes operations over them if they are nodes of a cluster.
fn drivers_of(
    kind: &DriverKind,
    targets: &[Target],
    requests: &Arc<[Request]>,
    pipeline: u32,
) -> Result<Drivers> {
    let routed = kind.routed.map_or(Ok(None), |build| build(targets, Arc::clone(requests)))?;
    let Some(routed) = routed else {
        let driver = |target| (kind.build)(target, Arc::clone(requests));
        return Ok((targets.iter().map(driver).collect::<Result<_>>()?, None));
    };
    if pipeline > 1 {
        let what = "`pipeline` means nothing to a cluster: its keys belong to different nodes";
        return Err(Error::new(Kind::Plan, what).hint("set pipeline to 1"));
    }
    if routed.drivers.len() > NODES_MAX {
        let what = format!("a cluster of {} nodes", routed.drivers.len());
        return Err(Error::new(Kind::Plan, what).hint(format!("at most {NODES_MAX} are possible")));
    }
    Ok((routed.drivers, Some(routed.router)))
}

/// Refuses the history of a workload that has none, and what its values could not distinguish.
fn check_history(number: usize, group: &Group, workload: &dyn Workload) -> Result<()> {
    if !group.history {
        return Ok(());
    }
    let wrong = if !workload.has_history() {
        format!("workload {} has none", group.workload)
    } else if group.audit {
        "its commits are audited, and a load has one log".to_owned()
    } else if group.sessions > history::SESSIONS_MAX {
        format!("it has {} sessions, at most {}", group.sessions, history::SESSIONS_MAX)
    } else if group.retries > history::ATTEMPT_MAX {
        format!("it has {} retries, at most {}", group.retries, history::ATTEMPT_MAX)
    } else if number >= history::GROUPS_MAX {
        format!("it is not among the first {} groups", history::GROUPS_MAX)
    } else {
        return Ok(());
    };
    Err(Error::new(Kind::Plan, format!("`history` cannot be recorded: {wrong}"))
        .hint("record the history of the workloads register, append and bank"))
}

/// Refuses pauses between operations that are sent together, and asserts what a workload that
/// pipelines promises.
fn check_pipeline(group: &Group, workload: &dyn Workload, requests: &[Request]) -> Result<()> {
    if workload.pipeline() <= 1 {
        return Ok(());
    }
    let independent = |request: &Request| !request.keeps && request.expect.is_none();
    assert!(requests.iter().all(independent) && workload.kinds().is_empty(), "answers matter");
    if group.think.as_ref().is_some_and(|think| think.per == ThinkPer::Operation) {
        let what = "`think` before each operation means nothing with `pipeline`";
        return Err(Error::new(Kind::Plan, what)
            .hint("operations are sent in one write: let sessions think between transactions"));
    }
    Ok(())
}

/// The workload, with identities in its transactions if the group's commits are audited and some of
/// them write; and which operations carry them.
fn audited(
    group: &Group,
    driver: &DriverKind,
    workload: Box<dyn Workload>,
) -> Result<(Box<dyn Workload>, Option<Carrier>)> {
    if !group.audit {
        return Ok((workload, None));
    }
    let has = |need| driver.capabilities.contains(need);
    let in_rows = [Capability::Sql, Capability::Transactions].iter().all(has);
    if !in_rows && !has(&Capability::IdentifiedWrites) {
        let what = format!(
            "`audit` needs sql and transactions, or identified_writes: driver {} has neither",
            driver.name
        );
        return Err(Error::new(Kind::Plan, what).hint("audit groups of an SQL system or of Redis"));
    }
    if workload.pipeline() > 1 {
        return Err(Error::new(Kind::Plan, "`audit` means nothing with `pipeline`")
            .hint("an operation of a pipeline has no COMMIT of its own: remove one of them"));
    }
    if workload.recording().is_some() {
        let what = format!("`audit` means nothing to workload {}", group.workload);
        return Err(Error::new(Kind::Plan, what)
            .hint("it sends what was recorded, and nothing between: remove `audit`"));
    }
    if !workload.requests().iter().any(|request| request.effect == Effect::Write) {
        return Ok((workload, None));
    }
    let lanes = if group.arrivals.is_some() { group.sessions } else { 1 };
    let audited = if in_rows { Audited::new } else { Audited::of_writes };
    let workload = audited(workload, lanes);
    let carrier = workload.carrier();
    Ok((Box::new(workload), Some(carrier)))
}

/// The group's targets. A replay has one target, which occurs here once for each database that sessions
/// begin in.
fn targets(plan: &Plan, group: &Group, workload: &dyn Workload) -> Result<Vec<Target>> {
    let named = std::iter::once(&group.target).chain(&group.also_targets);
    let Some(recording) = workload.recording() else {
        return Ok(named.map(|name| plan.targets[name].clone()).collect());
    };
    let what = if !group.also_targets.is_empty() {
        "several targets"
    } else if group.arrivals.is_some() {
        "arrivals of its own"
    } else if group.think.is_some() {
        "think times of its own"
    } else {
        let first = &plan.targets[&group.target];
        let of = |database: &String| {
            let mut target = first.clone();
            if !database.is_empty() {
                target.database.clone_from(database);
            }
            target.read_only |= recording.only_reads();
            target
        };
        return Ok(recording.databases().iter().map(of).collect());
    };
    Err(Error::new(Kind::Plan, format!("workload {} cannot have {what}", group.workload))
        .hint("who sends what and when is in the recording"))
}

fn driver_kind<'a>(
    plan: &Plan,
    group: &Group,
    drivers: &[&'a DriverKind],
) -> Result<&'a DriverKind> {
    let wanted = &plan.targets[&group.target].driver;
    drivers.iter().find(|kind| kind.name == *wanted).copied().ok_or_else(|| {
        let known: Vec<&str> = drivers.iter().map(|kind| kind.name).collect();
        let what = format!("targets.{}: there is no driver {wanted}", group.target);
        Error::new(Kind::Plan, what).hint(format!("this engine has {}", known.join(", ")))
    })
}

/// Emits one example of each class of requests, if the system takes them as SQL.
pub(crate) fn tell_examples(plan: &Plan, built: &[Built], emit: &(dyn Fn(Event) + Sync)) {
    for (group, parts) in plan.groups.iter().zip(built).filter(|(_, parts)| parts.speaks_sql) {
        let statements = in_sql(Arc::clone(&parts.requests));
        for (class, sql) in examples(&*parts.workload, &statements, parts.dialect) {
            emit(Event::Statement { group: group.name.clone(), class, sql });
        }
    }
}

/// Targets and configuration of each group for the load threads.
pub(crate) fn group_targets<'a>(plan: &Plan, built: &'a [Built]) -> Vec<GroupTargets<'a>> {
    let targets = |(number, (group, parts)): (usize, (&Group, &'a Built))| GroupTargets {
        config: GroupConfig {
            group: number,
            arrival_source: parts.arrival_source.as_ref(),
            replay: parts.replay(),
            think: group.think.as_ref().map(|think| ThinkTime::new(think, plan.seed)),
            deadline_ns: (group.deadline_s * 1e9) as u64,
            // The recorded client continued after a refusal.
            retries: if parts.workload.recording().is_some() { 0 } else { group.retries },
            seed: plan.seed,
            workload: &*parts.workload,
            requests: &parts.requests,
            checks_answers: parts.requests.iter().any(|request| request.expect.is_some()),
            keeps_rows: parts.requests.iter().any(|request| request.keeps),
            audit: parts.audit,
            history: parts.history,
            pipeline: parts.workload.pipeline(),
            pauses: parts.workload.pauses(),
            class_of: parts.classes.of.clone(),
            first_kind: (!parts.kinds.is_empty()).then_some(parts.classes.names.len()),
        },
        servers: parts.backends.iter().map(Backend::server).collect(),
        router: parts.router.as_deref(),
    };
    plan.groups.iter().zip(built).enumerate().map(targets).collect()
}

impl Backend {
    fn server(&self) -> Server<'_> {
        Server { driver: &*self.driver, endpoint: self.endpoint.as_ref() }
    }
}

/// Sessions: number of the group, number within the group.
pub(crate) type SessionNumbers = Vec<(usize, u32)>;

/// Sessions (group, number) for network workers, and those with a thread each.
pub(crate) fn slots(plan: &Plan, built: &[Built]) -> (SessionNumbers, SessionNumbers) {
    let all = plan.groups.iter().enumerate();
    let all = all.flat_map(|(group, g)| (0..g.sessions).map(move |number| (group, number)));
    all.partition(|&(group, _)| built[group].nature == Nature::Network)
}

/// Number of threads for the network sessions.
pub(crate) fn worker_count(plan: &Plan, sessions: usize) -> usize {
    match plan.workers as usize {
        _ if sessions == 0 => 0,
        0 => {
            let beside_servers = plan.targets.values().any(|target| target.address.is_loopback());
            machine::load_threads(&plan.cpus, beside_servers, sessions)
        }
        workers => workers.min(sessions),
    }
}

/// Metrics of each load thread: network workers first.
pub(crate) fn metrics(
    built: &[Built],
    parts: &[SessionNumbers],
    threads: &SessionNumbers,
) -> Vec<ThreadMetrics> {
    let metrics = |serves: &dyn Fn(usize) -> bool, in_process: bool| {
        let classes = built.iter().enumerate();
        let classes = classes.map(|(g, b)| if serves(g) { b.histograms() } else { 0 });
        ThreadMetrics::new(classes, in_process)
    };
    let network =
        parts.iter().map(|slots| metrics(&|group| slots.iter().any(|slot| slot.0 == group), false));
    let threads = threads.iter().map(|&(group, _)| {
        metrics(&|g| g == group, built[group].nature == Nature::Thread { in_process: true })
    });
    network.chain(threads).collect()
}
