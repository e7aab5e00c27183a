"""Bounds of a bead's state, which kernels keep and files are held to (`model.system.BEAD_STATE`)."""

MOST_DEPTH = 100_000
"""Events chained at one instant, beyond which a run ends (`sector.events.loop`)."""
WHOLE_CONTACT = 1 << 24
"""What is left of a contact when it begins (`contact.tc_model`)."""
LONGEST_TICKS = 2.0**20
"""Ticks that a segment lasts at most where its propagator sets no limit (`sector.segments`)."""
