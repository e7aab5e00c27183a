"""What arrays mean: names of columns, bits and offsets, and where the arrays lie in memory."""
