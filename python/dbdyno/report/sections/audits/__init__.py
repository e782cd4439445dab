"""What was read on the servers after the load: commits, histories, which node ran what."""
