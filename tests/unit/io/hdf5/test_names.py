"""Names in files are those that an input can give."""

import h5py
import pytest

from hpcchain.errors import DataError
from hpcchain.io.hdf5 import files


@pytest.mark.parametrize("bad", ["A\x1b[31m", "A\n", 3, None])
def test_names_that_no_input_has_are_refused(tmp_path, bad):
    """A terminal takes what follows an escape character for commands; `info` and `analyze` print names."""
    with h5py.File(tmp_path / "names.h5", "w") as file:
        for name, value in (("good", ["A", "größe ☃"]), ("bad", ["A", bad])):
            files.put_json(file, name, value, None)
        file.flush()
        assert files.get_names(file, "good") == ("A", "größe ☃")
        with pytest.raises(DataError, match="bad: are no names; the file was not made by this program"):
            files.get_names(file, "bad")
