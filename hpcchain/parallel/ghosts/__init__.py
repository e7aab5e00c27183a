"""Which rank needs copies of which molecules: reach, skins, migration.

`manager` chooses, `molecules` packs what travels, `reach` and `skins` bound how far molecules can come.
"""
