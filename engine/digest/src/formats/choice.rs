//! Which format a log is in: the one that the user names, or found out from its first bytes.

use super::FORMATS;
use super::postgres;
use super::unread::{TEXT_OF, unread};
use crate::digest::Request;
use crate::format::FormatKind;
use crate::source;
use dyno_core::Result;
use dyno_core::error::{Error, Kind};

/// The format by name, or of a log; `damage`: why there is no more of it than its head.
pub(crate) fn format_of<'a>(
    request: &Request,
    path: &str,
    head: &[u8],
    damage: Option<&str>,
) -> Result<&'a FormatKind> {
    if let Some((by, unpack)) = source::packed_otherwise(head) {
        return Err(Error::new(
            Kind::Plan,
            format!("{path}: packed by {by}, which is not unpacked"),
        )
        .hint(format!("gzip and zstd are; for others: {unpack} | dyno digest -")));
    }
    match &request.format {
        Some(name) => named(name, path, head),
        None => found_out(request, head).ok_or_else(|| not_known(path, head, damage)),
    }
}

fn named<'a>(name: &str, path: &str, head: &[u8]) -> Result<&'a FormatKind> {
    let kind = FORMATS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        Error::new(Kind::Plan, format!("--log-format: there is no format {name}"))
            .hint(format!("formats are {}", names()))
    })?;
    // Their text can be named by mistake.
    let refused = TEXT_OF.contains(&name).then(|| unread(path, head)).flatten();
    refused.map_or(Ok(kind), Err)
}

fn found_out<'a>(request: &Request, head: &[u8]) -> Option<&'a FormatKind> {
    if request.settings.line_prefix.is_some() {
        return Some(postgres::of_lines(head));
    }
    FORMATS.iter().find(|kind| (kind.detect)(head))
}

fn not_known(path: &str, head: &[u8], damage: Option<&str>) -> Error {
    unread(path, head).unwrap_or_else(|| {
        let why = damage.map(|why| format!(", and {why}")).unwrap_or_default();
        Error::new(Kind::Plan, format!("{path}: its format is not known{why}")).hint(format!(
            "it begins like none of {}; if it is one of these and begins with something else, \
             say which: --log-format NAME",
            names()
        ))
    })
}

fn names() -> String {
    FORMATS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::{OrderBy, Taking};
    use crate::filter::Filter;
    use crate::format::Settings;
    use crate::grouping::GroupBy;
    use crate::summary::{Asked, Limit};

    fn request(format: Option<&str>, line_prefix: Option<&str>) -> Request {
        let order_by = OrderBy::QueryTime;
        Request {
            logs: vec!["a.log".to_owned()],
            format: format.map(str::to_owned),
            settings: Settings {
                line_prefix: line_prefix.map(str::to_owned),
                ..Settings::default()
            },
            threads: 1,
            taking: Taking { filter: Filter::default(), order_by, keeps_text: false },
            asked: Asked {
                group_by: GroupBy::Fingerprint,
                order_by,
                limit: Limit { share: 1.0, count: 10 },
                merges_names: false,
            },
            follows: false,
        }
    }

    fn name(request: &Request, head: &str) -> std::result::Result<&'static str, Error> {
        format_of(request, "a.log", head.as_bytes(), None).map(|kind| kind.name)
    }

    #[test]
    fn text_of_binary_logs_is_refused_also_where_their_format_is_named() {
        let text = "# at 4\n#251122  4:42:15 server id 7  end_log_pos 126 \tQuery\n";
        for format in [None, Some("mysql-binlog")] {
            let error = name(&request(format, None), text).unwrap_err();
            assert!(error.what.contains("text that mysqlbinlog made"), "{error}");
        }
        assert_eq!(name(&request(Some("mysql-slow"), None), text).unwrap(), "mysql-slow");
    }

    #[test]
    fn a_prefix_of_lines_names_their_format() {
        // By no prefix that is found out are most lines read.
        let line = "<shop> at 2025-11-22 04:42:15.123 UTC, LOG:  statement: select 1\n";
        let log = ["a banner\n".repeat(30), line.to_owned()].concat();
        assert!(name(&request(None, None), &log).is_err());
        let prefix = Some("<%d> at %m, ");
        assert_eq!(name(&request(None, prefix), &log).unwrap(), "postgres-stderr");
        assert_eq!(name(&request(Some("postgres-csv"), prefix), &log).unwrap(), "postgres-csv");
        let sent = log.replace("<shop>", "Nov 22 04:42:15 db1 postgres[7]: [4-1] <shop>");
        assert_eq!(name(&request(None, prefix), &sent).unwrap(), "postgres-syslog");
    }
}
