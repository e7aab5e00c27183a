"""What there is to choose from: solvers, variants and contact searches of each propagator, and which move rods.

Numbers are the codes in a molecule's table of constants; they stay as they are.
"""

from hpcchain.errors import ConfigError

VARIANTS = {"index2": 0, "index1": 1, "paper": 2}
"""Of collocation: which constraints are imposed at the nodes -> code."""
STAGE_SOLVERS = {"quasi-newton": 0, "newton": 1, "fixed-point": 2}
"""Of collocation: how its stages are solved -> code."""
STEP_SOLVER_CODES = {"tridiagonal": 0, "sweeping": 1, "analytic": 2, "multipliers": 3, "null-space": 4}
"""Of rattle and variational: how a step is solved -> code."""
STEP_SOLVERS = {
    "variational": ("tridiagonal", "null-space", "multipliers"),
    "rattle": ("tridiagonal", "sweeping", "analytic"),
}
"""Propagator -> the solvers of a step that an input may name; first the default."""
CONTACT_SEARCHES = {"collocation": ("root", "nested"), "rattle": ("root", "bisection")}
"""Propagator -> the searches for contacts that an input may name; first the default."""
ROD_PROPAGATORS = ("taylor", "rattle")
"""What a kind of rods may have of its own: exact flight, Tapia-McClung and Grønbech-Jensen 2005's step."""


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
