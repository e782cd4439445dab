"""What a transaction costs, and which cost option beats which."""
