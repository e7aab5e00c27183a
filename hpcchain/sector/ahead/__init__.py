"""Outcomes ahead of time: a second thread carries out the next events where it spoils nothing, the loop takes over.

`taking` is the loop's side, `foresee` makes one outcome, `look` finds which, `helper` is the thread.
"""
