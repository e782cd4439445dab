"""Words that identify nobody: of SQL, of query plans, of settings, of dbdyno itself.

What is not listed here is taken for a name. Sources: SQL:2016 reserved words; the function and
keyword lists in the manuals of MariaDB, MySQL, PostgreSQL and SQLite; their pages on EXPLAIN.
"""

from __future__ import annotations

import re

from dbdyno.experiment.claims import known_metrics
from dbdyno.experiment.types import DURABILITY, ISOLATION
from dbdyno.kinds import KINDS

_STATEMENTS = """
    add all alter analyze and any array as asc at atomic authorization begin between both by call
    cascade case cast check collate column commit concurrently conflict constraint create cross
    cube current current_date current_time current_timestamp cursor database deallocate declare
    default deferrable delete desc describe distinct do drop each else elseif end escape except
    exists exit explain false fetch filter first following for force foreign from full function
    generated global grant group grouping having hour identity if ignore ilike immediate in index
    inner insert intersect interval into is isnull join key key_block_size last lateral leading left
    level like limit local lock locked loop low_priority match materialized merge minute month
    natural next no nothing notnull nowait null nulls of offset on only or order outer over overlaps
    partition persistent pragma preceding prepare primary procedure range read recursive references
    regexp release rename repeat replace restrict return returning revoke right rlike rollback
    rollup row rows savepoint schema second select sequence serializable session set share show
    similar skip some sql_calc_found_rows sql_no_cache start straight_join table tablesample temp
    temporary then ties to trailing transaction trigger true truncate unbounded union unique
    unknown unlock update upsert use using vacuum value values view virtual when where while window
    with within without work write year zone committed isolation repeatable uncommitted
"""
_TYPES = """
    bigint binary bit blob bool boolean bytea char character date datetime day decimal double enum
    float geometry inet int int2 int4 int8 integer json jsonb longblob longtext mediumblob mediumint
    mediumtext nchar numeric nvarchar point precision real regclass serial bigserial signed smallint
    smallserial text time timestamp timestamptz tinyblob tinyint tinytext unsigned uuid varbinary
    varchar varying xml zerofill auto_increment autoincrement rowid charset engine
"""
_FUNCTIONS = """
    abs age avg bit_and bit_or ceil ceiling char_length coalesce concat concat_ws connection_id
    convert count crc32 curdate curtime date_add date_format date_part date_sub date_trunc datediff
    dayofmonth dense_rank elt exp extract field find_in_set first_value floor format found_rows
    from_unixtime generate_series get_lock greatest group_concat hex ifnull instr json_extract
    json_object json_value lag last_insert_id last_value lcase lead least left length ln localtime
    localtimestamp locate log lower lpad ltrim max md5 min mod monthname nextval now ntile nullif
    octet_length percentile_cont pow power quote radians rand random rank release_lock reverse round
    row_count row_number rpad rtrim sha1 sha2 sign sleep pg_sleep sqrt std stddev strftime
    string_agg substr substring sum sysdate timestampdiff to_char to_date to_timestamp total trim
    trunc typeof ucase unhex unix_timestamp unnest upper utc_timestamp uuid variance version week
    weekday
"""
_PLANS = """
    access actual aggregate alias all analyze append array attached_condition backward batched
    benefit bitmap bloom broadcast buffers buckets cached cache cartesian chunks common cond
    condition const constant cost covering cte custom dependent deleted derived describe disabled
    disk distinct duplicate early eq_ref estimated every evictions execution extra fallback false
    filesort filter filtered final finalize first firstmatch foreign fulltext function gather group
    groupaggregate hash hashaggregate heap hits id impossible incremental index index_merge init
    initplan inner insert inverted join key key_len keys kb limit list lookup loop loops loose
    materialize materialized memoize memory merge method misses mixed modifytable mrr multi-range
    nested never no none null one only order original outer output overflows parallel part partial
    partitions path planning plan possible_keys presorted primary provider pushed
    query_block qualify
    quick quicksort range range_checked read recheck recursive ref ref_or_null removed result
    rewritten
    rows row_id rowid sample scan scans search select select_id select_type semijoin seq sequential
    set setop shared simple single sort sorts spill start state stop strategy subplan subquery
    subqueries summary system table tables tables_used tid time timing top top-n true type tuple
    tuples union unique unique_subquery update uncacheable used used_columns using values
    where width window windowagg with within worker workers zero rowid_filter
    sorted indexes correlated scalar single-row co-routine multi-index left right minmax tmp
    temporary buffer flat bka bnl bnlh never executed rows_examined_per_scan rows_produced_per_join
"""
_SETTING_WORDS = """
    on off yes no true false none null auto default automatic enabled disabled always never row
    statement mixed full minimal noblob fsync o_direct o_dsync littlesync nosync o_direct_no_fsync
    fdatasync open_sync open_datasync replica logical local remote_apply remote_write
    wal delete truncate persist memory normal extra exclusive
"""
_OURS = """
    dbdyno dyno engine trial trials block blocks cell cells run group groups session sessions
    target targets workload workloads factor factors level levels claim claims generator server
    servers host user users schema table tables column path command message value text author
    customer domain function parameter index localhost warmup measure complete void status
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SQL = _words(f"{_STATEMENTS} {_TYPES} {_FUNCTIONS}")
PLAN = SQL | _words(_PLANS)
SETTING = _words(_SETTING_WORDS)

# Names that every installation has, or that are dbdyno's own: aliases would hide nothing.
PUBLIC = _words(
    """
    localhost ip6-localhost 127.0.0.1 ::1 0.0.0.0 :: * %
    root postgres mysql mariadb mariadb.sys mysql.sys public dbdyno dyno
    information_schema performance_schema pg_catalog pg_toast sys
    id k c pad usertable ycsb_key
    """
)

# Values that options of workloads, targets and states take.
OPTION = _words(
    """
    oltp mix kv tpcc register append bank lua io null mariadb mysql postgres sqlite files
    random_read random_write random_mixed sequential_read sequential_write random sequential
    pread mmap dsync fsync fdatasync
    read_write read_only write_only point_select update_index update_non_index insert delete
    bulk_insert oltp_delete oltp_insert oltp_point_select oltp_read_only oltp_read_write
    oltp_update_index oltp_update_non_index oltp_write_only select_random_points
    select_random_ranges
    uniform zipfian special pareto gaussian latest hotspot exponential constant poisson sequential
    full os_crash_unsafe none read_uncommitted read_committed repeatable_read serializable
    prepared text verify require prefer off tcp socket reuse restore warm cold read write max
    bulk array load_data asc desc on yes no true false before after unlimited usd eur gbp chf
    """
)

# Words of dbdyno's own sentences and names: a user of that name is aliased in fields of users, and
# nowhere else.
OWN = (
    frozenset(
        word.casefold()
        for word in (
            *_OURS.split(),
            *known_metrics.FAMILIES,
            *(
                part
                for metric in known_metrics.METRICS
                for part in (metric.name, *metric.name.split("_"))
            ),
            *KINDS,
            *DURABILITY,
            *ISOLATION,
            *OPTION,
        )
    )
    | PUBLIC
    | SQL
)


KINDS_OF_ALIASES = _words(
    """
    host domain user schema table column function parameter index path command message value text
    author customer
    """
)


# Loopback, and what dbdyno's own workloads name their tables, columns and indexes.
_BUILT_IN = re.compile(r"127\.[0-9.]+|(?:sbtest|field|k_)[0-9]+(?:_pkey)?|usertable_pkey")


def is_public(name: str) -> bool:
    """Whether a name identifies nobody: loopback, built-in accounts, dbdyno's tables."""
    folded = name.casefold()
    return folded in PUBLIC or _BUILT_IN.fullmatch(folded) is not None
