"""The run directory: what a run leaves on disk, and how it is read back.

`run.Run` creates, opens and resumes it; `record.TrialRecord` is one finished trial;
`metrics.reduce.reduce_trial` turns a trial's events and samples into metrics;
`metrics.histogram` reads its latency histograms.
"""
