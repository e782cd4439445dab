"""From claims to verdicts: contrasts, the error budget, interim looks, the text of a verdict."""
