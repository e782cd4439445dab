"""The kernel's clock source: how long reading the clock takes, which databases do often.

Source: Documentation/timers/timekeeping.rst of the kernel; vDSO support by source: vdso(7).
"""

from __future__ import annotations

from dbdyno.rules.machine.finding import FINE, FOUND, NOT_KNOWN, Finding, Place, Rule, not_known

_CURRENT = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_FAST = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"})
_SLOW = frozenset(
    {"hpet", "acpi_pm", "xen", "jiffies", "refined-jiffies", "pit", "hyperv_clocksource_msr"}
)


def _clock(place: Place) -> Finding:
    source = place.text(_CURRENT)
    if not source:
        return not_known("clock_source", _CURRENT)
    if source in _FAST:
        return Finding("clock_source", FINE, f"clock source {source}")
    if source not in _SLOW:
        return Finding("clock_source", NOT_KNOWN, f"how fast clock source {source} is")
    return Finding(
        "clock_source",
        FOUND,
        f"clock source {source}",
        "each reading of the clock is a system call or a device access of up to microseconds:"
        " statements with instrumentation (performance_schema, track_io_timing, EXPLAIN ANALYZE)"
        " and the generator's own time stamps are slower",
        f"echo tsc > /{_CURRENT} (see available_clocksource next to it), or boot with"
        " clocksource=tsc",
    )


CHECKS = (Rule("clock_source", "clock sources that are slow to read", _clock),)
