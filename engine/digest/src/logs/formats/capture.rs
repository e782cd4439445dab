//! `mysql-capture` and `postgres-capture`: network traffic between clients and a server, as tcpdump and
//! other programs store it. A duration lasts from the first byte of a request to the last byte of its
//! answer, at the point of capture.

use crate::facts::Facts;
use crate::inspect::capture::{Dialect, Reader, is_capture, spoken};
use crate::logs::format::{Context, Format, FormatKind, Settings};
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;

/// MySQL's protocol.
pub const MYSQL_CAPTURE: FormatKind = FormatKind {
    name: "mysql-capture",
    about: "network captures (pcap, pcapng) of MySQL's and MariaDB's protocol",
    is_seen_live: true,
    detect: |head| is_capture(head) && spoken(head) != Some(Dialect::Postgres),
    open: |settings, _| open(settings, Dialect::Mysql),
};

/// PostgreSQL's protocol.
pub const POSTGRES_CAPTURE: FormatKind = FormatKind {
    name: "postgres-capture",
    about: "network captures (pcap, pcapng) of PostgreSQL's protocol",
    is_seen_live: true,
    detect: is_capture,
    open: |settings, _| open(settings, Dialect::Postgres),
};

fn open(settings: &Settings, dialect: Dialect) -> Result<Box<dyn Format>> {
    Ok(Box::new(Capture { dialect, ports: settings.ports.clone() }))
}

struct Capture {
    dialect: Dialect,
    ports: Vec<u16>,
}

impl Format for Capture {
    fn language(&self) -> Language {
        self.dialect.language()
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let new = || Box::new(Reader::new(self.dialect, &self.ports)) as Box<_>;
        let state = context.state.get_or_insert_with(new);
        let Some(reader) = state.downcast_mut::<Reader>() else { return 0 };
        let read = reader.read(part, sink);
        context.facts = Facts { server: reader.server(), ..Facts::default() };
        read
    }
}
