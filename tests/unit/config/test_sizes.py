"""Beads of one kind that have many sizes: what they are, which bead has which, and how the input is written again."""

import tomllib
import tracemalloc

import numpy as np
import pytest

from hpcchain.config.load import config_from_table
from hpcchain.errors import ConfigError
from hpcchain.io.output.trajectory import bead_types
from hpcchain.model.topology import build_composition
from hpcchain.run.starts.replicate import enlarged

BOX = {"box": {"size": [50.0] * 3}, "run": {"end_time": 1.0}}
NORMAL = {"mean": 1.2, "deviation": 0.15}
TWO = {"sizes": [1.4, 1.0], "shares": [1, 2]}


def loaded(*molecules, **more):
    """Return the Config of kinds of molecules."""
    return config_from_table(BOX | {"molecule": [{"kind": "monomer"} | one for one in molecules]} | more, "in")


def diameters(config):
    """Return the diameters of all beads, as the engines get them."""
    found = build_composition(config).whole().diameter
    assert np.array_equal(found, build_composition(config).whole().diameter)
    return found


@pytest.mark.parametrize("count", [2, 100, 1000, 12345])
@pytest.mark.parametrize("more", [{}, {"distribution": "log-normal"}, {"deviation": 0.0}])
def test_a_sample_has_the_mean_and_deviation(count, more):
    sizes = NORMAL | more
    found = diameters(loaded({"count": count, "diameter": sizes}))
    assert len(found) == count and len(np.unique(found)) <= 128
    assert found.mean() == pytest.approx(1.2, abs=1e-8) and np.all(np.diff(found) >= 0.0)
    assert found.std() == pytest.approx(sizes["deviation"], abs=1e-7)


def test_distributions_are_those_of_their_names():
    """Third moments: none of a normal one; of a log-normal one that of the distribution, less what is cut."""
    normal, log = (
        diameters(loaded({"count": 2000, "diameter": NORMAL | {"distribution": name}}))
        for name in ("normal", "log-normal")
    )
    assert np.mean((normal - 1.2) ** 3) / 0.15**3 == pytest.approx(0.0, abs=0.002)
    assert np.mean((log - 1.2) ** 3) / 0.15**3 == pytest.approx(3.0 * 0.125, rel=0.25)
    assert np.std(np.log(log)) == pytest.approx(np.sqrt(np.log(1.0 + 0.125**2)), rel=0.01)


def test_shares_are_right_to_one_bead_and_in_the_lists_order():
    assert diameters(loaded({"count": 100, "diameter": TWO})).tolist() == [1.4] * 33 + [1.0] * 67
    assert diameters(loaded({"count": 2, "diameter": TWO})).tolist() == [1.4, 1.0]


@pytest.mark.parametrize("sizes", [NORMAL, TWO])
def test_no_number_is_kept_for_each_bead(sizes):
    """Or a check of 1e9 beads took minutes and all memory."""
    tracemalloc.start()
    kinds = loaded({"count": 10**7, "diameter": sizes}, box={"size": [5000.0] * 3}).molecules
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(kind.count for kind in kinds) == 10**7 and peak < 10**7


def test_beads_along_chains_have_sizes_by_the_seed():
    chains = {"kind": "chain", "beads": 10, "count": 60, "diameter": NORMAL}
    one, same, other = (diameters(loaded(chains, initial={"seed": seed})) for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)
    assert np.array_equal(np.sort(one), np.sort(other))
    along = one.reshape(60, 10) - one.mean()
    assert abs(np.mean(along[:, 1:] * along[:, :-1])) < 0.15**2 / 5.0
    many = diameters(loaded(chains | {"count": 1000})).reshape(1000, 10)
    assert len(np.unique(many, axis=0)) == 128


def test_what_is_written_is_what_was_read():
    config = loaded({"count": 40, "diameter": TWO}, {"kind": "chain", "beads": 3, "count": 9, "diameter": NORMAL})
    text = config.to_toml()
    assert text.count("[[molecule]]") == 2 and "{ sizes = [1.4, 1.0], shares = [1.0, 2.0] }" in text
    assert config_from_table(tomllib.loads(text), "in").molecules == config.molecules


def test_rows_of_a_start_go_with_their_beads():
    rows = [[2.0 * k, 0.0, 0.0] for k in range(6)]
    keys = {"box": {"size": [12.0] * 3}, "initial": {"method": "explicit"}}
    config = loaded({"count": 6, "diameter": TWO, "positions": rows, "velocities": rows}, **keys)
    assert [one.positions.tolist() for one in config.molecules] == [rows[:2], rows[2:]]
    assert config_from_table(tomllib.loads(config.to_toml()), "in").molecules == config.molecules


def test_copies_have_the_sizes_that_there_were():
    keys = {"box": {"size": [12.0] * 3}}
    config = loaded({"count": 500, "diameter": NORMAL}, **keys)
    large = enlarged(config, (3, 1, 1), "start.h5")
    assert [one.count for one in large.molecules] == [3 * one.count for one in config.molecules]
    assert config_from_table(tomllib.loads(large.to_toml()), "in").molecules == large.molecules
    chains = loaded({"kind": "chain", "beads": 2, "count": 5, "diameter": NORMAL}, **keys)
    with pytest.raises(
        ConfigError, match=r"molecule\[0\].diameter: molecules with beads of many sizes cannot be copied"
    ):
        enlarged(chains, (3, 1, 1), "start.h5")


WRONG = (
    ({"mean": 1.0}, "diameter: deviation: is missing; needs mean and deviation"),
    ({"mean": 1.0, "deviation": 1.0}, "diameter: deviation: 1 is not below the mean 1"),
    ({"mean": 1.0, "deviation": 0.5}, "diameter: deviation: 0.5 makes beads of no size"),
    ({"mean": 1.0, "deviation": 0.1, "distribution": "flat"}, "diameter: distribution: 'flat' is unknown; use"),
    ({"mean": 1.0, "deviation": 0.1, "least": 0.5}, "diameter: least: unknown key; needs mean and deviation"),
    ({"sizes": [1.0, 1.1]}, "diameter: shares: is missing; needs sizes and shares"),
    ({"sizes": [1.0, 1.1], "shares": [1.0]}, "diameter: shares: is a list of 1; needs 2, one per size"),
    ({"sizes": [], "shares": []}, "diameter: sizes: is a list of 0; needs 1 to 128"),
    ({"sizes": [1.0, 1.0], "shares": [1.0, 1.0]}, "diameter: sizes: has the same size twice"),
    ({"sizes": [1.0, -1.0], "shares": [1.0, 1.0]}, "diameter: sizes: entry 1: -1 is out of range"),
)


@pytest.mark.parametrize(("sizes", "message"), WRONG)
def test_what_is_no_distribution_is_refused(sizes, message):
    with pytest.raises(ConfigError) as caught:
        loaded({"count": 10, "diameter": sizes})
    assert str(caught.value).startswith(f"in: molecule[0].{message}") and "\n" not in str(caught.value)


def test_messages_call_tables_by_their_own_numbers():
    with pytest.raises(ConfigError, match=r"^in: molecule\[1\].bond_length: "):
        loaded({"count": 50, "diameter": NORMAL}, {"kind": "ring", "beads": 3, "bond_length": [1.0, 1.0, 3.0]})


def test_beads_of_many_sizes_are_one_species():
    """Lists of diameters along a molecule still are one for each; so are other kinds of the same type."""
    mixed = loaded({"count": 50, "diameter": NORMAL}, {"kind": "chain", "beads": 2, "diameter": [1.0, 1.1]})
    species, names = bead_types(build_composition(mixed).whole())
    assert names == ["A", "B.0", "B.1"] and species.tolist() == [0] * 50 + [1, 2]
