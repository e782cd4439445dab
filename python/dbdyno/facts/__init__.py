"""Facts: what a server, a file, a manifest or a log says, each with its place and time. Readers are
the only part that reads; rules (`dbdyno.rules.check`) judge what they are given."""
