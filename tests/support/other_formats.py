"""Files of other programs, as they write them, for tests of starts that are made of them."""

import numpy as np

SIDE = 7.5


def write_data(path, position, bonds=(), box=(SIDE,) * 3, style="bond", sequence=None, digits=17):
    """Write LAMMPS data as others do: wrapped, with few digits, atoms in any sequence."""
    position = np.mod(position, box)
    count = len(position)
    molecule = "1 " if style == "bond" else ""
    lines = ["others", "", f"{count} atoms", f"{len(bonds)} bonds", "1 atom types", "1 bond types", ""]
    lines += [f"0 {edge} {axis}lo {axis}hi" for edge, axis in zip(box, "xyz", strict=True)]
    lines += ["", f"Atoms # {style}", ""]
    for i in range(count) if sequence is None else sequence:
        lines.append(f"{i + 1} {molecule}1 " + " ".join(f"{value:.{digits}g}" for value in position[i]))
    if len(bonds):
        lines += ["", "Bonds", "", *(f"{k} 1 {i + 1} {j + 1}" for k, (i, j) in enumerate(bonds, 1))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def zigzag(chains, beads, length, noise=0.0, seed=3):
    """Return positions and bonds of chains that lie apart, with some noise of their bonds."""
    generator = np.random.default_rng(seed)
    step = np.array([[0.6, 0.8, 0.0], [0.6, -0.8, 0.0]])[np.arange(beads - 1) % 2]
    found = []
    for chain in range(chains):
        size = length * (1.0 + noise * generator.uniform(-1.0, 1.0, (beads - 1, 1)))
        start = np.array([6.0, 1.8 * (chain % 4) + 0.3, 1.6 * (chain // 4) + 0.5])
        found.append(start + np.concatenate([np.zeros((1, 3)), np.cumsum(size * step, axis=0)]))
    return np.concatenate(found), [(c * beads + i, c * beads + i + 1) for c in range(chains) for i in range(beads - 1)]
