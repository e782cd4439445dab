"""What a plan will do and cost, and what a reader must know before."""
