"""The propagators that there are: what each is, its keys, solvers and contact searches, and what else it moves.

Numbers are the codes in a molecule's table of constants; they stay as they are.
"""

from dataclasses import dataclass

from hpcchain.errors import ConfigError

VARIANTS = {"index2": 0, "index1": 1, "paper": 2}
"""Of collocation: which constraints are imposed at the nodes -> code."""
STAGE_SOLVERS = {"quasi-newton": 0, "newton": 1, "fixed-point": 2}
"""Of collocation: how its stages are solved -> code."""
STEP_SOLVER_CODES = {"tridiagonal": 0, "sweeping": 1, "analytic": 2, "multipliers": 3, "null-space": 4}
"""Of rattle and variational: how a step is solved -> code."""


@dataclass(frozen=True)
class Propagator:
    """What one propagator is.

    Attributes
    ----------
    meaning : str
        What it is, as the manual's table begins.
    stepped : bool
        Whether it moves molecules in steps, whose length the input gives.
    keys : tuple of str
        Keys of [propagator] that mean something for it, besides name, step and tolerance.
    solvers : tuple of str
        Solvers of a step that an input may name; first the default.
    contact_searches : tuple of str
        Searches for contacts that an input may name; first the default.
    moves_rods : bool
        Whether a kind of rods may have it of its own.
    turns_spheres : bool
        Whether spheres with directors may have it of their own.
    laws : tuple of str
        Laws of contacts that an input may name; first the default.
    """

    meaning: str
    stepped: bool = True
    keys: tuple[str, ...] = ()
    solvers: tuple[str, ...] = ()
    contact_searches: tuple[str, ...] = ()
    moves_rods: bool = False
    turns_spheres: bool = False
    laws: tuple[str, ...] = ()


PROPAGATORS = {
    "taylor": Propagator(
        "power series in time", stepped=False, keys=("stretches",), moves_rods=True, turns_spheres=True
    ),
    "collocation": Propagator(
        "Gauss collocation",
        keys=("stages", "variant", "stage_solver", "contact_interval", "contact_search", "contact_stages"),
        contact_searches=("root", "nested"),
    ),
    "variational": Propagator(
        "midpoint rule with a contact law of its own",
        keys=("solver", "collision"),
        solvers=("tridiagonal", "null-space", "multipliers"),
        turns_spheres=True,
        laws=("variational", "exact"),
    ),
    "rattle": Propagator(
        "SHAKE/RATTLE velocity Verlet",
        keys=("solver", "contact_search"),
        solvers=("tridiagonal", "sweeping", "analytic"),
        contact_searches=("root", "bisection"),
        moves_rods=True,
    ),
}
"""Name in the input -> Propagator; first the default. Rods fly exactly under all but rattle, spheres under all."""
DEFAULT = next(iter(PROPAGATORS))
ROD_PROPAGATORS = tuple(name for name, one in PROPAGATORS.items() if one.moves_rods)
SPHERE_PROPAGATORS = tuple(name for name, one in PROPAGATORS.items() if one.turns_spheres)


def users_of(key: str) -> tuple[str, ...]:
    """Return the propagators for which a key of [propagator] means something; () for one that all have."""
    return tuple(name for name, one in PROPAGATORS.items() if key in one.keys)


def choices(field: str) -> tuple[str, ...]:
    """Return what inputs may name of a field, such as "solvers", for one propagator or another, each once."""
    return tuple(dict.fromkeys(word for one in PROPAGATORS.values() for word in getattr(one, field)))


def solver_for(variant: str, solver: str) -> str:
    """Return the solver meant by a choice of solver, which may be "auto".

    Raises
    ------
    ConfigError
        If the variant's equations have no such solver: only index1 gives the multipliers as a function of the state.
    """
    if solver == "auto":
        return "fixed-point" if variant == "index1" else "quasi-newton"
    if solver == "fixed-point" and variant != "index1":
        raise ConfigError(
            f'propagator.stage_solver: "fixed-point" does not exist for variant "{variant}", whose multipliers are no '
            'function of the stages; choose "quasi-newton" or "newton", or variant "index1"'
        )
    return solver
