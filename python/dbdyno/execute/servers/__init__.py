"""The servers of a plan: started, loaded, reached, restored and stopped."""
