"""What an input that has stretches of long chains moved by themselves (`propagator.stretches`) must not ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcchain.config.demands.capabilities import check_law
from hpcchain.config.keys.values import Wrong

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config


def check_stretches(config: Config) -> None:
    """Raise Wrong, with key and reason, where stretches do not go with what else the input asks for.

    Parameters
    ----------
    config : Config
        Sound but for that.
    """
    own = [(f"molecule[{k}].propagator", kind.propagator) for k, kind in enumerate(config.molecules) if kind.propagator]
    asking = [where for where, one in [("propagator", config.propagator), *own] if one.stretches]
    if not asking:
        return
    if config.run.engine != "events":
        raise Wrong(f'{asking[0]}.stretches: means nothing for run.engine "{config.run.engine}"; remove it')
    check_law(config, f"{asking[0]}.stretches")
