"""How fast are known models on known types of GPU, as others measured it?

Never the extender's own estimate, which goes by data sheets: that is what is put to the test.
"""

from collections.abc import Mapping, Sequence

import numpy as np

A100, V100, A10, T4 = "NVIDIA-A100-PCIE-40GB", "Tesla-V100-SXM2-16GB", "NVIDIA-A10", "Tesla-T4"
K80, P100 = "Tesla-K80", "Tesla-P100-PCIE-16GB"
"""As GPU feature discovery labels nodes with them."""

MEMORY_GB = {A100: 40.0, V100: 16.0, A10: 24.0, T4: 16.0, K80: 12.0, P100: 16.0}
"""Data sheets; of a K80 one of its two GPUs."""

LAMBDA: Mapping[str, Mapping[str, float]] = {
    "ssd": {V100: 229, A10: 174, A100: 395},
    "bert base": {V100: 189, A10: 135, A100: 368},
    "bert large": {V100: 57, A10: 42, A100: 117},
    "gnmt": {V100: 79111, A10: 67836, A100: 186947},
    "ncf": {V100: 23476979, A10: 15343208, A100: 37012517},
    "resnet50": {V100: 833, A10: 638, A100: 1396},
    "tacotron2": {V100: 12611, A10: 16900, A100: 38131},
    "transformer-xl base": {V100: 18493, A10: 16283, A100: 35366},
    "transformer-xl large": {V100: 6071, A10: 5614, A100: 16034},
    "waveglow": {V100: 47253, A10: 80357, A100: 195108},
}
"""Samples a second in training with FP16, one GPU: github.com/lambdal/deeplearning-benchmark,
pytorch/pytorch-train-throughput-fp16.csv, LambdaCloud V100 16GB, A10 and A100 40GB PCIe."""

GAVEL: Mapping[str, Mapping[str, float]] = {
    "transformer": {K80: 1.7486, P100: 4.4123, V100: 8.7418},
    "cyclegan": {K80: 0.51285, P100: 2.4219, V100: 3.6756},
    "resnet18": {K80: 5.9139, P100: 28.550, V100: 46.817},
    "a3c": {K80: 3.1273, P100: 4.5464, V100: 7.2380},
}
"""Steps a second: github.com/stanford-futuredata/gavel (Narayanan et al., OSDI'20),
scheduler/combined_throughputs_with_p100.json. Its three other models are left out: they were
measured with another batch on one type than on the others, or not on all."""

T4_SLOWER = (2.2, 3.6)
"""Than a V100, by the model: nobody's table here has both, so this is assumed; Dell reported such a
range for MLPerf v0.5 on both."""


def tables(types: Sequence[str]) -> list[dict[str, float]]:
    """Of each model that was measured on all those types, its speed there beside a V100; of a T4
    NaN, to be drawn."""
    wanted = set(types) - {T4}
    found = [
        {kind: rate / rates[V100] for kind, rate in rates.items()}
        for table in (LAMBDA, GAVEL)
        for rates in table.values()
        if wanted <= rates.keys()
    ]
    return [{kind: speeds.get(kind, np.nan) for kind in types} for speeds in found]
