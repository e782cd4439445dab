"""Numbers, counted nouns and sentences as text: what the analysis found, in words."""
