"""The manual's notebooks run from top to bottom; what they assert holds; outputs are stored that fit their cells."""

import pytest

from tests.support.launching import ROOT, clean_environment

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
MOST_BYTES = 400_000


def kinds_of(cell):
    """Return what a cell puts out, but for what libraries say of themselves: kinds of output and of their data."""
    shown = [one for one in cell.outputs if one.get("name") != "stderr"]
    return [(one.output_type, *sorted(one.get("data", {}))) for one in shown]


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} == {"melt", "results", "simulation"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    """Bits belong to a kind of processor, so it is not asked that the numbers are those that are stored."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.read(path, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    stored = [kinds_of(cell) for cell in cells]
    assert any("image/png" in kind for kinds in stored for kind in kinds) and path.stat().st_size < MOST_BYTES
    assert all(cell.execution_count == number for number, cell in enumerate(cells, 1))
    assert "Traceback" not in path.read_text(encoding="utf-8") and str(ROOT) not in path.read_text(encoding="utf-8")
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=200, kernel_name="python3", resources=place).execute(env=clean_environment())
    assert [kinds_of(cell) for cell in cells] == stored and len(cells) >= 5
