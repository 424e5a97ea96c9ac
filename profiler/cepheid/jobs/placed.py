"""On which GPUs did a run of a job run, and how many had each of its workers?"""

from cepheid.jobprofile import Asked, JobProfile
from cepheid.jobs.gpu_names import is_gpu
from cepheid.placementtrial import Placement
from cepheid.units import quantity


def placement_of(profile: JobProfile) -> Placement | None:
    """None for a run on several types of GPU, or whose pods asked for different numbers."""
    label, each = gpu_type_of(profile), per_worker(profile)
    if label is None or each is None:
        return None
    workers = sum(asked.pods for asked in profile.asked if _gpus(asked))
    if workers * each != profile.gpu_count or workers < 1:
        return None
    return Placement(gpu_type=label, gpus_per_worker=each, workers=workers)


def gpu_type_of(profile: JobProfile) -> str | None:
    """As GPU feature discovery makes a label of it; None where it had GPUs of several types."""
    models = {gpu.model for gpu in profile.gpus}
    if len(models) != 1 or None in models:
        return None
    return type_label(str(models.pop()))


def type_label(model: str) -> str:
    """The value that the label of a node with such GPUs has; of GPUs that are shared in turns too,
    whose label says so at its end."""
    return model.replace(" ", "-").removesuffix("-SHARED")


def per_worker(profile: JobProfile) -> int | None:
    """None where some of its pods asked for more GPUs than others that asked for some."""
    counts = {gpus for asked in profile.asked if (gpus := _gpus(asked))}
    return counts.pop() if len(counts) == 1 else None


def _gpus(asked: Asked) -> int:
    given = [text for name, text in {**asked.requests, **asked.limits}.items() if is_gpu(name)]
    amounts = [amount for text in given if (amount := quantity(text)) is not None]
    return int(sum(amounts)) if len(amounts) == len(given) else 0
