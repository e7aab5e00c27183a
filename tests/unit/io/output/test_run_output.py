"""The output of a run that goes on, was killed, or has ended: the same frames, reports and events from all of them."""

import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.errors import DataError
from hpcchain.io.growth_state import NUMBERS, GrowthState, write_growth
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.parts import read_head
from hpcchain.io.output.run_output import event_tables, open_frames, read_reports, run_output
from hpcchain.io.output.trajectory import Lasting
from hpcchain.io.tools.inspect import info
from hpcchain.io.tools.verify import verify
from tests.support.io_samples import system_of
from tests.support.unfinished import FRAMES, PARTS, run_folder


@pytest.mark.parametrize("joined", [0, 1, 2, PARTS])
def test_all_rows_are_read_wherever_they_are(tmp_path, joined):
    output = run_output(run_folder(tmp_path, joined))
    assert [output.rows(kind) for kind in ("trajectory", "observables", "events")] == [FRAMES * PARTS] * 3
    with open_frames(output) as frames:
        assert frames.time.tolist() == frames.step.tolist() == list(range(FRAMES * PARTS))
        assert frames.table("position", 4)[5].tolist() == [4015.0, 4016.0, 4017.0]
        assert frames.table("image", 8)[0].tolist() == [8000, 8001, 8002]
        slab = frames.beads("velocity", slice(1, 8, 3), 2, 4)
        assert slab.shape == (3, 2, 3)
        assert slab[:, 0, 0].tolist() == [-1006.0, -4006.0, -7006.0]
        assert frames.fixed.molecule.tolist() == [0, 0, 1, 1, 1, 1]
        assert frames.fixed.bonds.tolist() == [[0, 1], [2, 3], [3, 4], [4, 5]]
        assert frames.fixed.periodic.tolist() == [True, False, False]
    assert read_reports(output)["temperature"][2].tolist() == [1.5 * k for k in range(FRAMES * PARTS)]
    for shares in (1, 2, 5):
        tables = [table for share in range(shares) for table in event_tables(output, share, shares)]
        assert sorted(np.concatenate(tables)["time"]) == [k + 0.5 for k in range(FRAMES * PARTS)]


def test_files_and_parts_stand_for_what_they_are(tmp_path):
    folder = run_folder(tmp_path, 2)
    assert run_output(folder / "trajectory.h5").rows("trajectory") == 2 * FRAMES
    assert not run_output(folder / "trajectory.h5").has("observables")
    for path in (folder / "parts" / "part-000002.h5", next((folder / "checkpoints").iterdir())):
        assert run_output(path).rows("trajectory") == PARTS * FRAMES


def test_what_is_missing_or_damaged_is_named(tmp_path):
    folder = run_folder(tmp_path / "a", 1)
    (folder / "trajectory.h5").unlink()
    with pytest.raises(DataError, match="trajectory.h5: nothing is there of 3 frames before part-000001.h5"):
        run_output(folder)
    folder = run_folder(tmp_path / "b", 0)
    middle = folder / "parts" / "part-000001.h5"
    kept = middle.read_bytes()
    middle.write_bytes(kept[:-50])
    with pytest.raises(DataError, match="part-000001.h5: damaged"):
        run_output(folder)
    middle.unlink()
    with pytest.raises(DataError, match="part-000002.h5: does not begin where part-000000.h5 ends"):
        run_output(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="neither observables.h5 nor trajectory.h5"):
        run_output(tmp_path / "empty")


def test_without_a_checkpoint_nothing_says_what_the_beads_are(tmp_path):
    folder = run_folder(tmp_path, 0)
    next((folder / "checkpoints").iterdir()).unlink()
    with pytest.raises(DataError, match="no whole checkpoint"):
        with open_frames(run_output(folder)):
            pass


def test_export_and_info_read_a_run_that_goes_on(tmp_path, capsys):
    texts = []
    for joined in (0, 2, PARTS):
        folder = run_folder(tmp_path / str(joined), joined)
        assert main(["export", str(folder), "--to", "extxyz", "-o", str(tmp_path / f"{joined}.xyz")]) == 0
        texts.append((tmp_path / f"{joined}.xyz").read_text())
        assert main(["info", str(folder)]) == 0
        printed = capsys.readouterr().out
        assert "9, time 0.0 to 8.0" in printed and "ckpt-" in printed
        assert ("not yet joined" in printed) == (joined < PARTS)
    assert texts[0] == texts[1] == texts[2]
    assert main(["info", str(tmp_path / "nothing")]) == 65


def test_info_of_a_run_that_has_only_begun(tmp_path, capsys):
    (tmp_path / "input.toml").write_text("")
    assert main(["info", str(tmp_path)]) == 0
    assert "it has written no output yet" in capsys.readouterr().out


def test_two_runs_are_compared_file_by_file(tmp_path, capsys):
    a, b, open_run = (run_folder(tmp_path / name, joined) for name, joined in (("a", PARTS), ("b", PARTS), ("c", 1)))
    assert main(["compare", str(a), str(b)]) == 0
    (b / "events.h5").unlink()
    assert main(["compare", str(a), str(b)]) == 1
    assert "events.h5 is not in" in capsys.readouterr().out
    assert main(["compare", str(a), str(open_run)]) == 65


def test_parts_that_the_run_joins_meanwhile_are_read_from_the_joined_files(tmp_path):
    """As when a run ends under a command that reads it."""
    system, output = system_of([2, 4]), run_output(run_folder(tmp_path, 1))
    with open_frames(output) as frames:
        assert frames.table("position", 7)[0, 0] == 7000.0
        last = read_head(output.parts[-1].path)
        assemble(
            tmp_path, None, Lasting(system.topology, system.box), last.end | {"part_seal": last.seal, "part": PARTS}
        )
        assert not output.parts[0].path.exists()
        assert [frames.table("position", k)[0, 0] for k in (2, 3, 8)] == [2000.0, 3000.0, 8000.0]
    with open_frames(output) as frames:
        assert frames.time.tolist() == list(range(FRAMES * PARTS))
    assert read_reports(output)["temperature"][1].tolist() == list(range(FRAMES * PARTS))
    tables = [table for share in range(2) for table in event_tables(output, share, 2)]
    assert sorted(np.concatenate(tables)["time"]) == [k + 0.5 for k in range(FRAMES * PARTS)]


@pytest.mark.parametrize("kind", ["trajectory", "observables", "events"])
def test_a_file_that_is_in_parts_yet_stands_for_its_run(tmp_path, kind):
    folder = run_folder(tmp_path, 0)
    assert run_output(folder / f"{kind}.h5").rows("events") == PARTS * FRAMES
    assert info(folder / f"{kind}.h5") == info(folder)
    with pytest.raises(DataError, match="no such file"):
        run_output(folder / "growth.h5")


def test_a_start_that_is_still_growing_is_said(tmp_path):
    numbers = dict.fromkeys(NUMBERS, 0) | {"placed": 0.5, "slice": 2, "step": 0.125}
    write_growth(tmp_path / "growth.h5", GrowthState(*np.zeros((4, 4, 3)), **numbers), "")
    with pytest.raises(DataError, match="its start is still growing: there is no output yet"):
        run_output(tmp_path)
    assert "its start is still growing" in info(tmp_path)
    (line,) = verify(tmp_path)
    assert line.startswith("growth.h5: whole, a start that is still growing") and line.endswith("0.75 of full size")
