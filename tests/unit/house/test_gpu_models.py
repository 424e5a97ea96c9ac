"""What is known of GPU models, by the names that nvidia-smi and node labels give them."""

import pytest

from cepheid.gpu_models import Peaks, Power, peaks_of, power_of
from tests.simgpu.silicon import MODELS


@pytest.mark.parametrize(
    ("name", "peaks"),
    [
        ("NVIDIA A100-SXM4-80GB", Peaks(312, 2039, 80)),
        ("NVIDIA-A100-SXM4-40GB", Peaks(312, 1555, 40)),
        ("NVIDIA A100 80GB PCIe", Peaks(312, 1935, 80)),
        ("A100-PCIE-40GB", Peaks(312, 1555, 40)),
        ("NVIDIA H100 80GB HBM3", Peaks(989, 3350, 80)),
        ("NVIDIA-H100-PCIe", Peaks(756, 2000, 80)),
        ("NVIDIA A10G", Peaks(70, 600, 24)),
        ("NVIDIA-A10", Peaks(125, 600, 24)),
        ("Tesla-T4", Peaks(65, 320, 16)),
        ("Tesla-T4-SHARED", Peaks(65, 320, 16)),
        ("Tesla V100-SXM2-32GB", Peaks(125, 900, 32)),
        ("Tesla P100-PCIE-16GB", Peaks(None, 732, 16)),
        ("Tesla-K80", Peaks(None, 240, 12)),
        ("NVIDIA-A100-SXM4-80GB-MIG-3g.40gb", Peaks(312 * 3 / 7, 2039 / 2, 40)),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", Peaks(312 / 7, 2039 / 8, 10)),
        ("NVIDIA Z9000", None),
        ("", None),
        (None, None),
    ],
)
def test_peaks_are_those_of_the_data_sheet(name: str | None, peaks: Peaks | None) -> None:
    assert peaks_of(name) == peaks


def test_power_is_found_by_the_same_names() -> None:
    assert power_of("NVIDIA A10") == Power(17, 150)
    assert power_of("NVIDIA-A10G") == Power(17, 300)
    assert power_of(None) is None


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_simulated_gpus_have_the_peaks_that_are_believed_of_them(name: str) -> None:
    peaks, simulated = peaks_of(name), MODELS[name]
    assert peaks is not None
    assert peaks.tensor_teraflops == simulated.tensor_tflops
    assert peaks.dram_gb_per_second == simulated.dram_gbps
