"""Whether the wait of answers for the generator itself is reported: known waits within and behind a
batch of answers, next to the counted lag."""

from __future__ import annotations

from tools.proof import cargo
from tools.proof.row import Effort, Outcome, Row, Table

CRATE = "dyno-generator"
# Module, test, what has waited, and what the lag has.
CASES = (
    (
        "simulation::unread",
        "answers_that_came_while_the_thread_slept_have_not_waited",
        "five answers that wake the thread: 0 us",
        "0 us",
    ),
    (
        "simulation::unread",
        "answers_that_came_while_their_batch_was_handled_have_waited_for_the_rest_of_it",
        "answers ready at once, five sessions with turns of 125 us: 0 to 500 us, mean 250 us",
        "0 to 500 us, mean 250 us",
    ),
    (
        "reactor::turn::unread::tests",
        "what_came_while_others_were_handled_has_waited_for_them",
        "an answer to an earlier request, ready at any time since the poll before",
        "since the poll before returned: no less than it waited",
    ),
    (
        "reactor::turn::unread::tests",
        "what_is_read_late_in_a_batch_has_waited_since_the_poll_before_it",
        "the rest of a batch that is handled in two parts: 8 us",
        "8 us",
    ),
    (
        "reactor::turn::unread::tests",
        "what_the_thread_waited_for_a_cpu_is_not_its_own_doing",
        "an answer while the thread, for 9 us, has a CPU for 0.7 us",
        "0.7 us",
    ),
)


def measure(effort: Effort) -> Outcome:
    """Each case is a test of the engine under simulated time."""
    names = [f"{module}::{test}" for module, test, _, _ in CASES]
    found = {} if effort.quick else cargo.exact(CRATE, names)
    passed = sum(found.values())
    return Outcome(
        measured=(
            f"{passed} of {len(CASES)} known waits are in the lag"
            if found
            else "the tests under simulated time were not run"
        ),
        met=passed == len(CASES) if found else None,
        tables=(
            Table(
                "Known waits (`cargo test -p dyno-generator unread`)",
                ("test", "waited", "lag", "result"),
                tuple(
                    (f"`{test}`", waited, lag, _result(found.get(name)))
                    for name, (_, test, waited, lag) in zip(names, CASES, strict=True)
                ),
            ),
        ),
        notes=(
            "Lag is an upper bound: an answer may have come any time since the poll before."
            " How long the load thread waits for a CPU is not in it.",
        ),
    )


def _result(passed: bool | None) -> str:
    return {None: "not run", True: "exact", False: "failed"}[passed]


ROW = Row(
    name="generator_wait",
    claim="The generator tells how long answers waited for it",
    how=(
        "Under simulated time a real load thread serves five sockets. Answers are ready as soon as"
        " they are asked for, and each session's turn takes 125 us: so it is known how long each"
        " answer lies unread, and the lag that is recorded must be that."
    ),
    bar="all tests exact",
    measure=measure,
    timed=False,
    before=(
        "0 us of up to 500 us: an answer that came while its batch was handled had no lag at all"
        " (commit 42ce8be)"
    ),
)
