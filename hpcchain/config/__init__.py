"""The input file: keys, defaults, checks and messages."""

from hpcchain.config.load import load_config
from hpcchain.config.sections import Config

__all__ = ["Config", "load_config"]
