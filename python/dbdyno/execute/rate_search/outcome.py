"""How a search ended, in a sentence for the trial's warnings."""

from __future__ import annotations

from dbdyno.execute.rate_search.search import Found
from dbdyno.wording.plurals import count


def outcome_text(found: Found) -> str:
    """Why a search has a bound or nothing instead of a rate; empty where it finished."""
    if found.finished:
        return ""
    probes = count(len(found.probes), "probe")
    passed, failed, last = found.passed, found.failed, found.probes[-1]
    if passed is None and failed is None:
        return (
            f"the highest rate is not measurable: at {last.rate_per_s:,g}/s"
            f" {_reason(found)}; measure longer, or raise `start`"
        )
    if passed is None:
        assert failed is not None
        return (
            f"the highest rate is below {failed.rate_per_s:,g}/s, the lowest rate probed: there"
            f" {failed.judgement.reasons[0]}; lower `start`, or measure longer"
        )
    if failed is None:
        return (
            f"the highest rate is at least {passed.rate_per_s:,g}/s: in {probes} no rate was shown"
            f" to fail{_unknown(found)}; raise `start`"
        )
    between = f"between {passed.rate_per_s:,g}/s, which passed, and {failed.rate_per_s:,g}/s"
    return (
        f"the search ended after {probes} {between}, which failed{_unknown(found)}, so the highest"
        " rate is known only as a lower bound: a `start` nearer by would let it finish"
    )


def _reason(found: Found) -> str:
    """Why the last rate could not be judged."""
    reasons = found.probes[-1].judgement.reasons
    return reasons[0] if reasons else "the probes disagreed, and no more were allowed"


def _unknown(found: Found) -> str:
    """What kept the last rate from being judged, if that ended the search."""
    last = found.probes[-1]
    if found.unjudged(last.rate_per_s):
        return f", and {last.rate_per_s:,g}/s could not be judged ({_reason(found)})"
    return ""
