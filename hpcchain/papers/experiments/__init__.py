"""One module per experiment; a module that is here is found, there is no list to add it to.

A module defines

- ``NAME``: the paper's number, a hyphen and what it reproduces, as users type it: ``"001-table1"``.
- ``TITLE``: one line for ``hpcchain paper --list``.
- ``run(quick)``: computes and returns a `hpcchain.papers.result.Result`; with `quick` in a few seconds, at a reduced
  size that the result's notes state.
- ``draw(result, figure)``, optional: draws the result on an empty matplotlib figure (which is all that it may know of
  matplotlib: the module itself must import without it).

What several experiments share stands one folder up, in `hpcchain.papers`. Modules are imported for the list of names,
so they keep heavy work and compiling inside ``run``.
"""
