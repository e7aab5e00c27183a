"""A run whose frames do not fit on the disk is refused before it starts."""

import pytest

from hpcchain import api
from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.parallel.comm import Single
from hpcchain.run.guards import disk

INPUT = '[box]\nsize = [9, 9, 9]\n[[molecule]]\nkind = "monomer"\ncount = 10\n[run]\nend_time = {}\n'


@pytest.fixture
def write(tmp_path):
    def put(end):
        path = tmp_path / "in.toml"
        path.write_text(INPUT.format(end))
        return path

    return put


def test_frames_are_counted_with_those_at_both_ends(write):
    config = load_config(write(5.0))
    assert disk.frames_between(config) == 6 and disk.frames_between(config, 3.0) == 2
    assert disk.frames_between(config, 3.5) == 2  # the last at the end, off the raster from there


def test_a_disk_too_small_is_named_with_the_key(write, tmp_path, monkeypatch):
    config = load_config(write(99.0))
    frame, checkpoints = 10 * 72, config.output.keep_checkpoints + 1
    need = (2 * 100 + 2 * checkpoints) * frame
    monkeypatch.setattr(disk, "free_bytes", lambda folder: need)
    disk.require_disk_for(config, 10, tmp_path / "out", None)
    monkeypatch.setattr(disk, "free_bytes", lambda folder: need - 1)
    with pytest.raises(ConfigError, match="in.toml: output.frame_every: 100 frames of 10 beads, twice while.*left"):
        disk.require_disk_for(config, 10, tmp_path / "out", None)
    there = (9 + 100) * frame  # of the 91 earlier frames there is a copy while the 9 new ones are joined to them
    monkeypatch.setattr(disk, "free_bytes", lambda folder: there)
    disk.require_disk_for(config, 10, tmp_path / "out", None, begin=90.0)
    monkeypatch.setattr(disk, "free_bytes", lambda folder: there - 1)
    with pytest.raises(ConfigError, match="9 frames of 10 beads, twice"):
        disk.require_disk_for(config, 10, tmp_path / "out", None, begin=90.0)


def test_free_bytes_of_a_folder_that_is_not_there_yet(tmp_path):
    assert disk.free_bytes(tmp_path / "a" / "b") > 0


def test_run_and_resume_refuse_before_they_write(write, tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "free_bytes", lambda folder: 6000)
    with pytest.raises(ConfigError, match="output.frame_every: 6 frames of 10 beads"):
        api.run(write(5.0), output=tmp_path / "out", comm=Single())
    assert not (tmp_path / "out" / "trajectory.h5").exists() and not (tmp_path / "out" / "checkpoints").exists()
    assert api.run(write(0.0), output=tmp_path / "out", comm=Single()) == 0
    with pytest.raises(ConfigError, match="output.frame_every: 6 frames of 10 beads"):
        api.resume(tmp_path / "out", until=5.0, comm=Single())
