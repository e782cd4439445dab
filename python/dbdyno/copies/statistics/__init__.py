"""What a copy knows of rows: frequencies without values, ends of ranges, lengths, correlation."""
