"""What the noise of trials is made of, and why nothing can be planned."""

from __future__ import annotations

PLAIN = {
    "about_both": "every trial follows a start of its own, which confounds restart and trial",
    "about_trial": "what trials on one server differ by",
    "about_second": "what {length_s:g} s leave of the noise of seconds; falls with longer trials",
    "about_restart": "what starts of the servers differ by; only more blocks average it out",
    "not_judged_here": "it cannot be judged in this run",
    "power_unknown": "its values come in steps, counts or bounds, whose power blocks do not tell",
    "budget": "The experiment's budget is {minutes:.0f} min.",
    "compares_nothing": "the experiment compares nothing",
    "looks_leave": "The run is analysed after each block, which leaves {percent:.0f} % of the"
    " error budget to the last look; a clear difference ends it earlier.",
}


def nothing_planned(why: str, more: int) -> str:
    """The first reason of several."""
    others = f" ({more} more)" if more > 0 else ""
    return f"no comparison can be planned: {why}{others}"
