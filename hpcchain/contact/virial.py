"""What a contact adds to the molecular virial, and to its tensor: impulse times the vector between centres of mass.

The tensor's part is made symmetric: half of J_a l_b + J_b l_a, as turning molecules make it in the mean (Allen and
Tildesley 2017, section 2.7). Its trace is the virial; the other parts, `TENSOR_PARTS` of them, are yy, zz, xy, xz, yz.
"""

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W


@inlined
def set_tensor(tensor, jx, jy, jz, lx, ly, lz):
    """Write the parts of a contact's tensor, of impulse j and vector l, to `tensor` [mass length^2 / time]."""
    tensor[0] = jy * ly
    tensor[1] = jz * lz
    tensor[2] = 0.5 * (jx * ly + jy * lx)
    tensor[3] = 0.5 * (jx * lz + jz * lx)
    tensor[4] = 0.5 * (jy * lz + jz * ly)


@inlined
def add_tensor(tensor, jx, jy, jz, lx, ly, lz):
    """Add to `tensor` what `set_tensor` writes."""
    tensor[0] += jy * ly
    tensor[1] += jz * lz
    tensor[2] += 0.5 * (jx * ly + jy * lx)
    tensor[3] += 0.5 * (jx * lz + jz * lx)
    tensor[4] += 0.5 * (jy * lz + jz * ly)


@kernel
def centre_of_mass(work, offset, tiles, c):
    """Return component c of the centre of mass of the molecule at offset, of a fixed bead its place."""
    total = 0.0
    moment = 0.0
    for t in range(tiles):
        for i in range(W.LANES):
            im = work[offset + t * W.TILE + W.INVM + i]
            if im > 0.0:
                total += 1.0 / im
                moment += work[offset + t * W.TILE + W.COEF + W.LANES * c + i] / im
    return moment / total if total > 0.0 else work[offset + W.COEF + W.LANES * c]


@inlined
def _centre(s, g, c):
    """Return component c of the centre of mass of an event's member g."""
    return centre_of_mass(s.work, s.offset[g], s.member[g, L.MOL_TILES], c)


@kernel
def _lever(s, a, b, p, q, n, r, c):
    """Return component c of the vector between the centres of mass of the images that touch.

    Inside one molecule only a contact with an image has one.
    """
    shift = r * n[c] - (s.work[p + W.COEF + W.LANES * c] - s.work[q + W.COEF + W.LANES * c])
    if a != b:
        return shift + (_centre(s, a, c) - _centre(s, b, c))
    if abs(shift) < 0.5 * s.par[L.SIZE + c] or s.par[L.SIZE + c] == 0.0:
        return 0.0
    return shift


@kernel
def virial(s, a, b, p, q, n, r, impulse):
    """Return a contact's part of the molecular virial, and write its tensor's [mass length^2 / time].

    Parameters
    ----------
    a, b : int
        Members of the event that touch, one for a contact within a molecule.
    p, q : int
        Offsets of the beads in the workspace.
    n : (3,) float64 array
        Unit normal, from the second to the first.
    r, impulse : float
        Their distance [length]; impulse along the normal.
    """
    lx = _lever(s, a, b, p, q, n, r, 0)
    ly = _lever(s, a, b, p, q, n, r, 1)
    lz = _lever(s, a, b, p, q, n, r, 2)
    set_tensor(s.virial_tensor, impulse * n[0], impulse * n[1], impulse * n[2], lx, ly, lz)
    return impulse * n[0] * lx + impulse * n[1] * ly + impulse * n[2] * lz


@kernel
def tangential_virial(s, a, b, p, q, n, r, extended):
    """Return what the tangential part of the impulse, on the first bead, adds to `virial`; 0 in runs without spins."""
    if extended is None:
        return 0.0
    lx = _lever(s, a, b, p, q, n, r, 0)
    ly = _lever(s, a, b, p, q, n, r, 1)
    lz = _lever(s, a, b, p, q, n, r, 2)
    t = s.tangential
    add_tensor(s.virial_tensor, t[0], t[1], t[2], lx, ly, lz)
    return t[0] * lx + t[1] * ly + t[2] * lz
