//! Tests of the Lua API over primitives that answer at once (`api/fake.lua`): results that scripts get,
//! and calls that the primitives receive.

use std::path::Path;

/// The lines that a script prints, logs and sends, with these options of the fake primitives.
fn lines(options: &str, script: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // SAFETY: the scripts are those of this file; they use `ffi` and `debug`, which safe states lack.
    let lua = unsafe { mlua::Lua::unsafe_new() };
    let prelude = root.join("src/prelude");
    let read = lua
        .create_function(move |_, name: String| {
            Ok(std::fs::read_to_string(prelude.join(format!("{name}.lua")))
                .expect("a prelude file"))
        })
        .expect("a function");
    let fake = std::fs::read_to_string(root.join("tests/api/fake.lua")).expect("the fake");
    let run: mlua::Function = lua.load(fake).set_name("@fake.lua").call(read).expect("loads");
    run.call((script, options)).expect("runs")
}

/// The same with default options.
fn said(script: &str) -> String {
    lines("{}", script)
}

#[track_caller]
fn says(script: &str, expected: &[&str]) {
    assert_eq!(said(script).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn objects_print_as_in_sysbench() {
    says(
        "drv = sysbench.sql.driver() con = drv:connect() st = con:prepare('rows ?')
         print(drv, con, type(con), st, con:query('rows 1'))
         print(drv:name(), st:bind_create(sysbench.sql.type.INT), drv == sysbench.sql.driver('mysql'))
         print(con == con, con == drv:connect())",
        &[
            "prepare rows ?",
            "sent rows 1",
            "<sql_driver> <sql_connection> cdata <sql_statement> <sql_result>",
            "mysql <sql_param> true",
            "true false",
        ],
    );
}

#[test]
fn rows_are_fetched_one_after_the_other() {
    says(
        "con = sysbench.sql.driver():connect()
         rs = con:query('rows 2') print(rs.nrows, rs.nfields)
         for row in function() return rs:fetch_row() end do print(row[1], row[2]) end
         print(rs:fetch_row()) rs:free() print(rs:fetch_row()) print(pcall(rs.free, rs))
         print(con:query_row('rows 1')) print(con:query_row('rows 0')) print(con:query_row('change 1'))
         print(con:query('change 1').nfields, con:query('change 1'):fetch_row())",
        &[
            "sent rows 2",
            "2 2",
            "1.0 nil",
            "1.1 nil",
            "nil",
            "alert: attempt to fetch row from an invalid result set",
            "nil",
            "alert: attempt to free an invalid result set",
            "false db_free_results() failed",
            "sent rows 1",
            "1.0 nil",
            "sent rows 0",
            "nil",
            "sent change 1",
            "nil",
            "sent change 1",
            "sent change 1",
            "alert: attempt to fetch row from an empty result set",
            "0 nil",
        ],
    );
}

#[test]
fn further_results_are_those_with_rows() {
    says(
        "con = sysbench.sql.driver():connect()
         rs = con:query('call')
         while rs do print(rs.nrows, con:more_results()) rs = con:next_result() end
         print(con:next_result(), con:more_results())",
        &["sent call", "1 true", "3 true", "nil false"],
    );
}

#[test]
fn a_float_is_rounded_to_32_bits() {
    says(
        "con = sysbench.sql.driver():connect()
         st = con:prepare('change ?')
         a = st:bind_create(sysbench.sql.type.FLOAT) st:bind_param(a)
         a:set(0.1) st:execute() a:set(nil) st:execute()",
        &["prepare change ?", "execute change ? 1 0.10000000149012", "execute change ? 1 nil"],
    );
}

#[test]
fn parameters_are_cut_to_their_type() {
    says(
        "con = sysbench.sql.driver():connect()
         st = con:prepare('change ? ? ? ?') t = sysbench.sql.type
         a, b = st:bind_create(t.INT), st:bind_create(t.CHAR, 3)
         c, d = st:bind_create(t.DOUBLE), st:bind_create(t.BIGINT)
         print(st:bind_param(), st:bind_param(a, b), st:bind_param(a, b, c, d))
         st:execute()
         a:set(-1.9) b:set('abcdef') c:set(0.25) d:set(2LL) st:execute()
         a:set(true) b:set_rand_str('#@##') c:set(3) d:set(nil) st:execute()
         b:set(1234) c:set(7LL) st:execute()
         print(pcall(a.set, a, '1')) print(pcall(c.set, c, {})) print(pcall(b.set, b, true))
         print(pcall(a.set_rand_str, a, '#'))
         print(pcall(st.bind_create, st, t.DATE)) print(pcall(st.bind_create, st, t.CHAR))
         st:close() st:close() print(pcall(st.execute, st))",
        &[
            "prepare change ? ? ? ?",
            "fatal: Wrong number of parameters to mysql_stmt_bind_param",
            "nil 1 0",
            "execute change ? ? ? ? 4 nil nil nil nil",
            "execute change ? ? ? ? 4 -1 abc 0.25 2LL",
            "execute change ? ? ? ? 4 1 1a1 3 nil",
            "execute change ? ? ? ? 4 1 123 7 nil",
            "false cannot convert 'string' to 'int64_t'",
            "false cannot convert 'table' to 'double'",
            "false cannot convert 'boolean' to 'char *'",
            "false Unsupported argument type: 3",
            "false Unsupported argument type: 8",
            "false bind_create: a CHAR or VARCHAR parameter needs its largest length",
            "close change ? ? ? ?",
            "fatal: mysql_stmt_execute() returned error 0 (the statement is closed) for query 'change ? ? ? ?'",
            "false SQL error, errno = 0, state = '00000': the statement is closed",
        ],
    );
}

#[test]
fn any_number_of_parameters_is_bound() {
    let script = "con = sysbench.sql.driver():connect()
         for _, n in ipairs{0, 1, 7, 199, 300} do
            local st, p = con:prepare('change' .. (' ?'):rep(n)), {}
            for i = 1, n do p[i] = st:bind_create(sysbench.sql.type.INT) p[i]:set(i) end
            st:bind_param(unpack(p)) st:execute()
         end";
    let said = said(script);
    let executed: Vec<_> = said.lines().filter(|line| line.starts_with("execute")).collect();
    assert_eq!(executed[0], "execute change 0");
    assert_eq!(executed[1], "execute change ? 1 1");
    assert!(executed[3].ends_with(" 198 199"), "{}", executed[3]);
    assert!(executed[4].ends_with(" 299 300"), "{}", executed[4]);
}

#[test]
fn refusals_are_printed_told_to_the_hook_and_raised_with_their_place() {
    says(
        "con = sysbench.sql.driver():connect()
         print(pcall(con.query, con, 'refuse 7'))
         function sysbench.hooks.sql_error_ignorable(e)
            print(e.connection == con, e.query, e.sql_errno, e.sql_state, e.sql_errmsg, e.errcode)
         end
         print(select(2, pcall(function() con:query('refuse 8') end)))
         print(con.error, con.sql_errno, require('ffi').string(con.sql_state))
         print(select(2, pcall(con.prepare, con, 'refuse 9')))",
        &[
            "sent refuse 7",
            "fatal: mysql_drv_query() returned error 7 (no) for query 'refuse 7'",
            "false SQL error, errno = 7, state = '40001': no",
            "sent refuse 8",
            "fatal: mysql_drv_query() returned error 8 (no) for query 'refuse 8'",
            "true refuse 8 8 40001 no nil",
            "script.lua:6: SQL error, errno = 8, state = '40001': no",
            "2 8 40001",
            "prepare refuse 9",
            "fatal: mysql_stmt_prepare() failed",
            "fatal: MySQL error: 9 \"no\"",
            "true refuse 9 9 40001 no nil",
            "SQL API error",
        ],
    );
}

#[test]
fn what_may_be_ignored_makes_the_event_begin_again() {
    says(
        "con = sysbench.sql.driver():connect()
         function check(sql)
            local ok, e = pcall(function() con:query(sql) end)
            print(type(e), e.errcode == sysbench.error.RESTART_EVENT, e.sql_errno, e.query)
         end
         check('ignore 5')
         function sysbench.hooks.sql_error_ignorable(e) return e.sql_errno == 6 end
         check('refuse 6')",
        &[
            "sent ignore 5",
            "table true 5 ignore 5",
            "sent refuse 6",
            "fatal: mysql_drv_query() returned error 6 (no) for query 'refuse 6'",
            "counted",
            "table true 6 refuse 6",
        ],
    );
}

#[test]
fn what_was_ignored_leaves_no_transaction_behind_where_none_may_begin_in_it() {
    let script = |driver: &str| {
        format!(
            "con = sysbench.sql.driver('{driver}'):connect()
             print(select(2, pcall(con.query, con, 'ignore 5')).errcode)
             print(type(select(2, pcall(con.query, con, 'lose'))))"
        )
    };
    let rollbacks = |driver| said(&script(driver)).lines().filter(|l| *l == "rollback 1").count();
    assert_eq!((rollbacks("pgsql"), rollbacks("mysql")), (1, 0));
}

#[test]
fn a_closed_connection_says_so() {
    says(
        "con = sysbench.sql.driver():connect() st = con:prepare('change 1')
         print(con:disconnect())
         print(pcall(con.query, con, 'rows 1'))
         print(select(2, pcall(function() st:execute() end)))
         st:close() print(con:disconnect()) print(con:reconnect(), con:query('change 1'))",
        &[
            "prepare change 1",
            "disconnect 1",
            "true",
            "alert: attempt to use an already closed connection",
            "false script.lua:3: SQL API error",
            "alert: attempt to use an already closed connection",
            "script.lua:4: SQL API error",
            "alert: attempt to close an already closed connection",
            "true",
            "sent change 1",
            "true <sql_result>",
        ],
    );
}

#[test]
fn what_1_0_cannot_do_with_postgresql_it_says() {
    let script = "con = sysbench.sql.driver():connect() con:reconnect()
         pcall(con.query, con, 'lose') con:reconnect() con:reconnect()";
    let fatal = ["fatal: PQexec() failed: 7 lost", "fatal: failed query was: lose", "reconnect 1"];
    let alert = "alert: reconnect is not supported by the current driver";
    let said = lines("{driver = 'pgsql'}", script);
    let expected = [&[alert, "sent lose"], &fatal[..], &[alert]].concat();
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    let said = lines("{driver = 'pgsql', compat = '1.1'}", script);
    let expected = [&["reconnect 1", "sent lose"], &fatal[..], &["reconnect 1"]].concat();
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn what_cannot_be_reached_is_named() {
    let script = "print(pcall(sysbench.sql.driver, 'none'))
         drv = sysbench.sql.driver() print(pcall(drv.connect, drv))";
    let options = "{unreachable = true, options = {mysql_host = {'far'}, mysql_port = {3307}}}";
    let expected = [
        "fatal: invalid database driver name: 'none'",
        "false failed to initialize the DB driver",
        "fatal: unable to connect to MySQL server on host 'far', port 3307, aborting...",
        "fatal: error 2005: Unknown MySQL server host 'far' (0)",
        "false connection creation failed",
    ];
    assert_eq!(lines(options, script).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn connections_without_owner_are_closed_at_the_next_connect() {
    let said = said(
        "drv = sysbench.sql.driver()
         kept = drv:connect()
         for i = 1, 3 do drv:connect() end
         collectgarbage() collectgarbage()
         last = drv:connect() kept:query('change 1')",
    );
    let mut said: Vec<_> = said.lines().collect();
    said.sort_unstable();
    assert_eq!(said, ["disconnect 2", "disconnect 3", "disconnect 4", "sent change 1"]);
}

#[test]
fn bulk_inserts_are_sent_before_they_exceed_half_a_mebibyte() {
    let script = "con = sysbench.sql.driver():connect()
         con:bulk_insert_init('INSERT INTO t VALUES')
         row = '(' .. ('1'):rep(998) .. ')'
         for i = 1, 1000 do con:bulk_insert_next(row) end
         con:bulk_insert_done() con:bulk_insert_done()
         con:bulk_insert_init('INSERT INTO t VALUES') con:bulk_insert_done()
         print(select(2, pcall(function() con:bulk_insert_next('(1)') end)))
         con:bulk_insert_init('refuse 3') con:bulk_insert_next('(2)')
         print(select(2, pcall(function() con:bulk_insert_done() end)))";
    let said = said(script);
    let said: Vec<_> = said.lines().collect();
    let (sent, rest) = said.split_at(2);
    assert!(sent.iter().all(|line| line.starts_with("sent INSERT INTO t VALUES(111")));
    assert_eq!(sent.iter().map(|line| line.matches('(').count()).sum::<usize>(), 1000);
    assert!(sent.iter().all(|line| line.len() - "sent ".len() < 512 * 1024));
    assert!(sent[0].len() > 511 * 1024);
    let expected = [
        "alert: attempt to call bulk_insert_next() before bulk_insert_init()",
        "script.lua:7: db_bulk_insert_next() failed",
        "sent refuse 3(2)",
        "fatal: mysql_drv_query() returned error 3 (no) for query 'refuse 3(2)'",
        "script.lua:9: db_bulk_insert_done() failed",
    ];
    assert_eq!(rest, expected);
}

#[test]
fn statements_may_be_written_out_instead_of_prepared() {
    let script = r#"con = sysbench.sql.driver():connect()
         st = con:prepare("change 1 a = ? AND '?' = ? AND c = ?")
         a, b, c = st:bind_create(4), st:bind_create(12, 20), st:bind_create(6)
         print(st:bind_param(a, b, c))
         a:set(9007199254740993LL) b:set([[it's \ x]]) c:set(0.5) st:execute()
         a:set(-3) b:set(nil) c:set(2) st:execute()
         con:prepare("change 2"):execute() st:close()"#;
    let options = "{options = {db_ps_mode = 'disable'}}";
    let expected = [
        "0",
        r"sent change 1 a = 9007199254740993 AND '?' = 'it''s \\ x' AND c = 0.5",
        "sent change 1 a = -3 AND '?' = NULL AND c = 2",
        "sent change 2",
    ];
    assert_eq!(lines(options, script).lines().collect::<Vec<_>>(), expected);
    let options = "{driver = 'pgsql', options = {db_ps_mode = 'disable'}}";
    assert!(lines(options, script).contains(r"'it''s \ x'"));
}

#[test]
fn what_mysql_cannot_prepare_is_written_out() {
    says(
        "con = sysbench.sql.driver():connect() con:prepare('refuse 1295 here'):execute()",
        &[
            "prepare refuse 1295 here",
            "sent refuse 1295 here",
            "fatal: mysql_stmt_execute() returned error 1295 (no) for query 'refuse 1295 here'",
            "failed: script.lua:1: SQL error, errno = 1295, state = '40001': no",
        ],
    );
}

#[test]
fn old_scripts_have_one_connection_without_a_name() {
    says(
        "db_query('change 1') db_connect() print(db_query('rows 1'))
         db_bulk_insert_init('INSERT INTO t VALUES') db_bulk_insert_next('(1)') db_bulk_insert_done()
         st = db_prepare('change ?') p = {100} db_bind_param(st, p)
         rs = db_execute(st) p[1] = 'x' db_execute(st) db_store_results(rs) db_free_results(rs) db_close(st)
         print(select(2, pcall(db_query, 'refuse 1')), type(select(2, pcall(db_query, 'ignore 2'))))
         db_disconnect() db_query('change 2')
         print(DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED, sysbench.db.query == db_query)
         print(sb_rand(1, 2), sb_rand_uniq(), sb_rand_str('##@'), sb_rnd(), sb_rand_special(3, 4))",
        &[
            "sent change 1",
            "sent rows 1",
            "",
            "sent INSERT INTO t VALUES(1)",
            "prepare change ?",
            "execute change ? 1 100",
            "execute change ? 1 x",
            "close change ?",
            "sent refuse 1",
            "fatal: mysql_drv_query() returned error 1 (no) for query 'refuse 1'",
            "sent ignore 2",
            "db_query() failed table",
            "disconnect 1",
            "sent change 2",
            "0 1 2 true",
            "1-2 0-4294967295 11a 0-4294967295 3-4",
        ],
    );
}

#[test]
fn options_are_fields_and_for_old_scripts_globals() {
    let options = "{tid = 3, options = {threads = 4, oltp_tables_count = '8', print = 'kept out'}}";
    let script = "print(sysbench.tid, thread_id, test, num_threads, oltp_tables_count, type(mysql_table_engine))
         print(sysbench.opt.threads, sysbench.opt.oltp_tables_count, sysbench.cmdline.command)
         sysbench.opt.threads = 9 print(sysbench.opt.threads, sysbench.cmdline.argv[1], sysbench.version)";
    let expected = ["3 3 script.lua 4 8 string", "4 8 run", "9 script.lua 1.0.20"];
    assert_eq!(lines(options, script).lines().collect::<Vec<_>>(), expected);
    let options = "{options = {mysql_table_engine = 'myisam'}}";
    assert_eq!(lines(options, "print(mysql_table_engine, myisam_max_rows)"), "myisam 1000000");
    let script = "print(db_query, sb_rand, num_threads, sysbench.db, sysbench.rand.special)";
    let options = "{compat = '1.1', options = {threads = 4}}";
    assert_eq!(lines(options, script), "nil nil nil nil nil");
}

#[test]
fn reports_and_histograms_are_those_of_the_engine() {
    says(
        "sysbench.report_default{events = 1} sysbench.report_csv{events = 2} sysbench.report_json{events = 3}
         h = sysbench.histogram.new(10, 1, 100) h:update(4) h:update(5) h:print() print(h:percentile(50))
         print(pcall(h.update, h, 'x')) print(pcall(sysbench.histogram.new, 1, 1, 2))
         print(pcall(sysbench.histogram.new))",
        &[
            "default 1",
            "csv 2",
            "json 3",
            "4,5",
            "4",
            "false histogram:update(value): a number is needed, not a string",
            "false too small",
            "false sysbench.histogram.new(size, min, max): three numbers are needed",
        ],
    );
}

#[test]
fn random_numbers_have_the_names_of_the_version() {
    let script = "local names = {} for name in pairs(sysbench.rand) do names[#names + 1] = name end
         table.sort(names) print(table.concat(names, ' '), sysbench.rand.unique())";
    let expected = "default gaussian pareto string uniform uniform_double uniform_uint64 unique varstring \
                    zipfian 0-4294967295";
    assert_eq!(lines("{compat = '1.1'}", script), expected);
    assert!(said(script).contains("pareto special string"));
}
