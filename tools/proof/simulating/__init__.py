"""Simulated experiments, judged by what judges real ones: plans in their real order, records of
trials, `analysis.verdict`. Only the numbers in the records are made up."""
