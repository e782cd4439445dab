"""How large must the server of Percona Monitoring and Management be?

Memory and processors grow with the number of systems that are watched, or with the samples that
they send, whichever asks for more. The rule is one of experience.

Formula:
    by_systems [size] = systems / 8 * GiB
        memory for systems at the default resolution: 8 a GB
    by_samples [size] = samples * second / 15000 * GiB
        memory for samples: 15,000 a second a GB
    rule [size] = max(by_systems, by_samples)
        the larger one
    memory [size] = max(rule, 2 * GiB if rule <= 5 / 8 * GiB else 8 * GiB)
        at least 8 GB, where the rule begins; 2 GB is the minimum, and serves up to 5 systems, or
        the samples that have the rule ask for as much as 5 systems (9,375 a second)
    cores [count] = max(1, ceil(systems / 50), ceil(samples * second / 100000))
        processor cores: 50 systems, or 100,000 samples a second, each

Assumptions:
    Systems of ordinary size, the default resolution of one second, the default exporters. Table
    statistics of many tables and long-lived distinct queries make one system cost as much as ten:
    measure the samples (`prometheus_tsdb_head_samples_appended_total`) where it matters.

    GB of memory are read as 2^30 bytes.

Versions:
    PMM 1.13 to 1.17, with Prometheus 2 inside. PMM 2 has other agents (and since 2.12
    VictoriaMetrics): the figures do not hold for it.

Source:
    Percona's published test with up to 1000 nodes on 128 GB and 24 cores, of PMM 1.13 (2018).
    Read 2026-11.

Trap:
    The rule is quoted from 1 GB on. It holds from 8 GB up; below, the server itself needs most of
    it: 2 GB are the minimum and serve up to 5 systems, not 16, and up to 9,375 samples a second,
    not 30,000.

    The two rules disagree: 1000 systems ask for 125 GB and, at 2 million samples a second, for
    133 GB. The larger one counts.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("systems", "count", "systems that are watched", "0", "0", "20k", whole=True,
          example="1000"),
    Input("samples", "rate", "samples they send together, if known", "0/s", "0/s", "30000000/s"),
)  # fmt: skip
OUTPUTS = ("memory", "cores", "rule")
SAYS = (
    ("systems <= 0", "Samples at {samples} need {memory} of memory; cores: {cores}."),
    ("", "{systems} systems need {memory} of memory; cores: {cores}."),
)
REFUSALS = (Note("systems <= 0 and samples <= 0", "give the number of systems or samples"),)
NOTES = (
    Note("rule < 8 * GiB and memory > rule",
         "below 8 GB the rule does not apply ({rule}); this is the smallest size that is known to"
         " serve"),
    Note("systems > 1000 or samples * second > 2 * million",
         "beyond what was tested: 1000 systems and 2 million samples a second"),
)  # fmt: skip
GOLDEN = (
    Golden({"systems": "1000"}, {"memory": "125Gi", "cores": "20"}, "the published rule"),
    Golden({"samples": "2000000/s"}, {"memory": "133Gi", "cores": "20"},
           "the published rule"),
    Golden({"systems": "5"}, {"memory": "2Gi", "cores": "1"}, "the published minimum"),
    Golden({"systems": "16"}, {"memory": "8Gi", "rule": "2Gi"}, "the rule begins at 8 GB"),
    Golden({"samples": "30000/s"}, {"memory": "8Gi", "rule": "2Gi"},
           "by hand: as much as 16 systems"),
    Golden({"samples": "9375/s"}, {"memory": "2Gi", "rule": "640Mi"},
           "by hand: as much as 5 systems"),
    Golden({"samples": "9376/s"}, {"memory": "8Gi"}, "by hand"),
)  # fmt: skip
