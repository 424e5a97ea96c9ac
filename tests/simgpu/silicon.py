"""What each GPU model can do.

Memory, power limits, clocks, peaks and bandwidth are meant to be the published ones, written down
without a data sheet at hand; idle power, reserved memory, temperatures and compute_speed are
plausible round figures. Tests may rely on their order, not on their last digit.

Speeds are relative to one A100-SXM4-80GB, the reference on which workloads state their time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from .errors import SimgpuError

MIG_COMPUTE_SLICES = 7
MIG_MEMORY_SLICES = 8


@dataclass(frozen=True)
class MigProfile:
    """A way to cut a piece off a GPU, in the manner of `nvidia-smi mig -lgip`."""

    name: str
    compute_slices: int  # of MIG_COMPUTE_SLICES
    memory_slices: int  # of MIG_MEMORY_SLICES
    memory_mib: int


@dataclass(frozen=True)
class Model:
    name: str
    memory_mib: int
    reserved_mib: int  # what the driver keeps for itself
    idle_watts: float
    max_watts: float
    idle_sm_mhz: int
    max_sm_mhz: int
    idle_memory_mhz: int
    max_memory_mhz: int
    tensor_tflops: float  # dense FP16, the unit in which the tensor pipe's peak is quoted
    dram_gbps: float
    compute_speed: float  # A100 = 1: what a mixed-precision training step gains
    idle_celsius: int
    busy_celsius: int
    has_memory_sensor: bool  # GDDR boards have none: DCGM reports 0 there
    has_nvlink: bool
    has_row_remapping: bool  # Ampere and later
    mig_profiles: Mapping[str, MigProfile] = field(default_factory=dict)

    @property
    def dram_speed(self) -> float:
        return self.dram_gbps / MODELS[REFERENCE].dram_gbps


_MIG_80GB = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            MigProfile("1g.10gb", 1, 1, 9728),
            MigProfile("2g.20gb", 2, 2, 19968),
            MigProfile("3g.40gb", 3, 4, 40192),
            MigProfile("4g.40gb", 4, 4, 40192),
            MigProfile("7g.80gb", 7, 8, 80640),
        )
    }
)

REFERENCE = "NVIDIA A100-SXM4-80GB"

MODELS: Mapping[str, Model] = MappingProxyType(
    {
        model.name: model
        for model in (
            Model(
                name=REFERENCE,
                memory_mib=81920,
                reserved_mib=874,
                idle_watts=55,
                max_watts=400,
                idle_sm_mhz=210,
                max_sm_mhz=1410,
                idle_memory_mhz=1593,
                max_memory_mhz=1593,
                tensor_tflops=312,
                dram_gbps=2039,
                compute_speed=1.0,
                idle_celsius=31,
                busy_celsius=68,
                has_memory_sensor=True,
                has_nvlink=True,
                has_row_remapping=True,
                mig_profiles=_MIG_80GB,
            ),
            Model(
                name="NVIDIA H100 80GB HBM3",
                memory_mib=81559,
                reserved_mib=550,
                idle_watts=70,
                max_watts=700,
                idle_sm_mhz=345,
                max_sm_mhz=1980,
                idle_memory_mhz=2619,
                max_memory_mhz=2619,
                tensor_tflops=989,
                dram_gbps=3350,
                compute_speed=2.2,
                idle_celsius=30,
                busy_celsius=66,
                has_memory_sensor=True,
                has_nvlink=True,
                has_row_remapping=True,
                mig_profiles=_MIG_80GB,
            ),
            Model(
                name="NVIDIA A10",
                memory_mib=23028,
                reserved_mib=512,
                idle_watts=17,
                max_watts=150,
                idle_sm_mhz=210,
                max_sm_mhz=1695,
                idle_memory_mhz=405,
                max_memory_mhz=6251,
                tensor_tflops=125,
                dram_gbps=600,
                compute_speed=0.4,
                idle_celsius=33,
                busy_celsius=70,
                has_memory_sensor=False,
                has_nvlink=False,
                has_row_remapping=True,
            ),
            Model(
                name="Tesla T4",
                memory_mib=15360,
                reserved_mib=450,
                idle_watts=10,
                max_watts=70,
                idle_sm_mhz=300,
                max_sm_mhz=1590,
                idle_memory_mhz=405,
                max_memory_mhz=5001,
                tensor_tflops=65,
                dram_gbps=320,
                compute_speed=0.2,
                idle_celsius=36,
                busy_celsius=74,
                has_memory_sensor=False,
                has_nvlink=False,
                has_row_remapping=False,
            ),
        )
    }
)


def find_model(name: str) -> Model:
    """The model of that name, as `nvidia-smi` prints it; `... MIG 1g.10gb` is that slice of it."""
    base, _, profile_name = name.partition(" MIG ")
    model = MODELS.get(base)
    if model is None:
        raise SimgpuError(f"unknown GPU model {base!r}", hint="one of: " + ", ".join(MODELS))
    if not profile_name:
        return model
    return mig_slice(model, find_profile(model, profile_name))


def find_profile(model: Model, name: str) -> MigProfile:
    if not model.mig_profiles:
        able = (other.name for other in MODELS.values() if other.mig_profiles)
        raise SimgpuError(f"{model.name} has no MIG", hint="models that do: " + ", ".join(able))
    profile = model.mig_profiles.get(name)
    if profile is None:
        raise SimgpuError(
            f"{model.name} has no MIG profile {name!r}",
            hint="one of: " + ", ".join(model.mig_profiles),
        )
    return profile


def mig_slice(model: Model, profile: MigProfile) -> Model:
    """The slice as a workload sees it: a smaller GPU with a longer name."""
    compute_share = profile.compute_slices / MIG_COMPUTE_SLICES
    return replace(
        model,
        name=f"{model.name} MIG {profile.name}",
        memory_mib=profile.memory_mib,
        reserved_mib=0,
        tensor_tflops=model.tensor_tflops * compute_share,
        compute_speed=model.compute_speed * compute_share,
        dram_gbps=model.dram_gbps * profile.memory_slices / MIG_MEMORY_SLICES,
        mig_profiles={},
    )
