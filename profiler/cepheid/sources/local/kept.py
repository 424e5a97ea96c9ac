"""Files of processes that stay open from one sample to the next: that halves what they cost.

The kernel ties an open file to its process, not to the number: once that has ended it says so, even
if another has the number.
"""

import os
import resource
from dataclasses import dataclass, field

from cepheid.sources.local.files import read_bytes

MOST_PROCESSES = 48
"""Whose files stay open, four each."""
_LEAST_LIMIT = 512
"""Where this process may open fewer files than that, none stays open."""
_CHUNK = 4096
_SURELY_ALL = 4000
"""The kernel hands out whole lines, as many as fit: of a shorter answer no line is missing."""


@dataclass(slots=True, eq=False)
class KeptOpen:
    root: str
    most: int = MOST_PROCESSES
    _files: dict[int, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < _LEAST_LIMIT:
            self.most = 0

    def read(self, pid: int, name: str) -> bytes:
        """OSError where it cannot be read."""
        files = self._files.get(pid)
        if files is None:
            if len(self._files) >= self.most:
                return read_bytes(f"{self.root}/{pid}/{name}")
            files = self._files[pid] = {}
        descriptor = files.get(name)
        if descriptor is None:
            descriptor = self._open(pid, name)
        try:
            data = os.pread(descriptor, _CHUNK, 0)
        except ProcessLookupError:
            # Whoever it belonged to has ended; the number may be another's by now.
            self.forget(pid)
            data = read_bytes(f"{self.root}/{pid}/{name}")
        return data if len(data) <= _SURELY_ALL else read_bytes(f"{self.root}/{pid}/{name}")

    def forget(self, pid: int) -> None:
        for descriptor in self._files.pop(pid, {}).values():
            os.close(descriptor)

    def close(self) -> None:
        for pid in tuple(self._files):
            self.forget(pid)

    def _open(self, pid: int, name: str) -> int:
        try:
            descriptor = os.open(f"{self.root}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            if not self._files[pid]:
                del self._files[pid]
            raise
        self._files[pid][name] = descriptor
        return descriptor
