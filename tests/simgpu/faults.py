"""Faults put in by hand, kept in `faults.json` beside the inventory.

    {"0": {"lost": true}, "1": {"xid": 79, "blank": {"DCGM_FI_DEV_POWER_USAGE": "omit"}}}

The plugin and the exporter read it anew each time they look, so a fault takes effect at once and
survives their restart, as a broken GPU does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .errors import SimgpuError
from .fields import FIELD_NAMES

OMIT = "omit"  # what newer versions of dcgm-exporter do with a blank value
OLD_INT64 = "9223372036854775794"  # DCGM_INT64_NOT_SUPPORTED, printed as it is by older versions
OLD_INT32 = "2147483634"  # DCGM_INT32_NOT_SUPPORTED
BLANKS = (OMIT, OLD_INT64, OLD_INT32)


@dataclass(frozen=True)
class GpuFaults:
    lost: bool = False
    xid: int = 0
    blank: Mapping[str, str] = field(default_factory=dict)  # DCGM field -> one of BLANKS


HEALTHY = GpuFaults()


def load_faults(root: Path) -> dict[int, GpuFaults]:
    path = root / "faults.json"
    try:
        document = json.loads(path.read_text())
        return {int(index): _parse(entry) for index, entry in document.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise SimgpuError(
            f"cannot read {path}: {error}", hint="`python3 -m simgpu clear` writes it anew"
        ) from error


def _parse(entry: Any) -> GpuFaults:
    lost, xid, blank = entry.get("lost", False), entry.get("xid", 0), entry.get("blank", {})
    known = all(field in FIELD_NAMES and kind in BLANKS for field, kind in blank.items())
    if not (isinstance(lost, bool) and isinstance(xid, int) and known):
        raise ValueError(f"{entry} is not a set of faults")
    return GpuFaults(lost, xid, blank)


def save_faults(root: Path, faults: Mapping[int, GpuFaults]) -> None:
    """Replace the file in one step: a reader sees all of the old or all of the new."""
    document = {str(index): asdict(each) for index, each in faults.items() if each != HEALTHY}
    temporary = root / "faults.json.new"
    temporary.write_text(json.dumps(document, indent=1) + "\n")
    temporary.replace(root / "faults.json")
