"""The laws of contacts, a module each: what becomes of two sides that meet, as a function of a `contact.Contact`.

`table` says which law a contact has, and calls it. What is done with the result is the carriers' matter (`sides`).
"""
