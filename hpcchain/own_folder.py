"""Folders and files that no other user can change, so that what they hold can be trusted like one's own program.

A folder is safe when it is one's own and closed to others' writing, and when no other user can put another in its
place. So every folder above it belongs to oneself or to root, and others can write there only under the sticky bit.
Links are followed above the folder alone, and only those that oneself or root has made. A file is safe when it belongs
to oneself or to root, others cannot write to it, and the folders above it are such; it may be a link of this sort
itself.
"""

import contextlib
import grp
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path

SHUT = 0o700
"""Mode of folders that are made."""

MOST_LINKS = 40
ID_MAP, UNMAPPED_ID = "/proc/self/uid_map", "/proc/sys/kernel/overflowuid"


class Unusable(Exception):
    """A folder that cannot be used.

    Parameters
    ----------
    path : str
        What is wrong.
    what : str
        How it is wrong.
    mend : str
        What to do about it.
    """

    def __init__(self, path: str, what: str, mend: str) -> None:
        super().__init__(f"{path}: {what}")
        self.mend = mend


class Unsafe(Unusable):
    """A folder, or something in it, that another user could have changed."""


def own_folder(base: Path, name: str) -> str:
    """Return the path of the folder `name` in `base`, both made with mode 700 where missing, safe with all it holds.

    Neither may be a link. The path that is returned has no links above it either.

    Raises
    ------
    Unsafe
        When another user could have put something there.
    Unusable
        When this one cannot.
    """
    folder = os.path.join(resolved(os.path.abspath(base)), name)
    found = made(folder)
    require_own(folder, found)
    require_own_contents(folder, opened=bool(stat.S_IMODE(found.st_mode) & 0o011))
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise Unusable(folder, "cannot be written to", "mend that")
    return folder


def require_own_file(path: Path | str) -> None:
    """Raise Unsafe for a file that another user could have changed, or put there; nothing is made.

    Raises
    ------
    Unsafe
    Unusable
        When it cannot be looked at.
    """
    resolved(os.path.join(os.getcwd(), path), found_at, require_own_bytes)


def require_own_bytes(path: str, found: os.stat_result) -> None:
    """Raise Unsafe unless a file belongs to this user or to root, and no other user can write to it."""
    if not stat.S_ISREG(found.st_mode):
        raise Unsafe(path, "is not a plain file", "name a file")
    if found.st_uid not in trusted():
        raise Unsafe(path, f"belongs to {named(found.st_uid)}", "look at it and copy it to a folder of your own")
    if others_can_write(found):
        raise Unsafe(path, f"can be written to by other users ({mode_of(found)})", f"look at it, and chmod go-w {path}")


def resolved(path: str, at: Callable | None = None, ends: Callable | None = None) -> str:
    """Return an absolute path without links; raises Unsafe for what can be changed.

    Parameters
    ----------
    path : str
        Of a folder, which may be no link; or of something else that may, if `ends` is given.
    at : callable, optional
        Returns the status of what stands at a path, of a link the link's own; default: `made`, folders are made.
    ends : callable, optional
        (path, status): raises Unsafe for what stands at the path's end; default: as for the folders above it.
    """
    at = at or made
    here, pending, links = "/", path.split("/")[::-1], 0
    require_kept("/", os.lstat("/"))
    while pending:
        part = pending.pop()
        if part == "..":
            here = os.path.dirname(here)
        if part in ("", ".", ".."):
            continue
        below = os.path.join(here, part)
        found = at(below)
        if not stat.S_ISLNK(found.st_mode):
            (ends if ends and not pending else require_kept)(below, found)
            here = below
            continue
        links += 1
        require_own_link(below, found, last=links > MOST_LINKS or not (pending or ends))
        target = os.readlink(below)
        here = "/" if target.startswith("/") else here
        pending += target.split("/")[::-1]
    return here


def found_at(path: str) -> os.stat_result:
    """Return the status of what stands at a path, of a link that of the link itself."""
    try:
        return os.lstat(path)
    except OSError as reason:
        raise Unusable(path, f"cannot be looked at: {reason.strerror}", "mend that") from None


def made(path: str) -> os.stat_result:
    """Return what stands at a path, of a link the link itself; a folder is made there when nothing does."""
    try:
        with contextlib.suppress(FileExistsError):
            if not os.path.lexists(path):
                os.mkdir(path, SHUT)
        return os.lstat(path)
    except OSError as reason:
        raise Unusable(path, f"cannot be made: {reason.strerror}", "mend that") from None


def require_own_link(path: str, found: os.stat_result, last: bool) -> None:
    """Raise Unsafe for a link that another user has made, or that stands where a folder has to."""
    if found.st_uid not in trusted():
        raise Unsafe(path, f"is a link that {named(found.st_uid)} made", "do not use it")
    if last:
        raise Unsafe(path, "is a link, and links are not followed there", "name the folder that it leads to")


def require_kept(path: str, found: os.stat_result) -> None:
    """Raise Unsafe for a folder in which another user can rename what is not theirs."""
    if not stat.S_ISDIR(found.st_mode):
        raise Unsafe(path, "is not a folder", "remove it")
    if found.st_uid not in trusted():
        raise Unsafe(path, f"belongs to {named(found.st_uid)}", "do not use it")
    if others_can_write(found) and not found.st_mode & stat.S_ISVTX:
        raise Unsafe(path, f"can be written to by other users ({mode_of(found)})", f"chmod go-w {path}")


def require_own(path: str, found: os.stat_result) -> None:
    """Raise Unsafe unless a folder belongs to this user, and no other can write there."""
    remove = f"remove it (rm -r {path})"
    if stat.S_ISLNK(found.st_mode):
        raise Unsafe(path, "is a link, and links are not followed there", remove)
    if not stat.S_ISDIR(found.st_mode):
        raise Unsafe(path, "is not a folder", remove)
    if found.st_uid != os.geteuid():
        raise Unsafe(path, f"belongs to {named(found.st_uid)}", "have it removed")
    if others_can_write(found):
        raise Unsafe(path, f"can be written to by other users ({mode_of(found)})", remove)


def require_own_contents(folder: str, opened: bool) -> None:
    """Raise Unsafe unless a folder's files and folders, at any depth, belong to this user; there may be no links.

    Parameters
    ----------
    folder : str
    opened : bool
        Whether others can reach what is in it: then they must not be able to write there either.
    """
    pending = [folder]
    while pending:
        inner = pending.pop()
        try:
            entries = list(os.scandir(inner))
        except FileNotFoundError:
            continue
        except OSError as reason:
            raise Unusable(inner, f"cannot be read: {reason.strerror}", f"remove it (rm -r {inner})") from None
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another rank's temporary file
                found = entry.stat(follow_symlinks=False)
                require_own_entry(entry.path, found, folder, opened)
                if stat.S_ISDIR(found.st_mode):
                    pending.append(entry.path)


def require_own_entry(path: str, found: os.stat_result, folder: str, opened: bool) -> None:
    """Raise Unsafe unless something in a folder is a file or folder of this user's."""
    remove = f"remove all of it (rm -r {folder})"
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        raise Unsafe(path, "is neither a file nor a folder (a link, perhaps)", remove)
    if found.st_uid != os.geteuid():
        raise Unsafe(path, f"belongs to {named(found.st_uid)}", remove)
    if opened and others_can_write(found):
        raise Unsafe(path, f"can be written to by other users ({mode_of(found)})", remove)


def trusted() -> set:
    """Return the numbers of the users that may own folders above one's own: oneself and root.

    In a container whose users do not include the machine's root, root's folders show the number of all users that are
    not included.
    """
    users = {0, os.geteuid()}
    with contextlib.suppress(OSError, ValueError):
        with open(ID_MAP, encoding="ascii") as file:
            maps = [[int(word) for word in line.split()] for line in file]
        if not any(outside == 0 and count > 0 for _, outside, count in maps):
            with open(UNMAPPED_ID, encoding="ascii") as file:
                users.add(int(file.read()))
    return users


def others_can_write(found: os.stat_result) -> bool:
    """Return whether users other than the owner, and root, can write to what has this status."""
    mode = found.st_mode
    return bool(mode & stat.S_IWOTH) or (bool(mode & stat.S_IWGRP) and not is_private(found.st_gid))


def is_private(group: int) -> bool:
    """Return whether a group is this user's alone, as many systems give one to each: of the user's own name."""
    if os.geteuid() == 0:
        return False
    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return group == user.pw_gid and entry.gr_name == user.pw_name and set(entry.gr_mem) <= {user.pw_name}


def named(user: int) -> str:
    """Return a user's name, or number, for a message."""
    try:
        return f"the user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"the user of number {user}"


def mode_of(found: os.stat_result) -> str:
    """Return a status's mode for a message."""
    return f"mode {stat.S_IMODE(found.st_mode):o}"
