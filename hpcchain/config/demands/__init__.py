"""What the keys must satisfy together, and what a run cannot do: one module a subject.

`check` calls the others. `capabilities` is the table of what the engine of events can do, `no_effect` that of keys that
mean nothing.
"""
