"""The command line: one module per command, and the console that logs, reports errors and ends the process.

`main` parses and dispatches; exit codes and messages are decided in `console`.
"""
