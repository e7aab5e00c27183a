"""What the command line does with files: compare, inspect, verify, export."""
