"""The papers' experiments: each a function that returns a table's or figure's data, theirs beside ours."""
