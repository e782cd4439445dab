//! Finds the format of a log: the user names the format, or the log's first bytes show it.

use super::formats::FORMATS;
use super::formats::postgres;
use super::unsupported::{TEXT_OF, unread};
use crate::logs::format::{FormatKind, Settings};
use crate::logs::source;
use dyno_core::Result;
use dyno_core::error::{Error, Kind};

/// The format of that name, or the one that `head` shows; `damage`: why the log has only its head.
pub(crate) fn format_of<'a>(
    format: Option<&str>,
    settings: &Settings,
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
    match format {
        Some(name) => named(name, path, head),
        None => found_out(settings, head).ok_or_else(|| not_known(path, head, damage)),
    }
}

fn named<'a>(name: &str, path: &str, head: &[u8]) -> Result<&'a FormatKind> {
    let kind = FORMATS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        Error::new(Kind::Plan, format!("--log-format: there is no format {name}"))
            .hint(format!("formats are {}", names()))
    })?;
    // For these formats, a user may name the format of an unsupported text form.
    let refused = TEXT_OF.contains(&name).then(|| unread(path, head)).flatten();
    refused.map_or(Ok(kind), Err)
}

fn found_out<'a>(settings: &Settings, head: &[u8]) -> Option<&'a FormatKind> {
    if settings.line_prefix.is_some() {
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

    fn name(
        format: Option<&str>,
        line_prefix: Option<&str>,
        head: &str,
    ) -> std::result::Result<&'static str, Error> {
        let line_prefix = line_prefix.map(str::to_owned);
        let settings = Settings { line_prefix, ..Settings::default() };
        format_of(format, &settings, "a.log", head.as_bytes(), None).map(|kind| kind.name)
    }

    #[test]
    fn text_of_binary_logs_is_refused_also_where_their_format_is_named() {
        let text = "# at 4\n#251122  4:42:15 server id 7  end_log_pos 126 \tQuery\n";
        for format in [None, Some("mysql-binlog")] {
            let error = name(format, None, text).unwrap_err();
            assert!(error.what.contains("text that mysqlbinlog made"), "{error}");
        }
        assert_eq!(name(Some("mysql-slow"), None, text).unwrap(), "mysql-slow");
    }

    #[test]
    fn a_prefix_of_lines_names_their_format() {
        // No inferred prefix matches most lines.
        let line = "<shop> at 2025-11-22 04:42:15.123 UTC, LOG:  statement: select 1\n";
        let log = ["a banner\n".repeat(30), line.to_owned()].concat();
        assert!(name(None, None, &log).is_err());
        let prefix = Some("<%d> at %m, ");
        assert_eq!(name(None, prefix, &log).unwrap(), "postgres-stderr");
        assert_eq!(name(Some("postgres-csv"), prefix, &log).unwrap(), "postgres-csv");
        let sent = log.replace("<shop>", "Nov 22 04:42:15 db1 postgres[7]: [4-1] <shop>");
        assert_eq!(name(None, prefix, &sent).unwrap(), "postgres-syslog");
    }
}
