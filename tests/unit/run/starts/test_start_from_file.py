"""What a run takes over from the checkpoint of another that it starts from."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.layout import arrays as L
from hpcchain.model.starts.spins import with_spins
from hpcchain.model.starts.start import build_system, physics_with
from hpcchain.parallel.comm import Single
from hpcchain.run.starts.start_from_file import spins_of

INPUT = """
[box]
size = [9.0, 9.0, 9.0]
[[molecule]]
kind = "monomer"
count = 2
directors = {directors}
positions = [[1.0, 1.0, 1.0], [4.0, 4.0, 4.0]]
[initial]
method = "explicit"
[contact]
tangential_restitution = {tangential}
[run]
end_time = 1.0
"""


@pytest.mark.parametrize("directors", ["false", "true"])
def test_smooth_runs_start_without_the_spins_of_rough_ones(tmp_path, directors):
    configs = {}
    for tangential in (0.5, 0.25, 1.0):
        text = INPUT.format(tangential=tangential, directors=directors)
        (tmp_path / "in.toml").write_text(text, encoding="utf-8")
        configs[tangential] = load_config(tmp_path / "in.toml")
    system = with_spins(build_system(configs[0.5]), configs[0.5])
    write_checkpoint(tmp_path / "c.h5", None, system, 0.0, {}, configs[0.5])
    found, ids = read_checkpoint(tmp_path / "c.h5"), np.arange(2)
    for tangential, columns in ((1.0, 0), (0.25, L.INSIDE)):
        new = replace(found.system, physics=physics_with(configs[tangential], found.system.physics.tick))
        rows = spins_of(found, Single(), new, ids, found.system.state.extra)
        assert rows.shape == (2, columns)
        if columns:
            assert np.array_equal(rows[:, L.SPIN : L.SPIN + 3], system.state.extra[:, L.SPIN : L.SPIN + 3])
