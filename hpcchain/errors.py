"""Every error a user can meet, each with the exit code that it ends with (docs/reference/exit_codes.md)."""

EXIT_DONE = 0
EXIT_DIFFERENT = 1
EXIT_USAGE = 2
EXIT_DATA = 65
EXIT_INTERNAL = 70
EXIT_RESUBMIT = 75
EXIT_CONFIG = 78


class HpcchainError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the process ends with."""

    exit_code = EXIT_INTERNAL


class UsageError(HpcchainError, ValueError):
    """The command line asks for something that does not exist."""

    exit_code = EXIT_USAGE


class ConfigError(HpcchainError, ValueError):
    """The input is wrong; the message names the key or the beads and says what to change."""

    exit_code = EXIT_CONFIG


class DataError(HpcchainError, OSError):
    """A file is missing, foreign, truncated or damaged; the message names it."""

    exit_code = EXIT_DATA


class EngineError(HpcchainError, RuntimeError):
    """The dynamics cannot go on; the message names beads and time."""

    exit_code = EXIT_INTERNAL


class StepError(EngineError, ConfigError):
    """Steps cannot go on, with their length, these forces or this start; the message says what to change."""

    exit_code = EXIT_CONFIG


class CodeError(ConfigError):
    """A user's own code cannot be run, or not be trusted; the message names its file."""


class WindowError(EngineError):
    """The ranks do not agree on what happens in a window however short: contacts follow one another in no time."""
