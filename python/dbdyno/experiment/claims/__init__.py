"""Claims: their grammar, the metrics that they name, and the cells that they compare."""
