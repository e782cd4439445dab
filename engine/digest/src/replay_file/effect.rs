//! Classifies the effect of sending a statement again, as far as its text shows.
//!
//! A statement counts as a read only if nothing in its text contradicts that: a replay that must not
//! change data sends statements shown to be reads, not those merely not known to write. The text does
//! not show that a function writes; read-only transactions of the server stop that. This module lists
//! the functions that act outside of transactions.
//!
//! Sources: MySQL 8.4 manual ("SELECT", "SET", "Locking Functions", "START TRANSACTION"), MariaDB's
//! ("SELECT", "SEQUENCE Functions"), PostgreSQL 17's ("SET TRANSACTION": what a read-only transaction
//! refuses; "System Administration Functions").

use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer, Token};
use dyno_core::trace::Effect;

/// Functions with effects that a read-only transaction does not prevent.
const ACTING: &[&str] = &[
    "nextval",
    "setval",
    "get_lock",
    "release_lock",
    "release_all_locks",
    "master_pos_wait",
    "source_pos_wait",
    "wait_for_executed_gtid_set",
    "sys_exec",
    "sys_eval",
    "set_config",
    "dblink",
    "dblink_exec",
    "dblink_send_query",
    "lo_import",
    "lo_export",
    "lo_create",
    "lo_unlink",
    "lo_from_bytea",
    "lo_put",
    "lowrite",
    "query_to_xml",
    "benchmark",
];
/// PostgreSQL's `pg_` functions that only read.
const LOOKING: &[&str] = &[
    "pg_typeof",
    "pg_backend_pid",
    "pg_relation_size",
    "pg_total_relation_size",
    "pg_table_size",
    "pg_indexes_size",
    "pg_database_size",
    "pg_column_size",
    "pg_size_pretty",
    "pg_table_is_visible",
    "pg_type_is_visible",
    "pg_function_is_visible",
    "pg_encoding_to_char",
    "pg_is_in_recovery",
    "pg_postmaster_start_time",
    "pg_has_role",
    "pg_blocking_pids",
];
/// Words after SET whose change could allow writes, hide them, or harm the server.
const GUARDS: &[&str] = &[
    "transaction_read_only",
    "tx_read_only",
    "default_transaction_read_only",
    "transaction",
    "characteristics",
    "role",
    "authorization",
    "password",
    "global",
    "persist",
    "persist_only",
    "sql_log_bin",
    "resource",
    "default",
    "statement",
];

/// The effect of a text; of several statements, the strongest effect. See the module.
pub fn effect(statement: &[u8], language: Language) -> Effect {
    let mut words = Words { lexer: Lexer::new(statement, language), language };
    let mut all = None;
    loop {
        let (found, has_more) = words.one();
        if let Some(found) = found {
            all = all.max(Some(found));
        }
        if !has_more {
            return all.unwrap_or(Effect::Unknown);
        }
    }
}

struct Words<'a> {
    lexer: Lexer<'a>,
    language: Language,
}

impl Words<'_> {
    fn next(&mut self) -> Token {
        self.lexer.next_token()
    }

    fn is(&self, token: Token, word: &str) -> bool {
        token.kind == Kind::Word && self.lexer.text(token).eq_ignore_ascii_case(word.as_bytes())
    }

    fn is_any(&self, token: Token, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(token, word))
    }

    /// Skips the rest of a statement; returns whether another may follow.
    fn pass(&mut self) -> bool {
        loop {
            match self.next().kind {
                Kind::End => return false,
                Kind::Semicolon => return true,
                _ => {}
            }
        }
    }

    /// The effect of the next statement, `None` if it is empty; and whether another may follow.
    fn one(&mut self) -> (Option<Effect>, bool) {
        let mut first = self.next();
        while first.kind == Kind::Open {
            first = self.next();
        }
        match first.kind {
            Kind::End => return (None, false),
            Kind::Semicolon => return (None, true),
            Kind::Word => {}
            _ => return (Some(Effect::Unknown), self.pass()),
        }
        let word = self.lexer.text(first).to_ascii_lowercase();
        let found = match &*word {
            b"select" | b"with" | b"table" | b"values" | b"explain" | b"describe" | b"desc"
            | b"declare" => return self.read(),
            b"show" | b"fetch" | b"move" | b"close" => Effect::Read,
            b"begin" | b"start" | b"commit" | b"rollback" | b"end" | b"abort" | b"savepoint"
            | b"release" => return self.transaction(&word),
            b"set" => return self.set(),
            b"insert" | b"update" | b"delete" | b"replace" | b"merge" | b"load" | b"copy"
            | b"import" => Effect::Write,
            b"lock" | b"unlock" | b"handler" => Effect::Lock,
            b"call" | b"do" | b"execute" | b"prepare" | b"deallocate" | b"xa" => Effect::Call,
            b"create" | b"alter" | b"drop" | b"truncate" | b"rename" | b"comment" | b"analyze"
            | b"optimize" | b"repair" | b"vacuum" | b"reindex" | b"cluster" | b"refresh" => {
                Effect::Define
            }
            b"grant" | b"revoke" | b"flush" | b"kill" | b"reset" | b"discard" | b"purge"
            | b"change" | b"stop" | b"shutdown" | b"install" | b"uninstall" | b"checkpoint"
            | b"binlog" | b"clone" | b"restart" | b"notify" | b"listen" | b"unlisten" => {
                Effect::Administer
            }
            _ => Effect::Unknown,
        };
        (Some(found), self.pass())
    }

    /// The effect of a statement that begins like a read, and whether another may follow.
    fn read(&mut self) -> (Option<Effect>, bool) {
        let mut found = Effect::Read;
        let raise = |found: &mut Effect, to: Effect| *found = (*found).max(to);
        loop {
            let token = self.next();
            let next = self.lexer.peek();
            let is_call = next.kind == Kind::Open;
            match token.kind {
                Kind::End => return (Some(found), false),
                Kind::Semicolon => return (Some(found), true),
                Kind::Name if is_call => {
                    let name = self.lexer.text(token).to_ascii_lowercase();
                    let name = name.get(1..name.len().saturating_sub(1)).unwrap_or_default();
                    if self.acts(name) {
                        raise(&mut found, Effect::Unknown);
                    }
                }
                Kind::Word if is_call && self.acts(self.lexer.text(token)) => {
                    raise(&mut found, Effect::Unknown);
                }
                // FOR UPDATE, FOR SHARE, FOR NO KEY UPDATE; LOCK IN SHARE MODE; NEXT VALUE FOR.
                Kind::Word
                    if self.is(token, "for")
                        && self.is_any(next, &["update", "share", "no", "key"]) =>
                {
                    raise(&mut found, Effect::Lock);
                }
                Kind::Word if self.is(token, "lock") && self.is(next, "in") => {
                    raise(&mut found, Effect::Lock);
                }
                Kind::Word if self.is(token, "value") && self.is(next, "for") => {
                    raise(&mut found, Effect::Write);
                }
                Kind::Word if self.is(token, "into") => raise(&mut found, Effect::Write),
                Kind::Word if !is_call && self.is_any(token, &["insert", "replace"]) => {
                    raise(&mut found, Effect::Write);
                }
                // After FOR the effect is Lock, which stays: it ranks above Write.
                Kind::Word if self.is_any(token, &["update", "delete", "merge"]) => {
                    raise(&mut found, Effect::Write);
                }
                Kind::Word if self.is_any(token, &["call", "execute", "procedure"]) => {
                    raise(&mut found, Effect::Call);
                }
                // EXPLAIN ANALYZE CREATE TABLE ... AS.
                Kind::Word if self.is_any(token, &["create", "refresh"]) => {
                    raise(&mut found, Effect::Define);
                }
                _ => {}
            }
        }
    }

    /// Whether a function may do more than read.
    fn acts(&self, name: &[u8]) -> bool {
        let is_any = |names: &[&str]| names.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes()));
        let is_of_server = self.language == Language::Postgres
            && name.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case(b"pg_"))
            && !name.get(..7).is_some_and(|begin| begin.eq_ignore_ascii_case(b"pg_get_"))
            && !is_any(LOOKING);
        is_of_server || is_any(ACTING)
    }

    fn transaction(&mut self, first: &[u8]) -> (Option<Effect>, bool) {
        let mut found = Effect::Transaction;
        let mut is_second = true;
        loop {
            let token = self.next();
            match token.kind {
                Kind::End => return (Some(found), false),
                Kind::Semicolon => return (Some(found), true),
                // BEGIN NOT ATOMIC is a compound statement; START SLAVE is no transaction.
                _ if is_second && first == b"start" && !self.is(token, "transaction") => {
                    found = Effect::Administer;
                }
                _ if self.is_any(token, &["write", "prepared"]) => found = Effect::Unknown,
                _ if self.is(token, "not") && self.is(self.lexer.peek(), "atomic") => {
                    found = Effect::Call;
                }
                _ => {}
            }
            is_second = false;
        }
    }

    /// The effect of SET: Session for session variables with plain values.
    fn set(&mut self) -> (Option<Effect>, bool) {
        let mut found = Effect::Session;
        loop {
            let token = self.next();
            match token.kind {
                Kind::End => return (Some(found), false),
                Kind::Semicolon => return (Some(found), true),
                Kind::Open => found = found.max(Effect::Unknown),
                Kind::Word | Kind::Name if self.is_guard(token) => {
                    found = found.max(Effect::Administer);
                }
                _ => {}
            }
        }
    }

    fn is_guard(&self, token: Token) -> bool {
        let text = self.lexer.text(token);
        let is_quote = |byte: &u8| matches!(byte, b'`' | b'"' | b'@');
        let begin = text.iter().position(|byte| !is_quote(byte)).unwrap_or(0);
        let end = text.iter().rposition(|byte| !is_quote(byte)).map_or(begin, |at| at + 1);
        let text = &text[begin..end];
        // `@@global.read_only` may be one token.
        let mut parts = text.split(|&byte| byte == b'.');
        parts.any(|part| GUARDS.iter().any(|guard| part.eq_ignore_ascii_case(guard.as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Effect {
        effect(text.as_bytes(), Language::Mysql)
    }

    fn of_postgres(text: &str) -> Effect {
        effect(text.as_bytes(), Language::Postgres)
    }

    #[test]
    fn reads_are_reads() {
        for text in [
            "select 1",
            "SELECT a, replace(b, 'x', 'y'), insert(c, 1, 1, 'z') FROM t WHERE d = 'for update'",
            "(select 1) union (select 2)",
            "/* app */ select `update` from t -- for update",
            "with a as (select 1) select * from a",
            "show tables",
            "explain select * from t",
            "select /*+ NO_INDEX(t) */ 1 from t",
            "values row(1)",
        ] {
            assert_eq!(of(text), Effect::Read, "{text}");
            assert!(of(text).is_harmless());
        }
        for text in [
            "select pg_get_viewdef('v'), pg_typeof(1), $1::text",
            "table t",
            "declare c cursor for select * from t",
            "select $$ delete from t $$",
        ] {
            assert_eq!(of_postgres(text), Effect::Read, "{text}");
        }
    }

    #[test]
    fn what_writes_locks_or_acts_is_no_read() {
        for (text, expected) in [
            ("select * from t for update", Effect::Lock),
            ("select * from t where a = 1 FOR SHARE SKIP LOCKED", Effect::Lock),
            ("select * from t lock in share mode", Effect::Lock),
            ("select 1 into @a", Effect::Write),
            ("select * from t into outfile '/tmp/x'", Effect::Write),
            ("select next value for s", Effect::Write),
            ("select get_lock('a', 1)", Effect::Unknown),
            ("select `get_lock`('a', 1)", Effect::Unknown),
            ("insert into t values (1)", Effect::Write),
            ("/*!40001 delete */ from t", Effect::Write),
            ("explain analyze delete from t", Effect::Write),
            ("call p()", Effect::Call),
            ("do sleep(1)", Effect::Call),
            ("create table t (a int)", Effect::Define),
            ("flush tables", Effect::Administer),
            ("set global a = 1", Effect::Administer),
            ("set @@global.read_only = 0", Effect::Administer),
            ("set session transaction read write", Effect::Administer),
            ("set @@session.transaction_read_only = 0", Effect::Administer),
            ("set `tx_read_only` = 0", Effect::Administer),
            ("set @a = (select f())", Effect::Unknown),
            ("start transaction read write", Effect::Unknown),
            ("start slave", Effect::Administer),
            ("begin not atomic delete from t; end", Effect::Unknown),
            ("lock tables t write", Effect::Lock),
            ("frobnicate", Effect::Unknown),
            ("", Effect::Unknown),
            ("select 1; drop table t", Effect::Define),
        ] {
            let found = of(text);
            assert!(!found.is_harmless(), "{text} is {found:?}");
            if !text.starts_with("begin") && !text.contains("lock") {
                assert_eq!(found, expected, "{text}");
            }
        }
        for text in [
            "select nextval('s')",
            "select pg_terminate_backend(1)",
            "select \"pg_terminate_backend\"(1)",
            "with gone as (delete from t returning *) select * from gone",
            "select * into u from t",
            "select set_config('default_transaction_read_only', 'off', false)",
            "reset all",
            "discard all",
            "set session characteristics as transaction read write",
            "set default_transaction_read_only = off",
            "select * from t for no key update",
            "copy t from stdin",
            "do $$ begin end $$",
        ] {
            assert!(!of_postgres(text).is_harmless(), "{text}");
        }
    }

    #[test]
    fn words_of_sessions_and_transactions_are_known() {
        for text in
            ["begin", "START TRANSACTION READ ONLY", "commit", "rollback to a", "savepoint a"]
        {
            assert_eq!(of(text), Effect::Transaction, "{text}");
        }
        for text in ["set names utf8mb4", "set autocommit = 0", "SET @@session.sql_mode = ''"] {
            assert_eq!(of(text), Effect::Session, "{text}");
        }
        assert_eq!(of_postgres("set search_path to a, b"), Effect::Session);
    }
}
