"""When frames, reports and checkpoints are due: whole multiples of an interval, counted, never summed."""


class Schedule:
    """Times k * every for k = 0, 1, 2, ….

    Parameters
    ----------
    every : float
        Interval [time].
    done : int
        How many of them have been served.
    """

    def __init__(self, every, done=0):
        self.every = every
        self.done = done

    @property
    def next(self):
        """The next time due [time]."""
        return self.done * self.every

    def due(self, time):
        """Return whether the next one is due at this very time."""
        return self.next == time

    def serve(self):
        """Count one as done and return its number."""
        self.done += 1
        return self.done - 1
