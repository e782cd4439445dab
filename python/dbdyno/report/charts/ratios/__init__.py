"""Charts of ratios and of one metric against another."""
