"""`dyno plan`: the command, and the pilot that it runs."""
