"""What a report leads with, in two sentences, and what moved with the difference."""
