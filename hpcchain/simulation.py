"""The earlier name of `hpcchain.api`, for programs that import it."""

from hpcchain.api import build, replicate, resume, run, warm_up, warmup

__all__ = ["build", "replicate", "resume", "run", "warm_up", "warmup"]
