"""What is kept on disk, by what it was made from: compiled kernels, and captured programs.

A file is named by the hash of everything its content depends on. It is written beside its place and then moved there, so that other
processes see all of it or nothing; what does not match its own checksum is thrown away. The folder is ``$GRADVIZ_CACHE_DIR``, or the
user's cache folder; an empty ``GRADVIZ_CACHE_DIR`` turns the cache off.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

MAGIC = b"gradviz kernel 1\n"
MOST_BYTES = 256 << 20
DIGEST = hashlib.sha256().digest_size


def folder(kind: str = "kernels") -> Path | None:
    """Where things of one kind are kept, or None if they are not."""
    chosen = os.environ.get("GRADVIZ_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) / kind if chosen else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gradviz" / kind


def key(*parts: str) -> str:
    """The name of what was made from these parts."""
    digest = hashlib.sha256()
    for text in parts:
        data = text.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:40]


def load(name: str, kind: str = "kernels") -> bytes | None:
    """What was stored under a name; None if there is nothing, or if it is damaged."""
    where = folder(kind)
    if where is None:
        return None
    path = where / name
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + DIGEST
    content = data[start:]
    if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : start] != hashlib.sha256(content).digest():
        with suppress(OSError):
            path.unlink()
        return None
    with suppress(OSError):  # the ones used last are the last to go
        os.utime(path)
    return content


def remove(name: str, kind: str = "kernels") -> None:
    """Forget what was stored under a name."""
    where = folder(kind)
    if where is not None:
        with suppress(OSError):
            (where / name).unlink()


def store(name: str, content: bytes, kind: str = "kernels") -> bool:
    """Keep ``content``; a disk that is full or read-only only means that it is made again, and False is returned."""
    where = folder(kind)
    if where is None:
        return False
    try:
        where.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", dir=where)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(content).digest() + content)
            Path(temporary).replace(where / name)
        except OSError:
            Path(temporary).unlink()
            raise
        _trim(where)
    except OSError:
        return False
    return True


def _trim(where: Path) -> None:
    """Drop the files that were not used for longest until three quarters of the bound are left."""
    files = []
    for entry in os.scandir(where):
        with suppress(OSError):
            found = entry.stat()
            files.append((found.st_mtime_ns, found.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    if total <= MOST_BYTES:
        return
    for _, size, path in sorted(files):
        if total <= MOST_BYTES * 3 // 4:
            break
        with suppress(OSError):
            Path(path).unlink()
        total -= size
