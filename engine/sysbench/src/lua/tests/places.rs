//! Errors that tell the script's own place, not one of ours.

use super::*;

#[test]
fn an_event_is_no_coroutine_of_the_script() {
    let ran = run("function event()\n coroutine.yield(1)\nend", 1, 1);
    assert_eq!(
        ran.failure(),
        "`thread_run' function failed: own.lua:2: attempt to yield across C-call boundary"
    );
    run(
        "function event()
           assert(coroutine.running() == nil)
           local co = coroutine.create(function(a)
             assert(coroutine.running())
             return coroutine.yield(a + 1)
           end)
           local ok, got = coroutine.resume(co, 1)
           assert(ok and got == 2)
           ok, got = coroutine.resume(co, 'end')
           assert(ok and got == 'end' and coroutine.status(co) == 'dead')
         end",
        1,
        2,
    )
    .assert_ended();
}

#[test]
fn a_symbol_that_is_nowhere_is_an_error_in_the_scripts_line() {
    let ran = run(
        "local ffi = require('ffi')
         ffi.cdef 'int no_such_symbol(void);'
         function event()
           ffi.C.no_such_symbol()
         end",
        1,
        1,
    );
    let place = "`thread_run' function failed: own.lua:4: ";
    assert!(ran.failure().starts_with(place), "{}", ran.failure());
    assert!(ran.failure().ends_with("undefined symbol: no_such_symbol"), "{}", ran.failure());
    assert!(!ran.failure().contains("base.lua"), "{}", ran.failure());
}
