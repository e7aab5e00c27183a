"""Which event is next.

`tournament` keeps molecules' earliest events; `event_order` says which comes first at one time.
"""
