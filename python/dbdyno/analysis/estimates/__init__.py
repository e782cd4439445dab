"""Cells, ratios, rates and rankings with intervals."""
