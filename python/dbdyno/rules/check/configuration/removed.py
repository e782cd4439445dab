"""Options that no longer exist in the version at hand.

The version of a name is that of the manual's lists of removed options, or the first one in
which the server itself was seen to refuse or to ignore it (`tests/live/test_check_options.py` asks
the servers). Sources: "MySQL Server Version Reference"; MariaDB's pages on system variables; the
MongoDB manual, "Configuration File Settings and Command-Line Options Mapping"; PostgreSQL's release
notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbdyno.facts.fact import Facts, Missing, Version
from dbdyno.facts.files.optionfile import is_server
from dbdyno.rules.check.rule import Fix, Found, Rule, setting


@dataclass(frozen=True)
class Gone:
    """From which version on; `ignored`: the server starts, and warns. `instead`: what to write."""

    since: Version
    instead: str = ""
    ignored: bool = False


def _all(names: str, *since: int, ignored: bool = False) -> dict[str, Gone]:
    return {name: Gone(since, ignored=ignored) for name in names.split()}


MYSQL: Mapping[str, Gone] = {
    **_all("engine_condition_pushdown log log_slow_queries max_long_data_size", 5, 6, 1),
    **_all("rpl_recovery_rank", 5, 6, 1),
    "table_cache": Gone((5, 6, 1), "table_open_cache"),
    **_all("innodb_mirrored_log_groups thread_concurrency", 5, 7, 2),
    **_all("innodb_additional_mem_pool_size innodb_use_sys_malloc", 5, 7, 4),
    "storage_engine": Gone((5, 7, 5), "default_storage_engine"),
    **_all("timed_mutexes", 5, 7, 5),
    **_all("innodb_file_format innodb_file_format_check innodb_file_format_max", 8, 0, 0),
    **_all("innodb_large_prefix innodb_locks_unsafe_for_binlog innodb_support_xa", 8, 0, 0),
    **_all("ignore_db_dir ignore_db_dirs partition sync_frm", 8, 0, 0),
    "innodb_checksums": Gone((8, 0, 0), "innodb_checksum_algorithm"),
    "innodb_stats_sample_pages": Gone((8, 0, 0), "innodb_stats_transient_sample_pages"),
    **_all("show_compatibility_56", 8, 0, 1),
    "innodb_undo_logs": Gone((8, 0, 2), "innodb_rollback_segments"),
    **_all("query_cache_size query_cache_type query_cache_limit", 8, 0, 3),
    **_all("query_cache_min_res_unit query_cache_wlock_invalidate", 8, 0, 3),
    "log_warnings": Gone((8, 0, 3), "log_error_verbosity"),
    "tx_isolation": Gone((8, 0, 3), "transaction_isolation"),
    "tx_read_only": Gone((8, 0, 3), "transaction_read_only"),
    **_all("date_format datetime_format time_format des_key_file max_tmp_tables", 8, 0, 3),
    **_all("multi_range_count secure_auth", 8, 0, 3),
    **_all("log_builtin_as_identified_by_password old_passwords", 8, 0, 11),
    **_all("log_syslog metadata_locks_cache_size metadata_locks_hash_instances", 8, 0, 13),
    "internal_tmp_disk_storage_engine": Gone((8, 0, 16)),
    "expire_logs_days": Gone((8, 2, 0), "binlog_expire_logs_seconds"),
    **_all("character_set_client_handshake log_bin_use_v1_row_events", 8, 3, 0),
    **_all("master_info_file master_info_repository old_style_user_limits", 8, 3, 0),
    **_all("relay_log_info_file relay_log_info_repository", 8, 3, 0),
    **_all("slave_rows_search_algorithms transaction_write_set_extraction", 8, 3, 0),
    "group_replication_ip_whitelist": Gone((8, 3, 0), "group_replication_ip_allowlist"),
    **_all("admin_ssl avoid_temporal_upgrade language new old", 8, 4, 0),
    **_all("binlog_transaction_dependency_tracking show_old_temporals", 8, 4, 0),
    "default_authentication_plugin": Gone((8, 4, 0), "authentication_policy"),
    "mysql_native_password": Gone((9, 0, 0)),
    "innodb_log_file_size": Gone((9, 7), "innodb_redo_log_capacity"),
    "innodb_log_files_in_group": Gone((9, 7), "innodb_redo_log_capacity"),
    **_all("innodb_undo_tablespaces replica_parallel_type slave_parallel_type", 9, 7),
}
MARIADB: Mapping[str, Gone] = {
    **_all("innodb_additional_mem_pool_size innodb_use_sys_malloc", 10, 11),
    **_all("innodb_mirrored_log_groups innodb_checksums innodb_support_xa", 10, 11),
    **_all("innodb_file_format_check innodb_file_format_max", 10, 11),
    **_all("engine_condition_pushdown log rpl_recovery_rank", 10, 11),
    "log_slow_queries": Gone((10, 11), "slow_query_log"),
    "storage_engine": Gone((10, 11), "default_storage_engine"),
    "tx_read_only": Gone((10, 11), "transaction_read_only"),
    **_all("log_builtin_as_identified_by_password log_syslog", 10, 11),
    **_all("slave_parallel_type replica_parallel_type", 10, 11),
    **_all("binlog_transaction_dependency_tracking mysql_native_password", 10, 11),
    **_all("wsrep_replicate_myisam tokudb_cache_size", 10, 11),
    **_all("innodb_file_format innodb_large_prefix", 10, 11, ignored=True),
    **_all("innodb_locks_unsafe_for_binlog innodb_stats_sample_pages", 10, 11, ignored=True),
    **_all("innodb_undo_logs innodb_thread_concurrency", 10, 11, ignored=True),
    **_all("innodb_concurrency_tickets innodb_commit_concurrency", 10, 11, ignored=True),
    **_all("innodb_log_files_in_group innodb_buffer_pool_instances", 10, 11, ignored=True),
    **_all("innodb_page_cleaners innodb_scrub_log", 10, 11, ignored=True),
    **_all("innodb_adaptive_max_sleep_delay innodb_replication_delay", 10, 11, ignored=True),
    **_all("innodb_thread_sleep_delay innodb_rollback_segments", 10, 11, ignored=True),
    **_all("innodb_log_optimize_ddl innodb_log_compressed_pages", 10, 11, ignored=True),
    **_all("multi_range_count thread_concurrency max_long_data_size", 10, 11, ignored=True),
    **_all("timed_mutexes innodb_background_scrub_data_uncompressed", 10, 11, ignored=True),
    **_all("innodb_defragment innodb_change_buffering", 11, 8, ignored=True),
    **_all("wsrep_causal_reads wsrep_load_data_splitting", 11, 8, ignored=True),
    **_all("alter_algorithm date_format", 11, 8, ignored=True),
    **_all("max_tmp_tables old_alter_table debug_no_thread_alarm", 11, 8),
}
POSTGRES: Mapping[str, Gone] = {
    "checkpoint_segments": Gone((9, 5), "max_wal_size"),
    **_all("ssl_renegotiation_limit", 9, 5),
    **_all("replacement_sort_tuples", 11),
    **_all("default_with_oids", 12),
    "wal_keep_segments": Gone((13,), "wal_keep_size"),
    **_all("operator_precedence_warning vacuum_cleanup_index_scale_factor", 14),
    **_all("stats_temp_directory", 15),
    **_all("vacuum_defer_cleanup_age promote_trigger_file", 16),
    **_all("old_snapshot_threshold db_user_namespace trace_recovery_messages", 17),
}
MONGODB: Mapping[str, Gone] = {
    **_all("net.http.enabled net.http.port net.http.JSONPEnabled", 3, 6),
    **_all("net.http.RESTInterfaceEnabled nohttpinterface httpinterface rest", 3, 6),
    **_all("smallfiles noprealloc nssize storage.smallFiles storage.repairPath", 4, 2),
    **_all("storage.mmapv1.smallFiles storage.mmapv1.preallocDataFiles", 4, 2),
    **_all("storage.mmapv1.nsSize storage.mmapv1.quota.enforced", 4, 2),
    **_all("replication.secondaryIndexPrefetch", 4, 2),
    **_all("storage.indexBuildRetry", 4, 4),
    **_all("net.serviceExecutor", 5, 0),
    **_all("storage.journal.enabled journal nojournal", 6, 1),
}
TABLES: Mapping[str, Mapping[str, Gone]] = {
    "mysql": MYSQL,
    "mariadb": MARIADB,
    "postgres": POSTGRES,
    "mongodb": MONGODB,
}


def _judge(facts: Facts) -> Iterator[Found]:
    options = facts.table("options")
    for row in options.rows:
        name = str(row["name"])
        if row.get("loose") or not is_server(str(row.get("group", "mysqld"))):
            continue
        gone = _gone(facts, name)
        if gone is None:
            continue
        version = ".".join(map(str, facts.version))
        since = ".".join(map(str, gone.since))
        yield Found(
            what=f"{row['spelled']} does not exist in {facts.engine} {version} (gone by {since})",
            evidence=(options.fact(row, "value", name),),
            effect="the server ignores it with a warning: the setting has 0 effect"
            if gone.ignored
            else "the server does not start with it",
            fix=_fix(name, gone),
            undo=setting(name, row["value"]),
            about=name,
            severity="low" if gone.ignored else "high",
        )


def _fix(name: str, gone: Gone) -> Fix:
    """What replaces an option has other units or values: it is named, and not set."""
    more = (f"See {gone.instead}, which replaces it.",) if gone.instead else ()
    return Fix(settings=((name, None),), edits=more)


def _gone(facts: Facts, name: str) -> Gone | None:
    """None: it is there. Missing: it depends on what is not known."""
    listed = [table[name] for e in facts.engine.split("|") if name in (table := TABLES[e])]
    if not listed:
        return None
    if not facts.version or "|" in facts.engine:
        raise Missing("version", f"`{name}` was removed from some versions: see --engine")
    return listed[0] if facts.version >= listed[0].since else None


def _rule(engine: str, title: str, applies: tuple[str, ...], source: str) -> Rule:
    return Rule(
        id=f"{engine}-option-removed",
        pack="configuration",
        title=f"An option that {title} no longer has",
        about="A line of the file that this version does not know. Most servers refuse to start;"
        " MariaDB ignores some of them with a warning. Lines with `loose_` are left alone.",
        severity="high",
        applies=applies,
        sources=("file",),
        needs=("options",),
        judge=_judge,
        source=source,
    )


RULES = (
    _rule(
        "mysql",
        "MySQL or MariaDB",
        ("mysql", "mariadb"),
        "https://dev.mysql.com/doc/mysqld-version-reference/en/optvar.html",
    ),
    _rule("postgres", "PostgreSQL", ("postgres",), "https://www.postgresql.org/docs/release/"),
    _rule(
        "mongodb",
        "mongod",
        ("mongodb",),
        "https://www.mongodb.com/docs/manual/reference/configuration-file-settings-command-line-options-mapping/",
    ),
)
