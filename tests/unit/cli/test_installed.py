"""What a plain installation has: job scripts, versions, and one clear word where h5py cannot serve several ranks."""

import subprocess
import sys

import pytest

from hpcchain.cli import template
from hpcchain.cli.main import main
from hpcchain.errors import UsageError
from hpcchain.io.hdf5 import files
from tests.support.launching import ROOT, run_python


@pytest.mark.parametrize("name", template.JOBS)
def test_a_job_script_stands_alone(capsys, name, tmp_path):
    assert main(["template", "--job", name]) == 0
    text = capsys.readouterr().out
    assert text.startswith("#!/usr/bin/env bash\n#") and "#SBATCH --signal=B:USR1@300" in text
    assert "jobs/" not in text.replace("jobs/demo.toml", "") and "until_done()" in text and "flock 9" in text
    assert f"HPCCHAIN_VENV:-{sys.prefix}" in text
    (tmp_path / "job.sh").write_text(text)
    done = subprocess.run(["bash", "-n", tmp_path / "job.sh"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_node_program_comes_through_as_it_is(capsys, tmp_path):
    """A here-document inside a command substitution keeps every byte but the last line's end."""
    main(["template", "--job", "run"])
    text = capsys.readouterr().out
    begin, end = text.index("warm_node=$("), text.index("END_OF_WARM_NODE\n)\n") + len("END_OF_WARM_NODE\n)\n")
    done = subprocess.run(["bash", "-c", f'{text[begin:end]}echo "$warm_node"'], capture_output=True, text=True)
    assert done.stdout == (ROOT / "jobs" / "warm_node.sh").read_text(), done.stderr


def test_the_scripts_that_come_along_are_those_of_the_folder_jobs():
    for name in (*template.JOBS, "common", "warm_node"):
        assert template.job_text(name) == (ROOT / "jobs" / f"{name}.sh").read_text()


def test_version_names_mpi_hdf5_and_numba(capsys):
    assert main(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "hpcchain 0.1.0" and [line.split()[0] for line in lines[1:]] == [
        "Python",
        "numba",
        "MPI",
        "HDF5",
    ]
    assert ", parallel, h5py 3." in lines[4] and "mpi4py 4." in lines[3]


class Several:
    def Get_size(self):
        return 3

    def allgather(self, value):
        return [value] * 3

    def Allreduce(self, sent, received):
        received[0] = 3 * sent[0]


def test_several_ranks_need_a_parallel_h5py(monkeypatch):
    files.require_parallel(Several())
    monkeypatch.setattr(files, "library", lambda: ("1.14.6", False))
    files.require_parallel(None)
    with pytest.raises(
        UsageError,
        match=r"3 ranks write .* HDF5 1.14.6\) was built without MPI.*HDF5_MPI=ON .*--no-build-isolation .*h5py",
    ):
        files.require_parallel(Several())


SERIAL = """
import sys
import h5py
config = h5py.get_config()
class Serial:
    mpi = False
h5py.get_config = lambda: Serial
from hpcchain.cli.main import main
sys.exit(main(["run", "in.toml", "--output", "out"]))
"""
INPUT = '[box]\nsize = [6, 6, 6]\n[[molecule]]\nkind = "monomer"\ncount = 20\n[run]\nend_time = 0.1\n'


def test_with_a_serial_h5py_one_rank_works_and_several_are_refused_at_once(tmp_path):
    (tmp_path / "serial.py").write_text(SERIAL)
    (tmp_path / "in.toml").write_text(INPUT)
    several = run_python(["serial.py"], tmp_path, ranks=2)
    assert several.returncode == 2 and several.stderr.count("built without MPI") == 1, several.stderr
    assert "growing" not in several.stderr and not (tmp_path / "out").exists()
    alone = run_python(["serial.py"], tmp_path)
    assert alone.returncode == 0 and (tmp_path / "out" / "trajectory.h5").is_file(), alone.stderr
