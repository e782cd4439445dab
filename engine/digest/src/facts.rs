//! Facts that a log states about the servers that wrote it.

/// Facts that a log states about its server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Such as `MariaDB 10.11.14`, if the log states it.
    pub server: Option<String>,
    /// All servers, if the log names several: logs were concatenated, or the server was upgraded.
    pub servers: Servers,
    /// The logging threshold, nanoseconds, if the log states it. Most do not; then the fastest
    /// statement is the evidence.
    pub threshold_ns: Option<u64>,
    /// One in this many sessions or statements was logged (Percona).
    pub sampled_one_of: Option<u32>,
    /// PostgreSQL's `log_line_prefix`, as given or as detected.
    pub line_prefix: Option<String>,
}

impl Facts {
    /// Records the server that writes from here on.
    pub fn is_of(&mut self, server: String) {
        self.servers.add(0, &server);
        self.server = Some(server);
    }
}

/// Servers that wrote a log, each once, in the log's order; at most 16.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Servers(Vec<(u64, String)>);

const SERVERS_MAX: usize = 16;

impl Servers {
    /// Adds a server that this part of the log names.
    pub fn add(&mut self, part: u64, name: &str) {
        match self.0.iter_mut().find(|(_, known)| known == name) {
            Some((first, _)) => *first = part.min(*first),
            None => self.0.push((part, name.to_owned())),
        }
        self.0.sort_by_key(|(part, _)| *part);
        self.0.truncate(SERVERS_MAX);
    }

    /// Adds the servers of a part; parts may arrive in any order.
    pub fn merge(&mut self, part: u64, others: &Self) {
        others.0.iter().for_each(|(_, name)| self.add(part, name));
    }

    /// Names of the servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, name)| name.as_str())
    }
}
