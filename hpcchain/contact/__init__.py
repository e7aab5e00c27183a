"""What happens when beads meet: when they touch, and the impulses of every contact law."""
