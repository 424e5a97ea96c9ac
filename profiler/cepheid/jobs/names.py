"""What the JobProfile object of a job is called."""

import hashlib
import re

NAME_CHARACTERS = 253
HASH_CHARACTERS = 10

_NOT_IN_A_NAME = re.compile(r"[^a-z0-9.-]+", re.ASCII)
_AT_THE_JOIN = re.compile(r"[.-]*\.[.-]*", re.ASCII)


def profile_name(job_name: str, uid: str) -> str:
    """The job's own name, and a hash of its uid: a job that is made again is another one."""
    digest = hashlib.sha256(uid.encode(errors="surrogatepass")).hexdigest()[:HASH_CHARACTERS]
    plain = _AT_THE_JOIN.sub(".", _NOT_IN_A_NAME.sub("-", job_name.lower()))
    start = plain[: NAME_CHARACTERS - HASH_CHARACTERS - 1].strip(".-")
    return f"{start}-{digest}" if start else digest
