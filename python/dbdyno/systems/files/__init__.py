"""Plain files: what a file system and the storage below it do."""
