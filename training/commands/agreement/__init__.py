"""`spanreward agreement`: one file per subcommand, with its options, its numbers and its tables."""
