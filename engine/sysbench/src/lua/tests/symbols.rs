//! `require("ffi").C` as scripts see it.

use super::*;

#[test]
fn functions_of_c_that_would_block_the_thread_wait_instead() {
    let ran = run(
        "local ffi = require('ffi')
         ffi.cdef [[int usleep(unsigned int); int abs(int); double sb_rand_uniform_double(void);]]
         function event()
           assert(ffi.C.usleep(10) == 0)
           assert(ffi.C.abs(-3) == 3)
           assert(ffi.C.sb_rand_uniform_double() < 1)
         end",
        1,
        1,
    );
    ran.assert_ended();
    assert!(ran.waits.iter().any(|wait| matches!(wait, Wait::Until(time) if *time > 0)));
}

#[test]
fn scripts_count_what_they_do_by_themselves() {
    let ran = run(
        "local ffi = require('ffi')
         ffi.cdef 'void sb_counter_inc(int, sb_counter_type);'
         function event(tid)
           ffi.C.sb_counter_inc(tid, ffi.C.SB_CNT_READ)
           ffi.C.sb_counter_inc(tid, ffi.new('sb_counter_type', 'SB_CNT_READ'))
           for _, name in ipairs { 'WRITE', 'OTHER', 'ERROR', 'RECONNECT' } do
             ffi.C.sb_counter_inc(tid, ffi.C['SB_CNT_' .. name])
           end
         end",
        1,
        2,
    );
    ran.assert_ended();
    let tally = &ran.tallies.sessions[0];
    assert_eq!((tally.reads.get(), tally.writes.get(), tally.others.get()), (4, 2, 2));
    assert_eq!((tally.errors.get(), tally.reconnects.get()), (2, 2));
}

#[test]
fn functions_of_c_are_there_and_those_within_sysbench_name_what_to_use() {
    let ran = run(
        "local ffi = require('ffi')
         ffi.cdef [[int abs(int); extern int optind; void *db_create(const char *);]]
         function event()
           for i = 1, 100 do assert(ffi.C.abs(-i) == i) end
           ffi.C.optind = 7
           assert(ffi.C.optind == 7)
           ffi.C.optind = 1
           assert(ffi.C.optind == 1)
           local buffer = ffi.new('char[5]')
           ffi.C.sb_rand_str('##-@', buffer)
           assert(ffi.string(buffer):match('^%d%d%-%l$'))
           assert(ffi.C.sb_rand_varstr(buffer, 2, 4) >= 2)
           local ok, message = pcall(function() return ffi.C.nothing_of_this_name end)
           assert(not ok and message:find('missing declaration'), message)
           ok, message = pcall(function() return ffi.C.db_create end)
           assert(not ok and message:find('^own.lua:15: ffi.C.db_create is') and message:find('driver()'), message)
         end",
        1,
        1,
    );
    ran.assert_ended();
}

#[test]
fn a_script_may_have_its_own_loop() {
    let ran = run(
        "local ffi = require('ffi')
         ffi.cdef 'bool sb_more_events(int);'
         function thread_run(tid)
           while ffi.C.sb_more_events(tid) do dyno.event_start() dyno.event_stop() end
         end",
        1,
        5,
    );
    ran.assert_ended();
    assert_eq!(ran.tallies.sessions[0].events.get(), 5);
}
