"""The errors that `analyze` prints, against the scatter of the means of runs that differ in their seed alone."""

import json

import numpy as np
import pytest

SEEDS = 12
INPUT = """
[box]
size = [16.0, 16.0, 16.0]
[[molecule]]
kind = "chain"
beads = 20
count = 10
[initial]
seed = {seed}
[run]
end_time = {time}
[output]
frame_every = 1.0
report_every = 10.0
"""


@pytest.mark.long
@pytest.mark.parametrize("time", [20.0, 120.0])
def test_means_of_chains_scatter_by_the_errors_printed(run_hpcchain, tmp_path, time):
    rows = []
    for seed in range(SEEDS):
        path, out = tmp_path / f"{seed}.toml", tmp_path / f"out{seed}"
        path.write_text(INPUT.format(seed=seed, time=time))
        done = run_hpcchain(["run", path, "--output", out])
        assert done.returncode == 0, done.stderr
        done = run_hpcchain(["analyze", out, "--figures", "sizes,end_correlation", "--json"])
        assert done.returncode == 0, done.stderr
        values = {value["figure"]: value for value in json.loads(done.stdout)["runs"][0]["values"]}
        sizes = [values[name][key] for name in ("end_to_end", "radius_of_gyration") for key in ("value", "error")]
        rows.append([*sizes, values["end_correlation_time"]["value"]])
    for mean, error in ((0, 1), (2, 3)):
        ratio = np.std([row[mean] for row in rows], ddof=1) / np.mean([row[error] for row in rows])
        print(f"time {time}: scatter over error {ratio:.2f}, correlation {np.mean([row[4] for row in rows]):.3g}")
        assert 0.6 < ratio < 1.5
