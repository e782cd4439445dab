"""From events and samples of a trial to metrics, and trials as arrays over time. Pure."""
