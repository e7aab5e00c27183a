"""Which rank needs copies of which molecules: ghost cells, skins, migration.

`manager` chooses by `needs` and makes sectors, `molecules` packs what travels, `ghost_cells` and `skins` bound
how far molecules can come.
"""
