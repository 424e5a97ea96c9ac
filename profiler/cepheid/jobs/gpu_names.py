"""What people call a GPU model, and what Kubernetes calls a GPU."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

GIGABYTES = re.compile(r"(\d+)\s?GB", re.IGNORECASE)
MOST_CHARACTERS = 24
MOST_GPUS = 10_000
"""Of one job: who asks for more is not believed."""

_VENDORS = re.compile(
    r"\b(NVIDIA|AMD|Tesla|GeForce|Quadro|Instinct|Radeon|Graphics)\b", re.IGNORECASE
)
# Not yet the name: the number that follows is. A label has a dash where the driver has a space.
_FAMILY = re.compile(r"^(RTX|GTX|TITAN)[ -]+", re.IGNORECASE)


@lru_cache(maxsize=1024)
def model_name(model: str) -> str:
    """`NVIDIA A100-SXM4-80GB`, with spaces or dashes, is A100-80 to those who talk about it."""
    plain = _FAMILY.sub(r"\1", _VENDORS.sub("", model).strip(" -"))
    memory = GIGABYTES.search(plain)
    before = plain if memory is None else plain[: memory.start()]
    name = before.strip(" -").split("-")[0].replace(" ", "")
    short = f"{name}-{memory[1]}" if memory else name
    return short[:MOST_CHARACTERS] or "GPU"


@lru_cache(maxsize=1024)
def is_gpu(resource: str) -> bool:
    """`nvidia.com/gpu`, `amd.com/gpu`, `nvidia.com/gpu.shared`, `nvidia.com/mig-1g.5gb`."""
    domain, _, name = resource.partition("/")
    return bool(domain) and (name == "gpu" or name.startswith(("gpu.", "mig-")))


def told_apart(models: Iterable[str]) -> dict[str, str]:
    """Each by its name; those that share one, by what they are called in full."""
    names = {model: model_name(model) for model in models}
    shared = Counter(names.values())
    return {model: name if shared[name] == 1 else model for model, name in names.items()}
