"""Settings that cannot work are refused at once, and none of them tells a secret."""

from pathlib import Path

import pytest

from cepheid.errors import SourceRefusedError
from cepheid.sources.access import Access

URL = "http://prometheus:9090"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"url": "prometheus:9090"}, "no http"),
        ({"url": "ftp://prometheus"}, "no http"),
        ({"url": "http://"}, "no http"),
        ({"url": "http://prometheus:port"}, "no http"),
        ({"url": "http://[::1"}, "no http"),
        ({"url": "http://me:hunter2@prometheus"}, "user name or password"),
        ({"url": "http://prometheus/?token=hunter2"}, "query"),
        ({"username": "me"}, "both"),
        ({"password_file": Path("p")}, "both"),
        ({"username": "a:b", "password_file": Path("p")}, "colon"),
        (
            {"username": "a", "password_file": Path("p"), "bearer_token_file": Path("t")},
            "both a bearer token and basic",
        ),
        ({"client_key_file": Path("k")}, "both a certificate and a key"),
        ({"headers": {"X-A": "hunter2\r\nX-B: c"}}, "'X-A'"),
        ({"headers": {"X A": "b"}}, "'X A'"),
        ({"timeout_seconds": 0}, "timeout_seconds is 0"),
        ({"max_answer_bytes": -1}, "max_answer_bytes is -1"),
    ],
)
def test_what_cannot_work_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(SourceRefusedError, match=words) as raised:
        Access(**{"url": URL, **settings})  # type: ignore[arg-type]
    assert raised.value.hint
    assert "hunter2" not in str(raised.value)


def test_a_repr_shows_no_header() -> None:
    assert "hunter2" not in repr(Access(url=URL, headers={"X-Api-Key": "hunter2"}))


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"two words", b"a\nb", b"\xff\xfe", b"x" * 70_000]
)
def test_a_token_file_that_holds_no_token_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(SourceRefusedError, match="token") as raised:
        Access(url=URL, bearer_token_file=file).authorization()
    assert raised.value.__cause__ is None
    assert "words" not in str(raised.value)
