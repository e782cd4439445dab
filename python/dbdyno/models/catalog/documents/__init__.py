"""Models of MongoDB and document stores."""
