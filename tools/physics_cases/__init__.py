"""The states that tools/validate_physics runs, what it reads from them, and the theory next to it."""
