"""Metrics that nobody can mean: names that are none, values that are none, lies."""

from itertools import product

from cepheid.sources.catalog import Source

ELSEWHERE = "elsewhere"
"""A node, a namespace and a pod in it, of which a liar says that it runs here."""
LIED_ABOUT = f"annotating Pod {ELSEWHERE}/{ELSEWHERE}"
LEFT_OUT = tuple(
    f"{source}: series left out whose labels no GPU or pod can have"
    for source in (Source.CADVISOR, Source.DCGM)
)
"""What an agent says that is told all this."""
LARGE = "x" * 10_240
NO_NAMES = (
    'quo"te',
    "new\nline",
    "back\\slash",
    LARGE,
    "../../x",
    "{{ x }}",
    "Ünïcode",
    "%s%n",
    "-",
)
NO_INDICES = ("-1", "1000", "99999999999999999999", "0x1", "", "\u0661", LARGE, 'a"b', "1\n2")
NO_VALUES = ("NaN", "+Inf", "-Inf", "-1", "1e308", "9223372036854775794")
NO_UID = "11111111-2222-3333-4444-555555555555"


def of_gpus(node: str, uuid: str) -> str:
    """Of GPUs that cannot be, of holders that cannot be, and of the real GPU `uuid` no values."""
    lines = []
    labels = {"UUID": uuid, "Hostname": node, "modelName": "NVIDIA A100-SXM4-80GB"}
    for number, index in enumerate(NO_INDICES):
        lines.append(_line("DCGM_FI_DEV_FB_USED", labels | {"gpu": index, "try": str(number)}, 7))
    for number, name in enumerate(NO_NAMES):
        held = {"gpu": "0", "try": f"n{number}", "namespace": "hostile", "container": "main"}
        lines.append(_line("DCGM_FI_DEV_FB_USED", labels | held | {"pod": name}, 7))
        lines.append(_line("DCGM_FI_DEV_FB_USED", labels | {"gpu": "0", "GPU_I_ID": name}, 7))
    lines += [
        _line("DCGM_FI_DEV_FB_USED", labels | {"gpu": "7", "UUID": text}, 7)
        for text in ("new\nline", LARGE)
    ]
    for number, (metric, value) in enumerate(product(("FB_USED", "XID_ERRORS"), NO_VALUES)):
        real = labels | {"gpu": "0", "try": f"v{number}"}
        lines.append(_line(f"DCGM_FI_DEV_{metric}", real, value))
    return "".join(lines)


def of_containers(elsewhere_uid: str) -> str:
    """Of pods that cannot be, of one that is not, and of one that runs elsewhere."""
    lines = []
    real = {"namespace": "hostile", "container": "main", "id": "/"}
    for number, name in enumerate(NO_NAMES):
        for key in ("namespace", "pod", "container"):
            labels = {"pod": "p", **real, "id": f"/kubepods/{number}/{key}", key: name}
            lines.append(_line("container_memory_working_set_bytes", labels, 7e6))
    lines.append(_line("container_memory_working_set_bytes", {**real, "id": LARGE, "pod": "p"}, 7))
    for namespace, pod, uid in (
        ("hostile", "not-there", NO_UID),
        (ELSEWHERE, ELSEWHERE, elsewhere_uid),
    ):
        cgroup = f"/kubepods/burstable/pod{uid}/1"
        labels = {"namespace": namespace, "pod": pod, "container": "main", "id": cgroup}
        lines.append(_line("container_memory_working_set_bytes", labels, 7e6))
    for number, value in enumerate(NO_VALUES):
        labels = {"namespace": "hostile", "pod": f"p{number}", "container": "main", "id": "/x"}
        lines.append(_line("container_memory_working_set_bytes", labels, value))
    return "".join(lines)


def _line(metric: str, labels: dict[str, str], value: float | str) -> str:
    pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{metric}{{{pairs}}} {value}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
