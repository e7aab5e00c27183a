"""Where compiled kernels are kept: a folder per state of the sources, which no other user can change.

Numba notices a change of the file that a cached kernel is in, not of the kernels that it calls: after an update or an
edit it would run old code inside new. So the cache folder's name holds a digest of the sources of all kernels, of
Python and of the processor that is compiled for.

What numba reads there is code: machine code, and pickles, which can do anything when they are read. So the folder must
be safe (`own_folder`) before numba knows of it.

`python -m hpcchain.jit.cache` prepares the folder and prints its path, for job scripts.
"""

import hashlib
import os
import platform
import re
import sys
import tempfile
from pathlib import Path

from hpcchain.errors import EXIT_DONE, ConfigError
from hpcchain.own_folder import Unsafe, Unusable, own_folder

VARIABLE = "NUMBA_CACHE_DIR"
ROOT = Path(__file__).parents[1]
COMPILERS = ("numba.", "hpcchain.jit.decorators.", "hpcchain.jit.outlined.")
"""A file that imports one of these may hold kernels."""

IMPORT = re.compile(rb"[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]*(?:\(([^)]*)\)|((?:[^\n#;\\]|\\\n)*))")
SAFETY = "the compile cache holds code that is run, so nothing may be there that another user can change"
PURPOSE = "compiled code is kept there"
HINTS = (b"numba", b"hpcchain.jit.decorators", b"hpcchain.jit.outlined", b"hpcchain import")
"""One of them is in every import of the compiler; looking for them first is quick."""
COMMENT, NAME = re.compile(rb"#[^\n]*"), re.compile(rb"(?:^|,)[\s\\]*([\w.*]+)")


def base() -> Path:
    """Return the folder that cache folders lie in: the user's own choice (a cluster's node-local one, say), or a cache.

    Raises ConfigError when the user has no folder for caches.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "hpcchain"
    except RuntimeError:
        raise ConfigError(
            f"there is no home folder to keep compiled code in; set {VARIABLE} to a folder of your own "
            "that others cannot write to"
        ) from None


def name() -> str:
    """Return the name of this source tree's cache folder."""
    return f"hpcchain-{digest()}"


def prepared() -> Path:
    """Return the path of the cache folder, which exists and is safe to take code from.

    Raises
    ------
    ConfigError
        When another user could have put code there, or nothing can be written there.
    """
    try:
        safe = own_folder(base(), name())
        tempfile.TemporaryFile(dir=safe).close()
    except Unusable as found:
        why = SAFETY if isinstance(found, Unsafe) else PURPOSE
        raise ConfigError(f"{found}; {why}: {found.mend}, or set {VARIABLE} to a folder of your own") from None
    except OSError as reason:
        raise ConfigError(
            f"{safe}: cannot be written to: {reason.strerror}; {PURPOSE}: mend that, or set {VARIABLE} "
            "to another folder of your own"
        ) from None
    return Path(safe)


def digest() -> str:
    """Return a short digest of the sources that decide the machine code, and of what else does."""
    total = hashlib.sha256(f"{sys.version} {platform.machine()} {os.environ.get('NUMBA_CPU_NAME', '')}".encode())
    for path, text in sorted(sources().items()):
        total.update(path.encode() + b"\0" + str(len(text)).encode() + b"\0" + text)
    return total.hexdigest()[:16]


def sources(root: Path = ROOT) -> dict:
    """Return {path: bytes} of the package's files that may hold kernels, and of all that these import.

    Parameters
    ----------
    root : path
        The package's folder; the paths are relative to it.
    """
    texts = texts_in(root)
    modules = {module_of(path): path for path in texts}
    names = {path: imported(text) for path, text in texts.items() if any(hint in text for hint in HINTS)}
    chosen = {path for path, found in names.items() if any(f"{called}.".startswith(COMPILERS) for called in found)}
    pending = list(chosen)
    while pending:
        path = pending.pop()
        called = names[path] if path in names else imported(texts[path])
        found = {modules.get(name) or modules.get(name.rpartition(".")[0]) for name in called} - chosen - {None}
        chosen |= found
        pending += found
    return {path: texts[path] for path in chosen}


def texts_in(root: Path) -> dict:
    """Return {path relative to root: bytes} of the Python files below a folder."""
    texts, above = {}, len(os.path.join(root, ""))
    for folder, folders, names in os.walk(root):
        folders[:] = [inner for inner in folders if inner != "__pycache__"]
        for file in names:
            if file.endswith(".py"):
                path = os.path.join(folder, file)
                with open(path, "rb", buffering=0) as source:
                    texts[path[above:]] = source.readall()
    return texts


def module_of(path: str) -> str:
    """Return the name of the module in a file of the package."""
    parts = ["hpcchain", *path.removesuffix(".py").split(os.sep)]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(text: bytes) -> set:
    """Return the names that a source text imports: modules, or what is taken from them with the module before it.

    Lines of docstrings that look like imports count as well. Searching for the one word is what makes this quick.
    """
    names, at = set(), text.find(b"import")
    while at >= 0:
        begin = max(text.rfind(b"\n", 0, at), text.rfind(b";", 0, at)) + 1
        match = IMPORT.match(text, begin)
        if match:
            module, listed, rest = match.groups()
            prefix = "" if module is None else f"{module.decode()}."
            taken = rest if listed is None else COMMENT.sub(b"", listed)
            names.update([prefix + part.decode() for part in NAME.findall(taken)])
        at = text.find(b"import", at + 1)
    return names


def main() -> int:
    """Print the path of the prepared folder, or what is wrong with it; return the exit code."""
    try:
        print(prepared())
    except ConfigError as error:
        print(f"hpcchain: {error}", file=sys.stderr)
        return error.exit_code
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
