"""Which rank owns which part of the box, and how parts follow the cost."""
