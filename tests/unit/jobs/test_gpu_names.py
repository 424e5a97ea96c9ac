"""Models of GPUs, as people call them."""

import pytest

from cepheid.jobs.gpu_names import model_name, told_apart


@pytest.mark.parametrize(
    ("model", "short"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100-80"),
        ("NVIDIA A100-SXM4-40GB", "A100-40"),
        ("NVIDIA H100 80GB HBM3", "H100-80"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4090", "RTX4090"),
        ("AMD Instinct MI300X", "MI300X"),
        ("NVIDIA-A100-SXM4-80GB", "A100-80"),
        ("NVIDIA-H100-80GB-HBM3", "H100-80"),
        ("Tesla-T4", "T4"),
        ("NVIDIA-GeForce-RTX-4090", "RTX4090"),
        ("NVIDIA-RTX-A6000", "RTXA6000"),
        ("", "GPU"),
        ("x" * 100, "x" * 24),
    ],
)
def test_a_model_by_the_name_that_people_use(model: str, short: str) -> None:
    assert model_name(model) == short


def test_models_that_share_a_name_keep_their_own() -> None:
    sxm, pcie = "NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-PCIE-80GB"
    assert told_apart([sxm, pcie, "Tesla-T4"]) == {sxm: sxm, pcie: pcie, "Tesla-T4": "T4"}
    assert told_apart([sxm, sxm]) == {sxm: "A100-80"}
