"""The figures of `hpcchain analyze`: one module a figure or family of figures.

`figure` says what a figure of frames, and one of times, is; `analysis.catalogue` lists all.
"""
