"""The input file: keys, defaults, checks and messages.

`keys` has all keys; `load` reads and `write` writes an input; `demands` refuses mistakes.
"""

from hpcchain.config.keys.sections import Config
from hpcchain.config.load import load_config

__all__ = ["Config", "load_config"]
