"""A job as a row: the same for a process and for a job of a cluster."""

from dataclasses import asdict

from hypothesis import given
from msgspec.structs import replace

from cepheid.jobprofile import GpuHeld, JobProfile
from cepheid.reports.listing import energy_joules, gpu_models, row_of
from tests.unit.history.strategies import PROFILES
from tests.unit.reports.runs import GIB, pod_job, process


def test_a_process_has_what_the_kernel_counted() -> None:
    row = row_of(process())
    assert (row.kind, row.status, row.user) == ("Process", "success", "ann")
    assert (row.cpu_seconds, row.memory_peak_bytes) == (3.9 * 720, 6 * GIB)
    assert (row.gpu_count, row.gpu_models) == (1, "1xRTX3090")


def test_a_job_of_a_cluster_has_what_its_samples_say() -> None:
    row = row_of(pod_job())
    assert row.cpu_seconds == 12.0 * 8040
    assert row.memory_peak_bytes == 4 * 37.9 * GIB
    assert (row.gpu_models, row.period_seconds) == ("4xA100-80", 42.1)


def test_several_models_stand_beside_each_other_and_unknown_ones_are_counted() -> None:
    mixed = replace(pod_job(), gpus=(*pod_job().gpus[:2], GpuHeld(node="b", index=0, model="T4")))
    assert gpu_models(mixed) == "2xA100-80+1xT4"
    assert gpu_models(replace(pod_job(), gpus=())) == "4xGPU"
    assert gpu_models(replace(pod_job(), gpus=(), gpu_count=0)) is None


def test_energy_is_that_of_the_gpus_and_of_the_machine() -> None:
    seen = process().process
    assert seen is not None
    with_machine = process(process=replace(seen, machine_energy_joules=1000.0))
    assert energy_joules(with_machine) == 131_000.0
    assert energy_joules(replace(with_machine, usage=None)) == 1000.0
    assert energy_joules(replace(process(), usage=None)) is None


@given(PROFILES)
def test_every_profile_is_a_row_without_invented_zeros(profile: JobProfile) -> None:
    row = asdict(row_of(profile))
    assert row["id"] == profile.job.uid
    if profile.usage is None:
        assert row["cpu_cores_mean"] is None
        assert row["memory_peak_bytes"] is None
