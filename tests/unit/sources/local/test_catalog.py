import re

from cepheid.sources.local import catalog
from cepheid.sources.local.gpus import MEASURES


def test_a_columns_name_ends_with_its_unit() -> None:
    endings = {"s": "_seconds", "B": "_bytes", "J": "_joules", "W": "_watts", "%": "_percent"}
    for column in catalog.COLUMNS:
        ending = endings.get(column.unit, "_mib" if column.unit == "MiB" else "")
        assert column.name.endswith(ending)


def test_names_are_unique_and_plain() -> None:
    names = [column.name for column in catalog.COLUMNS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)


def test_a_gpus_readings_come_in_the_order_of_the_columns() -> None:
    assert catalog.of("gpu") == MEASURES


def test_a_column_of_one_gpu_is_found() -> None:
    assert catalog.column_of("gpu_util_percent.12").unit == "%"


def test_collectors_are_what_without_takes() -> None:
    assert catalog.COLLECTORS == (
        "process", "uss", "io", "network", "system", "cgroup", "energy", "gpu",
    )  # fmt: skip
