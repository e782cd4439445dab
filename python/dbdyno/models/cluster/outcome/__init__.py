"""What a simulation saw: history, recorder, timeline."""
