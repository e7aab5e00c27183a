"""Property test: random systems in steps have the same bits on 1 to 5 ranks, with any lists, and across restarts."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.stepped import LJ, liquid, require_equal, rigid, run_on, system_of

END = 0.2


def flexible(seed, hot):
    """Return a liquid of monomers and flexible chains."""
    return liquid(seed, beads=90, chains=3, initial={"temperature": 8.0 if hot else 1.0})


def stiff(seed, hot):
    """Return rigid molecules of all shapes."""
    return rigid(seed, count=2, initial={"temperature": 8.0 if hot else 1.0})


def hard(seed, hot):
    """Return hard rigid molecules without potentials."""
    sections = {"initial": {"temperature": 25.0 if hot else 4.0}, "steps": {"step": 0.0025}}
    tables = rigid(seed, count=2, pitch=3.3, potential=[], **sections)
    for kind in tables["molecule"]:
        kind |= {"hard": True, "diameter": 0.7}
    return tables


def attracting(seed, hot):
    """Return hard rigid molecules that attract, on either base and with either energy of reflections."""
    tables = hard(seed, hot)
    tables["potential"] = [LJ | {"sigma": 0.65}]
    tables["steps"] |= {"base": ("verlet", "midpoint")[seed % 2], "energy": ("H", "H2")[seed // 2 % 2]}
    return tables


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    build=st.sampled_from([flexible, stiff, hard, attracting]),
    seed=st.integers(1, 10**6),
    hot=st.booleans(),
    ranks=st.lists(st.integers(1, 5), min_size=2, max_size=2),
    skin=st.sampled_from([0.3, 0.45, 0.7]),
    cut=st.integers(1, 7),
)
def test_bits(build, seed, hot, ranks, skin, cut):
    system = system_of(build(seed, hot))
    once = run_on(system, END, 1)
    begun = replace(system, state=run_on(system, 0.025 * cut, ranks[0], skin=skin)[4])
    require_equal(once, run_on(begun, END, ranks[1]))
