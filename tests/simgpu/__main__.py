"""Put faults into this node's GPUs, take them out again, and see what is there.

kubectl exec -n gpu <a plugin's or exporter's pod> -- python3 -m simgpu lose 0

lose 0                     GPU 0 falls off the bus: Unhealthy to the kubelet, no series
find 0                     and is back
xid 0 79                   DCGM_FI_DEV_XID_ERRORS of GPU 0 becomes 79
blank 0 FIELD              the field is no longer supported: its series goes away
blank 0 FIELD --old        ... as older exporters did: 9223372036854775794 (--old32: 2147483634)
clear                      all GPUs are healthy
status                     GPUs, clients and faults of this node
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from . import device_file
from .errors import SimgpuError
from .faults import (
    HEALTHY,
    OLD_INT32,
    OLD_INT64,
    OMIT,
    GpuFaults,
    load_faults,
    save_faults,
)
from .fields import FIELD_NAMES
from .inventory import DEFAULT_ROOT, Inventory, load_inventory


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        inventory = load_inventory(arguments.root, os.environ)
        if arguments.command == "status":
            print(status(arguments.root, inventory, time.monotonic()))
        elif arguments.command == "clear":
            save_faults(arguments.root, {})
        else:
            _check_gpu(arguments.gpu, inventory)
            faults = load_faults(arguments.root)
            faults[arguments.gpu] = changed(faults.get(arguments.gpu, HEALTHY), arguments)
            save_faults(arguments.root, faults)
    except (SimgpuError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="simgpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=DEFAULT_ROOT)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("lose", "find"):
        commands.add_parser(name).add_argument("gpu", type=int)
    xid = commands.add_parser("xid")
    xid.add_argument("gpu", type=int)
    xid.add_argument("code", type=int)
    blank = commands.add_parser("blank")
    blank.add_argument("gpu", type=int)
    blank.add_argument("field", choices=sorted(FIELD_NAMES), metavar="FIELD")
    style = blank.add_mutually_exclusive_group()
    for flag, value in (("--old", OLD_INT64), ("--old32", OLD_INT32)):
        style.add_argument(flag, dest="style", action="store_const", const=value, default=OMIT)
    commands.add_parser("clear")
    commands.add_parser("status")
    return parser


def changed(before: GpuFaults, arguments: argparse.Namespace) -> GpuFaults:
    match arguments.command:
        case "lose":
            return replace(before, lost=True)
        case "find":
            return replace(before, lost=False)
        case "xid":
            return replace(before, xid=arguments.code)
        case "blank":
            return replace(before, blank={**before.blank, arguments.field: arguments.style})
        case unknown:
            raise AssertionError(unknown)


def _check_gpu(index: int, inventory: Inventory) -> None:
    count = len(inventory.gpus)
    if not 0 <= index < count:
        raise SimgpuError(f"no GPU {index} in this node", hint=f"0 to {count - 1}")


def status(root: Path, inventory: Inventory, now: float) -> str:
    faults = load_faults(root)
    lines = []
    for gpu in inventory.gpus:
        found = faults.get(gpu.index, HEALTHY)
        lines.append(f"gpu {gpu.index} {gpu.uuid} {gpu.model.name}: {_describe(found)}")
        for device in gpu.devices:
            try:
                reading = device_file.read(root / "devices" / device.uuid, now)
            except OSError as error:
                lines.append(f"  {device.resource} {device.uuid}: {error.strerror}")
                continue
            lines.append(f"  {device.resource} {device.uuid}: {reading.memory_mib:.0f} MiB in use")
            lines.extend(
                f"    {client.owner} {client.memory_mib:.0f} MiB"
                for client in reading.clients
                if client.alive
            )
    return "\n".join(lines)


def _describe(faults: GpuFaults) -> str:
    words = ["lost"] if faults.lost else []
    words += [f"xid {faults.xid}"] if faults.xid else []
    words += [f"{field} blank" for field in faults.blank]
    return ", ".join(words) or "healthy"


if __name__ == "__main__":
    sys.exit(main())
