//! The lines that a server writes when it opens a slow or general query log: at start and after `FLUSH`.
//!
//! ```text
//! /usr/sbin/mariadbd, Version: 10.11.14-MariaDB-log (Debian 12). started with:
//! Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
//! Time                 Id Command    Argument
//! ```

use crate::logs::format::Context;
use memchr::{memmem, memrchr};

/// Records the opening lines at the end of `text`, and returns the text before them.
pub(crate) fn opened<'a>(text: &'a [u8], context: &mut Context) -> &'a [u8] {
    let (rest, version) = without_openings(text);
    if let Some(version) = version {
        reopened(version, context);
    }
    rest
}

/// Records the server's version. A reopened slow log states the default database again, so it is cleared.
pub(crate) fn reopened(version: &[u8], context: &mut Context) {
    context.facts.is_of(server(version));
    context.database.clear();
}

/// Cuts off all opening lines at the end of `chunk`, which may repeat. Returns the text before them, and
/// the server's version as the last of them states it.
pub(crate) fn without_openings(mut chunk: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut version = None;
    while let Some((rest, line)) = without_opening(chunk) {
        (chunk, version) = (rest, version.or(Some(line)));
    }
    (chunk, version)
}

fn without_opening(chunk: &[u8]) -> Option<(&[u8], &[u8])> {
    // A cheap check first: this runs for every event, and the last word excludes most.
    chunk.trim_ascii_end().ends_with(b"Argument").then_some(())?;
    let (rest, columns) = last_line(chunk)?;
    (columns.starts_with(b"Time ") || columns.starts_with(b"Time\t")).then_some(())?;
    let (rest, port) = last_line(rest)?;
    port.get(..9)?.eq_ignore_ascii_case(b"tcp port:").then_some(())?;
    let (rest, server) = last_line(rest)?;
    let server = server.strip_suffix(b". started with:")?;
    let version = memmem::find(server, b", Version: ")?;
    Some((rest, &server[version + 11..]))
}

/// The last line that is not blank, as (text before it, line).
fn last_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let whole = text.trim_ascii_end();
    if whole.is_empty() {
        return None;
    }
    let begin = memrchr(b'\n', whole).map_or(0, |newline| newline + 1);
    Some((&text[..begin], &whole[begin..]))
}

/// `MariaDB 10.11.14` of `10.11.14-MariaDB-log (Debian 12)`.
fn server(version: &[u8]) -> String {
    let text = String::from_utf8_lossy(&version[..version.len().min(200)]);
    let number = text.split([' ', '(']).next().unwrap_or_default();
    let short = |number: &str| number.split('-').next().unwrap_or_default().to_owned();
    if text.contains("MariaDB") {
        format!("MariaDB {}", short(number))
    } else if text.contains("Percona") {
        format!("Percona Server {}", number.trim_end_matches("-log"))
    } else {
        format!("MySQL {}", short(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_are_cut_off_as_often_as_they_stand_there() {
        let opening = "/usr/sbin/mysqld, Version: 8.0.35-27 (Percona Server (GPL)). started with:\n\
                       Tcp port: 3306  Unix socket: /x\nTime                 Id Command    Argument\n";
        let log = format!("select 1;\n{opening}{opening}");
        let (rest, version) = without_openings(log.as_bytes());
        assert_eq!(rest, b"select 1;\n");
        assert_eq!(server(version.unwrap()), "Percona Server 8.0.35-27");
        let cut = &log.as_bytes()[..log.len() - 3];
        assert_eq!(without_openings(cut), (cut, None));
        assert_eq!(server(b"10.11.14-MariaDB-0+deb12u1-log (Debian 12)"), "MariaDB 10.11.14");
        assert_eq!(server(b"9.7.4-2 ((Debian))"), "MySQL 9.7.4");
    }
}
