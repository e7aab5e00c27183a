"""What the command line does with files: compare, inspect, verify, export.

Each reads files of any origin, and says in one line what is wrong with one.
"""
