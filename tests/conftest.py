"""What holds for all tests: how those that make up their input are run."""

from __future__ import annotations

from hypothesis import settings

# No test asserts timing. Hypothesis does by default, 200 ms an example, and neighbours are busy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
