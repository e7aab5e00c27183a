"""Outcomes ahead of time: a second thread carries out the next events where it spoils nothing, the loop takes over.

`taking` is the loop's side, `look` finds events and makes their outcomes, `helper` has the thread, and says when.
"""
