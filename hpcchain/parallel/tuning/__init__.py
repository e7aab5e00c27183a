"""What ranks do to be fast: all here changes only speed, no bit of the results. A reader of the method can skip it.

`window_length` chooses how long windows are, `balance` when sectors move, `ranks_at_work` how many ranks have
molecules. The others sleep (`standby`), each time that an engine works (`active_ranks`) or for a whole run.
"""
