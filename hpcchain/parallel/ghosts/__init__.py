"""Who needs copies of which molecules: reach, skins, migration."""
