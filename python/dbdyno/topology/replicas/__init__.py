"""A primary and its replicas, one file a kind of server. All start on copies of one stopped
directory, so that no replica needs a dump: it reads the primary's log from its first entry."""
