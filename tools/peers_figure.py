"""The figure of `tools/bench --peers --figure`: speeds of this program and of others, case by case."""

from datetime import UTC, datetime


def draw(rows, path, machine):
    """Draw speeds of several programs.

    Parameters
    ----------
    rows : list of (str, dict)
        A case's name, and program -> bead tau per CPU-second.
    path : str
        The file, whose ending says its form: .svg, .png.
    machine : str
        What it was measured on.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 0.8 + 0.36 * len(rows)), layout="constrained")
    axes = figure.subplots()
    programs = list(dict.fromkeys(program for _, speeds in rows for program in speeds))
    for program, marker in zip(programs, "os^Dvx", strict=False):
        at = [k for k, (_, speeds) in enumerate(rows) if program in speeds]
        axes.plot([rows[k][1][program] for k in at], at, marker, label=program)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.invert_yaxis()
    axes.grid(axis="x", which="both", linewidth=0.3)
    axes.set(xscale="log", xlabel="beads × τ per second of one core", title=f"{machine}, {datetime.now(UTC):%B %Y}")
    axes.title.set_fontsize("small")
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, metadata={"Date": None})


def processor():
    """Return the name of this machine's processor, as Linux gives it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else "an unknown processor"
