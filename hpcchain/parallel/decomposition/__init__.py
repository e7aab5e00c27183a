"""Which rank owns which part of the box, and how parts follow the cost.

`sectors` cuts the box; `balance` decides when it is cut anew.
"""
