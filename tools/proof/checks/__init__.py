"""What `dyno check` is put to: servers with planted defects, and their healthy twins."""
