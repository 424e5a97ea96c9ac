"""Who is to be no hog says so on the job, and its profile keeps it."""

import pytest

from cepheid.annotations.codec import HOG_EXEMPT
from cepheid.jobs.ending import ending_of
from cepheid.jobs.profile import Kept, Known, profile_of
from tests.unit.jobs.test_profile import NOW


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_a_label_or_an_annotation_is_kept_without_being_asked_for(where: str) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "a",
            "namespace": "n",
            "uid": "u",
            where: {HOG_EXEMPT: "true", "other": "x"},
        },
    }
    ending = ending_of(job, [], deleted=NOW)
    assert profile_of(Known(job=job), ending, NOW).labels == {HOG_EXEMPT: "true"}
    told = profile_of(Known(job=job), ending, NOW, Kept(labels=("other",))).labels
    assert told == {HOG_EXEMPT: "true"} | ({"other": "x"} if where == "labels" else {})
