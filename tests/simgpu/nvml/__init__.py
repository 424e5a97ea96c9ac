"""NVIDIA's NVML made of a file, for a laptop's profiler: `nvml.c` says what may stand in it.

`build` compiles it; a process that is started with `environment` has such GPUs.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml.c")
LIBRARY = "libnvidia-ml.so.1"


def build(folder: Path) -> Path:
    """The folder that holds the library."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-fvisibility=hidden", "-O1", "-Wall", "-Wextra", "-Werror"]
        + ["-o", str(folder / LIBRARY), str(SOURCE)],
        check=True,
    )
    return folder


def environment(library: Path, state: Path) -> Mapping[str, str]:
    """Ours, and that of a machine with GPUs."""
    return {**os.environ, "LD_LIBRARY_PATH": str(library), "SIMNVML_STATE": str(state)}
