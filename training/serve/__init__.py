"""`spanreward serve`: one reward as an HTTP service."""
