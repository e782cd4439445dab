"""A log as an experiment that can be run."""
