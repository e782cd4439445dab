"""Runs an experiment with `dyno run` and disturbs it at known moments.

`driven` is the process that runs it and disturbs it from a thread; `drive` starts that process and
reads what it left; `kinds` are the disturbances. Nothing of dbdyno is replaced: one seam tells the
process which server the trial runs on, and may put a proxy before it.
"""
