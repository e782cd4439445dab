"""Claims, ratios of versions, sweeps, costs and trade-offs."""
