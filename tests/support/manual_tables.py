"""Tables that the manual has and the program makes: of all keys, and of what works with what.

`python -m tests.support.manual_tables` prints both.
"""

from hpcchain.config.demands.capabilities import CAPABILITIES, KINDS
from hpcchain.config.keys.key import ABSENT
from hpcchain.config.keys.schema import KEYS
from hpcchain.config.write import value_text
from hpcchain.propagators.catalogue import PROPAGATORS


def keys_markdown():
    """Return the table of all keys as Markdown."""
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key in KEYS:
        default = "" if key.default is ABSENT else value_text(key.default)
        lines.append(f"| `{key.path}` | {str(key.value).replace('|', 'or')} | {default} | {key.meaning} |")
    return "\n".join(lines) + "\n"


def cell(one, propagator):
    """Return what the manual says of a capability with a propagator."""
    kinds = one.works.get(propagator, ())
    left = [kind for kind in KINDS if kind not in kinds]
    said = ", ".join(kinds) or "refused"
    if not left:
        said = "all kinds"
    elif len(left) < len(kinds):
        said = f"all but {', '.join(left)}"
    return f"{said}¹" if kinds and one.exact_law and PROPAGATORS[propagator].laws else said


def capabilities_markdown():
    """Return the table of what works with what as Markdown."""
    lines = ["| capability | " + " | ".join(PROPAGATORS) + " |", "|---" * (1 + len(PROPAGATORS)) + "|"]
    for one in CAPABILITIES:
        lines.append(f"| `{one.key}` | " + " | ".join(cell(one, name) for name in PROPAGATORS) + " |")
    return "\n".join(lines) + '\n\n¹ with `collision = "exact"`\n'


if __name__ == "__main__":
    print(keys_markdown(), capabilities_markdown(), sep="\n")
