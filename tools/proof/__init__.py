"""`make proof`: measures what dbdyno promises and writes `docs/proof.md`.

One file a row in `rows/`. Each leaves `docs/proof/NAME.json` (and a figure), so that rows can be
measured one at a time, on a machine that is quiet just then; the page is drawn from the kept
outcomes.
"""
