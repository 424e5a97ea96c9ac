"""The columns of `cepheid top`: what matters least goes first where there is no room."""

from collections.abc import Callable
from typing import Any

from cepheid.cli.formats import Column
from cepheid.jobs.gpu_names import model_name
from cepheid.reports.sparks import spark
from cepheid.reports.words import brief, figure


def of_nodes() -> list[Column[Any]]:
    return [
        _column("NODE", lambda row: row.node, 9, least=14, middle=True),
        _MODEL,
        _column("GPUS", lambda row: _part(row.held, row.gpus), 9, right=True),
        *_LOAD,
        _MEMORY,
        *_REST,
        _column("FREE", lambda row: _figure(row.free_gpu_score), 7, right=True),
        _TROUBLE,
    ]


def of_gpus() -> list[Column[Any]]:
    return [
        _column("NODE", lambda row: row.node, 9, least=14, middle=True),
        _column("GPU", lambda row: row.gpu, 9, right=True),
        _MODEL,
        *_LOAD,
        _MEMORY,
        *_REST,
        _column("JOBS", lambda row: row.jobs or "", 7, least=12, middle=True),
        _TROUBLE,
    ]


def of_jobs() -> list[Column[Any]]:
    return [
        _column("JOB", lambda row: f"{row.namespace}/{row.job}", 9, least=16, middle=True),
        _column("GPUS", lambda row: str(row.gpus), 9, right=True),
        _column("PODS", lambda row: str(row.pods), 3, right=True),
        *_LOAD,
        _column("GPU GB", lambda row: _figure(row.gpu_mem_gb), 7, right=True),
        _column("MEM GB", lambda row: _figure(row.mem_gb), 4, right=True),
        *_REST,
        _TROUBLE,
    ]


def _column(title: str, cell: Callable[[Any], str], matters: int, **more: Any) -> Column[Any]:
    return Column(title, cell, matters=matters, **more)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} %"


def _figure(value: float | None, unit: str = "") -> str:
    return "" if value is None else figure(value) + unit


def _part(part: int | None, whole: int | None) -> str:
    return "" if whole is None else f"{'?' if part is None else part}/{whole}"


def _memory(row: Any) -> str:
    if row.mem_used_gb is None or row.mem_total_gb is None:
        return _figure(row.mem_used_gb)
    return f"{figure(row.mem_used_gb)}/{figure(row.mem_total_gb)}"


def _ahead(row: Any) -> str:
    if row.forecast_util_percent is None:
        return ""
    return f"{_percent(row.forecast_util_percent)} for {brief(row.forecast_seconds)}"


_LOAD = (
    _column("UTIL", lambda row: _percent(row.util_percent), 9, right=True),
    _column("COURSE", lambda row: spark(row.course, 100.0), 4),
)
_MEMORY = _column("MEM GB", _memory, 7, right=True)
_REST = (
    _column("POWER", lambda row: _figure(row.power_watts, " W"), 3, right=True),
    _column("TYPE", lambda row: row.job_type or "", 6, least=8),
    _column("PERIOD", lambda row: brief(row.period_seconds), 5, right=True),
    _column("FORECAST", _ahead, 6),
)
_MODEL = _column("MODEL", lambda row: "" if row.model is None else model_name(row.model), 4)
_TROUBLE = _column("TROUBLE", lambda row: row.trouble or "", 8, least=20)
