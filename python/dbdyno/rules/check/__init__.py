"""Rules on facts of servers, their files, manifests and logs: `dyno check`.

A pack is a folder here, a family of rules a file in it (docs/guide/check.md)."""
