//! Help texts. Their layout is interface: wrappers and sysbench's test suite read them.

use crate::command::options::table::{self, Group};
use crate::native::NATIVE;
use crate::options::value;
use crate::options::{Declared, Kind};
use crate::report::Compat;
use std::fmt::Write as _;

/// `--help`.
pub fn general(compat: Compat) -> String {
    let mut out = String::from(
        "Usage:\n  sysbench [options]... [testname] [command]\n\n\
         Commands implemented by most tests: prepare run cleanup help\n\n",
    );
    for group in table::general(compat) {
        put_group(&mut out, &group);
    }
    let database = lines(&table::database());
    let _ = write!(out, "General database options:\n\n{database}\n\n{DRIVERS}");
    for group in table::drivers(compat) {
        put_group(&mut out, &group);
    }
    put_group(&mut out, &table::ours(compat));
    out.push_str("Compiled-in tests:\n");
    for test in NATIVE {
        let _ = writeln!(out, "  {} - {}", test.name(), test.about());
    }
    out.push_str("\nSee 'sysbench <testname> help' for a list of options for each test.\n\n");
    out
}

/// The list that `--db-driver=help` prints too. SQLite is listed separately: programs that iterate
/// over sysbench's own list expect a file for each of its drivers.
pub const DRIVERS: &str = "\
Compiled-in database drivers:
  mysql - MySQL driver
  pgsql - PostgreSQL driver

dbdyno's own:
  sqlite - SQLite driver

";

/// The options of a test, as its `help` command prints them.
pub fn test(name: &str, options: &[Declared]) -> String {
    format!("{name} options:\n{}\n", lines(options))
}

/// One line per option, with aligned texts.
pub fn lines(options: &[Declared]) -> String {
    let heads: Vec<String> = options.iter().map(head).collect();
    let width = heads.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    for (option, head) in options.iter().zip(&heads) {
        let _ = write!(out, "  {head:width$} {}", option.help);
        if let Some(default) = value::shown(option) {
            let _ = write!(out, " [{default}]");
        }
        out.push('\n');
    }
    out
}

fn put_group(out: &mut String, group: &Group) {
    if !group.title.is_empty() {
        let _ = writeln!(out, "{}:", group.title);
    }
    let _ = writeln!(out, "{}", lines(&group.options));
}

fn head(option: &Declared) -> String {
    let form = match option.kind {
        Kind::Bool => "[=on|off]",
        Kind::Int | Kind::Number | Kind::Double | Kind::Numbers => "=N",
        Kind::Size => "=SIZE",
        Kind::Text => "=STRING",
        Kind::File => "=FILENAME",
        Kind::List => "=[LIST,...]",
    };
    format!("--{}{form}", option.name)
}
