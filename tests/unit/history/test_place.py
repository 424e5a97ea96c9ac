"""Where a history is kept; and that its password is nobody's to read."""

import logging
import traceback
from pathlib import Path

import pytest

from cepheid.errors import HistoryError, HistoryRefusedError
from cepheid.history import History, default_path
from cepheid.history.place import File, Server, place_of

SECRET = "hunter2"  # noqa: S105 - looked for where it must not be


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_DATA_HOME": "/data/ann"}, Path("/data/ann/cepheid/history.db")),
        ({"XDG_DATA_HOME": "not/absolute"}, Path.home() / ".local/share/cepheid/history.db"),
        ({"XDG_DATA_HOME": ""}, Path.home() / ".local/share/cepheid/history.db"),
        ({}, Path.home() / ".local/share/cepheid/history.db"),
    ],
)
def test_on_a_laptop_it_is_where_a_users_data_is(
    environment: dict[str, str], expected: Path
) -> None:
    assert default_path(environment) == expected


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/tmp/a.db", "/tmp/a.db"),  # noqa: S108 - never opened
        ("~/a.db", str(Path.home() / "a.db")),
        ("sqlite:////tmp/a%20b.db", "/tmp/a b.db"),  # noqa: S108
        ("sqlite:///a.db", str(Path.cwd() / "a.db")),
    ],
)
def test_a_path_is_a_file(text: str, path: str) -> None:
    assert place_of(text) == File(Path(path))


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_url_is_a_server(scheme: str) -> None:
    place = place_of(f"{scheme}://ann%40lab:a%2Fb%3A@[::1]:5433/his%20tory?sslmode=verify-full")
    assert place == Server("::1", 5433, "his tory", "ann@lab", "a/b:", {"sslmode": "verify-full"})


def test_a_socket_is_a_server_too() -> None:
    place = place_of("postgresql://ann@/history?host=/run/postgresql")
    assert place == Server(None, None, "history", "ann", None, {"host": "/run/postgresql"})
    assert str(place) == "postgresql://ann@/run/postgresql/history"


@pytest.mark.parametrize(
    "text",
    [
        f"mysql://ann:{SECRET}@db/history",
        f"postgresql://ann:x@{SECRET}@db/history",
        f"postgresql://ann:x:{SECRET}@db:{SECRET}/history",
        f"postgresql://ann:x/{SECRET}@db:99999999/history",
        f"postgresql://ann:x#{SECRET}@db/history",
        f"postgresql://ann:[{SECRET}@db/history",
        "",
        "sqlite://",
        ":memory:",
    ],
)
def test_what_cannot_be_a_place_is_refused_without_its_password(text: str) -> None:
    with pytest.raises(HistoryRefusedError) as refused:
        History.open(text)
    said = "".join(traceback.format_exception(refused.value))
    assert "hint: " in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SECRET}@127.0.0.1:9/history",
        f"postgresql://ann@127.0.0.1:9/history?password={SECRET}",
    ],
)
def test_a_server_that_is_not_there_is_named_without_its_password(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with History.open(url) as history, pytest.raises(HistoryError) as away:
        history.count()
    said = "".join(traceback.format_exception(away.value)) + repr(history) + caplog.text
    assert "postgresql://ann@127.0.0.1:9/history" in said
    assert SECRET not in said
    assert SECRET not in repr(place_of(url))
