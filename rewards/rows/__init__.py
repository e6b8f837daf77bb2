"""The one road from a line of a file or a data set, or a trainer's columns, to a Sample."""
