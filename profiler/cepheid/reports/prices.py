"""What does a job cost, by a price list?

    {"NVIDIA A100-SXM4-80GB": 3.2, "T4": 0.4, "cpuHour": 0.04, "kWh": 0.3, "currency": "EUR"}

Money an hour for each GPU by its model, as its driver names it or as people do; `gpuHour` for all
others, `cpuHour` for each hour of CPU time, `kWh` for energy. A job that held something without a
price has no cost: half of one would mislead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from cepheid.errors import UsageError
from cepheid.jobprofile import JobProfile
from cepheid.jobs.gpu_names import model_name
from cepheid.reports.listing import cpu_seconds, energy_joules, gpu_count

EXAMPLE = '{"A100-80": 3.2, "cpuHour": 0.04}'
JOULES_PER_KWH = 3.6e6
SECONDS_PER_HOUR = 3600.0
OTHERS = "gpuHour"
_NOT_MODELS = frozenset({OTHERS, "cpuHour", "kWh", "currency"})


@dataclass(frozen=True, slots=True)
class Prices:
    gpu_hours: Mapping[str, float] = field(default_factory=dict)
    """By what people call the model, and by its whole name."""
    other_gpu_hour: float | None = None
    cpu_hour: float = 0.0
    kwh: float = 0.0
    currency: str = ""


def price_list(content: object) -> Prices:
    """Of a document that somebody wrote."""
    if not isinstance(content, Mapping) or not content:
        raise UsageError("the price list is no mapping of names to money", hint=f"as {EXAMPLE}")
    given = {str(key): value for key, value in content.items()}
    currency = given.pop("currency", "")
    prices = {name: _money(name, value) for name, value in given.items()}
    models = {name: price for name, price in prices.items() if name not in _NOT_MODELS}
    # Both as it stands there and in short: "NVIDIA A100-SXM4-80GB" and "A100-80" are the same.
    short = {_key(model_name(name)): price for name, price in models.items()}
    return Prices(
        gpu_hours={**short, **{_key(name): price for name, price in models.items()}},
        other_gpu_hour=prices.get(OTHERS),
        cpu_hour=prices.get("cpuHour", 0.0),
        kwh=prices.get("kWh", 0.0),
        currency=str(currency),
    )


def cost(profile: JobProfile, prices: Prices) -> float | None:
    """None where something that it held has no price, or was not measured."""
    hours = (profile.duration_seconds or 0.0) / SECONDS_PER_HOUR
    total = 0.0
    held: list[tuple[str | None, int]] = [(gpu.model, 1) for gpu in profile.gpus]
    held.append((None, max(0, gpu_count(profile) - len(held))))  # those that nobody listed
    for model, count in held:
        price = gpu_hour(model, prices) if count else 0.0
        if price is None or (count and profile.duration_seconds is None):
            return None
        total += price * count * hours
    if prices.cpu_hour:
        seconds = cpu_seconds(profile)
        if seconds is None:
            return None
        total += prices.cpu_hour * seconds / SECONDS_PER_HOUR
    if prices.kwh:
        joules = energy_joules(profile)
        if joules is None:
            return None
        total += prices.kwh * joules / JOULES_PER_KWH
    return total


def gpu_hour(model: str | None, prices: Prices) -> float | None:
    if model is None:
        return prices.other_gpu_hour
    found = prices.gpu_hours.get(_key(model))
    if found is None:
        found = prices.gpu_hours.get(_key(model_name(model)))
    return prices.other_gpu_hour if found is None else found


def _money(name: str, value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < float("inf"):  # type: ignore[arg-type]
        raise UsageError(f"the price of {name!r} is {value!r}", hint=f"money an hour, as {EXAMPLE}")
    return float(value)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    return "".join(name.lower().replace("-", " ").replace("_", " ").split())
