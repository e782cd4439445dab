"""MongoDB, and what speaks its protocol: a client that only `dyno check` has a use for."""
