"""What can be set: one frozen dataclass per process, built once at its start.

A field's name is its flag (`--prometheus-url`) and its variable (`CEPHEID_PROMETHEUS_URL`); the
flag wins. `options` lists them for the command line, and docs/settings.md is checked against it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar, get_type_hints

from cepheid.errors import UsageError

PREFIX = "CEPHEID_"
_T = TypeVar("_T")


def _set(default: Any, words: str) -> Any:
    return field(default=default, metadata={"words": words})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """Of every process that runs in a cluster."""

    listen: str = _set("0.0.0.0:9402", "Where /metrics, /healthz and /readyz are served.")
    log_format: str = _set("text", "text or json.")
    log_level: str = _set("info", "debug, info, warning or error.")

    def __post_init__(self) -> None:
        for name, allowed in (
            ("log_format", ("text", "json")),
            ("log_level", ("debug", "info", "warning", "error")),
        ):
            if getattr(self, name) not in allowed:
                raise UsageError(
                    f"{flag(name)} is {getattr(self, name)!r}", hint=f"one of {', '.join(allowed)}"
                )
        _ = self.listen_address

    def _hold(self, *limits: tuple[str, float, float]) -> None:
        for name, least, most in limits:
            value = getattr(self, name)
            if not least <= value <= most:
                raise UsageError(
                    f"{flag(name)} is {value:g}", hint=f"from {least:g} to {most:g} it can be"
                )

    def _address(self, name: str) -> tuple[str, int]:
        given: str = getattr(self, name)
        host, colon, port = given.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:  # noqa: PLR2004
            raise UsageError(f"{flag(name)} is {given!r}", hint="host:port, such as 0.0.0.0:9402")
        return host.strip("[]"), int(port)

    @property
    def listen_address(self) -> tuple[str, int]:
        return self._address("listen")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusSettings(ProcessSettings):
    """Of one that reads metrics."""

    prometheus_url: str = _set(
        "http://prometheus.cepheid-monitoring.svc:9090",
        "Where any server that speaks PromQL answers; a path is kept.",
    )
    prometheus_token_file: str = _set("", "File with a bearer token, read again when it changes.")
    prometheus_user: str = _set("", "User for basic authentication.")
    prometheus_password_file: str = _set("", "File with that user's password.")
    prometheus_ca_file: str = _set("", "Certificates to trust instead of the system's.")
    prometheus_certificate_file: str = _set("", "Client certificate.")
    prometheus_key_file: str = _set("", "Its key.")
    prometheus_headers: str = _set("", "More headers, as Name=value,Name=value: a tenant.")
    prometheus_timeout_seconds: float = _set(10.0, "For one query.")
    prometheus_answer_mib: float = _set(8.0, "The largest answer that is read, unpacked.")
    most_series: int = _set(4000, "Series taken; what is beyond is left out and counted.")

    def __post_init__(self) -> None:
        ProcessSettings.__post_init__(self)
        if not self.prometheus_url.startswith(("http://", "https://")):
            raise UsageError(
                f"prometheus-url is {self.prometheus_url!r}", hint="it starts with http(s)://"
            )
        self._hold(
            ("prometheus_timeout_seconds", 0.1, 300.0),
            ("prometheus_answer_mib", 0.1, 1024.0),
            ("most_series", 1, 1_000_000),
        )
        _ = self.headers

    @property
    def headers(self) -> dict[str, str]:
        pairs = [pair for pair in self.prometheus_headers.split(",") if pair]
        if not all("=" in pair for pair in pairs):
            raise UsageError(
                "prometheus-headers cannot be read", hint="Name=value,Name=value; no commas inside"
            )
        split = (pair.partition("=") for pair in pairs)
        return {name.strip(): value.strip() for name, _, value in split}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings(PrometheusSettings):
    """Of `cepheid agent`."""

    node_name: str = field(metadata={"words": "The node that it runs on and writes to."})
    pass_seconds: float = _set(30.0, "From one pass to the next, give or take a tenth.")
    window_seconds: float = _set(3600.0, "How much of the past is kept and looked at.")
    horizon_seconds: float = _set(600.0, "How far ahead forecasts look.")
    valid_seconds: float = _set(1200.0, "How long annotations count after a heartbeat.")
    write_seconds: float = _set(60.0, "At least from one write to the next, an object.")

    def __post_init__(self) -> None:
        if not self.node_name:
            raise UsageError(
                "the name of the node is missing",
                hint="give --node-name or CEPHEID_NODE_NAME; in a pod from spec.nodeName",
            )
        PrometheusSettings.__post_init__(self)
        self._hold(
            ("pass_seconds", 1.0, 3600.0),
            ("window_seconds", 300.0, 7 * 86400.0),
            ("horizon_seconds", 30.0, 86400.0),
            ("valid_seconds", 60.0, 86400.0),
            ("write_seconds", 0.0, 3600.0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings(PrometheusSettings):
    """Of `cepheid operator`."""

    listen: str = _set("0.0.0.0:9403", "Where /metrics, /healthz and /readyz are served.")
    namespace: str = _set("cepheid", "Where its Lease is: the namespace of its pod.")
    identity: str = _set("", "Its name in the Lease, and that of no other: the pod's. [host name]")
    labels: str = _set(
        "app.kubernetes.io/name,app.kubernetes.io/part-of,team,project,user",
        "Labels of a job that its profile keeps, separated by commas.",
    )
    users: str = _set(
        "user,owner,kubeflow.org/owner",
        "Labels or annotations that say who a job is for; the first that it has.",
    )
    write_seconds: float = _set(60.0, "At least from one patch of a job to the next.")
    live_seconds: float = _set(300.0, "At least from one write of a running job's profile on.")
    relist_seconds: float = _set(600.0, "After so long everything is listed anew.")
    keep_days: float = _set(30.0, "JobProfiles whose job ended earlier are deleted.")
    keep_count: int = _set(1000, "Of more JobProfiles in a namespace the oldest are deleted.")
    history_url_file: str = _set("", "File with the database's URL: where finished jobs are kept.")
    history_granularity: str = _set("summary", "summary, or time_series to keep those as well.")
    history_interval_seconds: float = _set(60.0, "Of the time series, a sample for so long.")
    history_days: float = _set(0.0, "Jobs that ended earlier leave the history; 0 for never.")
    history_series_days: float = _set(30.0, "The same for time series alone.")

    idle_after_seconds: float = _set(
        1800.0, "GPUs of a job unused for so long are idle, in namespaces with an idle policy."
    )
    suspend_after_seconds: float = _set(
        3600.0, "From when that was told until such a job is suspended."
    )

    def __post_init__(self) -> None:
        PrometheusSettings.__post_init__(self)
        self._hold(
            ("idle_after_seconds", 60.0, 86400.0),
            ("suspend_after_seconds", 60.0, 86400.0),
            ("write_seconds", 0.0, 3600.0),
            ("live_seconds", 1.0, 86400.0),
            ("relist_seconds", 5.0, 86400.0),
            ("keep_days", 0.001, 36500.0),
            ("keep_count", 1, 1_000_000),
            ("history_interval_seconds", 1.0, 86400.0),
            ("history_days", 0.0, 36500.0),
            ("history_series_days", 0.001, 36500.0),
        )
        if self.history_granularity not in ("summary", "time_series"):
            raise UsageError(
                f"history-granularity is {self.history_granularity!r}",
                hint="one of summary, time_series",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderSettings(ProcessSettings):
    """Of `cepheid extender`."""

    listen: str = _set("0.0.0.0:9404", "Where /metrics, /healthz and /readyz are served.")
    serve: str = _set("0.0.0.0:9443", "Where kube-scheduler asks.")
    certificate_file: str = _set("", "Its certificate, read again when it changes. [plain HTTP]")
    key_file: str = _set("", "The key of that.")
    client_ca_file: str = _set("", "Who asks must have a certificate signed by one of these.")
    profiles: str = _set(
        "cepheid",
        "Pods with one of these as their schedulerName, separated by commas; others never.",
    )
    relist_seconds: float = _set(600.0, "After so long everything is listed anew.")
    tell_per_second: float = _set(5.0, "Events a second, at most, that say what was considered.")

    def __post_init__(self) -> None:
        ProcessSettings.__post_init__(self)
        self._hold(("relist_seconds", 5.0, 86400.0), ("tell_per_second", 0.0, 1000.0))
        _ = self.serve_address
        if bool(self.certificate_file) != bool(self.key_file):
            raise UsageError(
                "a certificate without its key, or the other way round",
                hint="--certificate-file and --key-file go together",
            )
        if self.client_ca_file and not self.certificate_file:
            raise UsageError(
                "client-ca-file without a certificate of its own",
                hint="give --certificate-file and --key-file too",
            )

    @property
    def serve_address(self) -> tuple[str, int]:
        return self._address("serve")


def names_in(text: str) -> tuple[str, ...]:
    """Of a setting that lists some, separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def flag(name: str) -> str:
    return name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Option:
    """One setting, as the command line and the documentation show it."""

    name: str
    kind: type
    default: Any
    """`...` where there is none."""
    words: str

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


def options(settings: type) -> Iterator[Option]:
    kinds = get_type_hints(settings)
    for each in fields(settings):
        default = ... if each.default is MISSING else each.default
        yield Option(each.name, kinds[each.name], default, each.metadata["words"])


def read(settings: type[_T], given: Mapping[str, Any], environment: Mapping[str, str]) -> _T:
    """From flags, then variables, then defaults."""
    values: dict[str, Any] = {}
    for option in options(settings):
        if given.get(option.name) is not None:
            values[option.name] = given[option.name]
        elif option.variable in environment:
            text = environment[option.variable]
            try:
                values[option.name] = option.kind(text)
            except ValueError as problem:
                raise UsageError(
                    f"{option.variable} is {text!r}", hint=f"it takes a {option.kind.__name__}"
                ) from problem
        elif option.default is ...:
            values[option.name] = option.kind()
    return settings(**values)
