"""The input file: keys, defaults, checks and messages.

`schema` has all keys; `load` reads and `write` writes an input; `check`, with what it calls, refuses mistakes.
"""

from hpcchain.config.load import load_config
from hpcchain.config.sections import Config

__all__ = ["Config", "load_config"]
