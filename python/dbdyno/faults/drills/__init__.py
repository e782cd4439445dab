"""Drills: what an operator does to servers, in steps that are timed. One file a drill."""
