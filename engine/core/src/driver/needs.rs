//! Checks that a driver can do what a workload needs.

use crate::driver::DriverKind;
use crate::error::{Error, Kind, Result};
use crate::request::capability::{Capability, names};
use crate::request::{Command, Effect, Request, Verb};
use crate::workload::WorkloadKind;

/// The capability that a request needs.
fn needed(request: &Request) -> Capability {
    match (request.effect, &request.command) {
        (Effect::BeginRead | Effect::BeginWrite | Effect::Commit | Effect::Rollback, _) => {
            Capability::Transactions
        }
        (_, Command::Sql(_)) => Capability::Sql,
        (_, Command::Io(_)) => Capability::Io,
        (_, Command::KeyValue(operation)) => match operation.verb {
            Verb::Scan => Capability::KeyRanges,
            Verb::Read | Verb::Update(_) | Verb::Insert => Capability::KeyValue,
        },
    }
}

/// Checks that the driver has all capabilities that the workload and these `requests` of it need.
/// `pipeline`: how many of them a session sends in one write.
///
/// # Errors
/// [`Kind::Plan`], naming workload, capability, the request that needs it, and driver.
pub fn check(
    driver: &DriverKind,
    workload: &WorkloadKind,
    requests: &[Request],
    pipeline: u32,
) -> Result<()> {
    let by_requests = requests.iter().map(|request| (needed(request), Some(&*request.class)));
    let together = (pipeline > 1).then_some((Capability::Pipelining, Some("pipeline")));
    let always = workload.needs.iter().map(|&need| (need, None));
    let mut all = always.chain(by_requests).chain(together);
    let Some((need, class)) = all.find(|(need, _)| !driver.capabilities.contains(need)) else {
        return Ok(());
    };
    let whose = class.map_or_else(String::new, |class| format!(" (for `{class}`)"));
    let (workload, name) = (workload.name, driver.name);
    let what = format!(
        "workload {workload} needs {}{whose}, which driver {name} does not have",
        need.name()
    );
    let has = names(driver.capabilities).join(", ");
    Err(Error::new(Kind::Plan, what).hint(format!(
        "driver {name} has {has}; `dyno-engine list` shows what each workload needs"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Store;
    use crate::workload::Dialect;
    use std::sync::Arc;

    const STORE: DriverKind = DriverKind {
        name: "store",
        about: "",
        capabilities: &[Capability::KeyValue, Capability::Populate],
        dialect: Dialect::Null,
        options: &[],
        library: || None,
        build: |_, _| unreachable!(),
        clients: None,
        routed: None,
    };
    const RECORDS: WorkloadKind = WorkloadKind {
        name: "records",
        about: "",
        needs: &[Capability::KeyValue],
        build: |_| unreachable!(),
    };

    #[test]
    fn a_driver_must_have_what_the_workload_and_each_request_needs() {
        let fields = vec!["a".to_owned()];
        let store = Arc::new(Store { name: "t".into(), key: "k".into(), fields });
        let [read, scan] = [("read", Verb::Read), ("scan", Verb::Scan)]
            .map(|(class, verb)| Request::key_value(class, &store, verb));
        let one = std::slice::from_ref(&read);
        assert!(check(&STORE, &RECORDS, one, 1).is_ok());
        let error = check(&STORE, &RECORDS, one, 2).expect_err("one request at a time");
        assert_eq!(
            error.what,
            "workload records needs pipelining (for `pipeline`), which driver store does not have"
        );
        let error = check(&STORE, &RECORDS, &[read, scan], 1).expect_err("no ranges");
        assert_eq!(
            error.what,
            "workload records needs key_ranges (for `scan`), which driver store does not have"
        );
        assert!(error.hint.starts_with("driver store has key_value, populate"));
        let tables = WorkloadKind { needs: &[Capability::Sql], ..RECORDS };
        let error = check(&STORE, &tables, &[], 1).expect_err("no SQL");
        assert_eq!(error.what, "workload records needs sql, which driver store does not have");
        let begin = Request::new("begin", Effect::BeginWrite, "", vec![]);
        assert!(check(&STORE, &RECORDS, &[begin], 1).is_err());
    }
}
