"""Which rank needs copies of which molecules, and which has which.

`manager` chooses and makes sectors: by `needs`, which follow from `skins`, how far molecules may go, and from
`surroundings`, which other ranks are near in `ghost_cells`. `migration` gives molecules to the ranks whose sectors they
are in, `molecules` packs what travels.
"""
