"""What a contact adds to the molecular virial, its tensor, and the flow of energy between molecules.

The virial is impulse times the vector between the centres of mass, the flow the energy that one molecule gains of the
other, by that vector (Alder, Gass and Wainwright 1970, equation 7, of spheres).

The tensor is made symmetric: half of J_a l_b + J_b l_a, as turning molecules make it in the mean (Allen and
Tildesley 2017, section 2.7). Its trace is the virial; the other TENSOR_COMPONENTS are yy, zz, xy, xz, yz.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W


@inlined
def set_tensor(s, jx, jy, jz, lx, ly, lz, energy):
    """Write the parts of a contact's tensor, of impulse j and vector l, to `virial_tensor` [mass length^2 / time].

    From FLOW on the flow of the energy that the first side gains, brought to the quantum of the virial.
    """
    tensor = s.virial_tensor
    tensor[0] = jy * ly
    tensor[1] = jz * lz
    tensor[2] = 0.5 * (jx * ly + jy * lx)
    tensor[3] = 0.5 * (jx * lz + jz * lx)
    tensor[4] = 0.5 * (jy * lz + jz * ly)
    flow = energy * (s.par[L.IMPULSE_QUANTUM] / (L.FLOW_SCALE * s.par[L.ENERGY_QUANTUM]))
    tensor[L.FLOW + L.X] = flow * lx
    tensor[L.FLOW + L.Y] = flow * ly
    tensor[L.FLOW + L.Z] = flow * lz


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
    return centre_of_mass(s.work, s.member[g, L.MEMBER_OFFSET], s.member[g, L.MEMBER_TILES], c)


@kernel
def image_shift(s, p, q, c):
    """Return component c of the way from the bead at offset q to its image that the one at p is nearest to, negative.

    Added to the way between two points as they are in the workspace, it makes that between the images that touch.
    """
    x = s.work[p + W.COEF + W.LANES * c] - s.work[q + W.COEF + W.LANES * c]
    return -s.par[L.SIZE + c] * np.rint(x * s.par[L.INVERSE + c])


@inlined
def _lever(s, a, b, p, q, c):
    shift = image_shift(s, p, q, c)
    return shift if a == b else shift + (_centre(s, a, c) - _centre(s, b, c))


@kernel
def lever(s, a, b, p, q):
    """Return the vector between the centres of mass of the images that touch, from the second to the first.

    Inside one molecule only a contact with an image has one. None of a wall (q < 0): zeros.

    Parameters
    ----------
    a, b : int
        Members of the event that touch, one for a contact within a molecule.
    p, q : int
        Offsets of the beads in the workspace.
    """
    if q < 0:
        return 0.0, 0.0, 0.0
    return _lever(s, a, b, p, q, L.X), _lever(s, a, b, p, q, L.Y), _lever(s, a, b, p, q, L.Z)
