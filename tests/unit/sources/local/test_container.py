import pytest

from cepheid.sources.local.container import container_of
from cepheid.sources.local.facts import Container

ID = "3f4a" * 16
POD = "0a1b2c3d-1111-2222-3333-444455556666"
UNDERSCORED = POD.replace("-", "_")
BURSTABLE = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UNDERSCORED}.slice"


@pytest.mark.parametrize(
    ("path", "runtime", "name", "pod"),
    [
        (f"/docker/{ID}", "docker", ID[:12], None),
        (f"/system.slice/docker-{ID}.scope", "docker", ID[:12], None),
        (f"/system.slice/nerdctl-{ID}.scope", "containerd", ID[:12], None),
        (f"{BURSTABLE}/cri-containerd-{ID}.scope", "containerd", ID[:12], POD),
        (f"/system.slice/kubepods-burstable-pod{UNDERSCORED}.slice:cri-containerd:{ID}",
         "containerd", ID[:12], POD),
        (f"{BURSTABLE}/crio-{ID}.scope", "cri-o", ID[:12], POD),
        (f"{BURSTABLE}/crio-{ID}.scope/container", "cri-o", ID[:12], POD),
        (f"{BURSTABLE}/docker-{ID}.scope", "docker", ID[:12], POD),
        (f"/kubepods/besteffort/pod{POD}/{ID}", "kubernetes", ID[:12], POD),
        (f"/machine.slice/libpod-{ID}.scope", "podman", ID[:12], None),
        (f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container",
         "podman", ID[:12], None),
        ("/lxc/web-1", "lxc", "web-1", None),
        ("/lxc.payload.web-1/system.slice/cron.service", "lxc", "web-1", None),
        ("/machine.slice/systemd-nspawn@build.service/payload", "systemd-nspawn", "build", None),
        (r"/machine.slice/machine-my\x2dbox.scope/payload/init.scope", "systemd-nspawn", "my-box",
         None),
        (f"/ecs/task-7/{ID}", "container", ID[:12], None),
    ],
)  # fmt: skip
def test_a_runtime_is_known_by_its_paths(
    path: str, runtime: str, name: str, pod: str | None
) -> None:
    expected = Container(runtime=runtime, id=name, pod_uid=pod)
    assert container_of([path], top="/nowhere", environment={}) == expected


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/user.slice/user-1000.slice/session-2.scope",
        "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-terminal.scope",
        "/system.slice/docker.service",
        "/machine.slice/machine-qemu.scope",
        f"/machine.slice/libpod-conmon-{ID}.scope",
        "/lxc.monitor.web-1",
        "/process_api/4dd6b8d6edeab68a0d5a177d0598f341",
    ],
)
def test_what_is_no_container_is_none(path: str) -> None:
    assert container_of([path], top="/nowhere", environment={}) is None


def test_of_nested_containers_the_innermost_counts() -> None:
    inner = "beef" * 16
    path = f"{BURSTABLE}/cri-containerd-{ID}.scope/docker/{inner}"
    found = container_of(["/", path], top="/nowhere", environment={})
    assert found == Container(runtime="docker", id=inner[:12], pod_uid=POD)


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        (f"/var/lib/docker/containers/{ID}/hostname /etc/hostname rw",
         Container(runtime="docker", id=ID[:12])),
        (f"/containers/storage/overlay-containers/{ID}/userdata/hostname /etc/hostname rw",
         Container(runtime="podman", id=ID[:12])),
        (f"/run/containerd/io.containerd.grpc.v1.cri/sandboxes/{ID}/hostname /etc/hostname rw",
         Container(runtime="containerd", id=ID[:12])),
        (f"/var/lib/kubelet/pods/{POD}/etc-hosts /etc/hosts rw",
         Container(runtime="kubernetes", pod_uid=POD)),
    ],
)  # fmt: skip
def test_with_a_namespace_of_its_own_it_is_known_by_its_mounts(
    mount: str, expected: Container
) -> None:
    mounts = f"22 1 0:20 / / rw - overlay overlay rw\n31 22 8:1 {mount} - ext4 /dev/sda1 rw\n"
    assert container_of(["/"], mounts, top="/nowhere", environment={}) == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"APPTAINER_CONTAINER": "/images/a.sif"}, Container(runtime="apptainer", id="a.sif")),
        ({"container": "systemd-nspawn"}, Container(runtime="systemd-nspawn")),
        ({"container": ""}, None),
    ],
)  # fmt: skip
def test_who_has_no_control_group_says_so_in_the_environment(
    variables: dict[str, str], expected: Container | None
) -> None:
    assert container_of(["/"], top="/nowhere", environment=variables) == expected


def test_a_hostile_name_is_short_and_printable() -> None:
    found = container_of(["/lxc/" + "\x1b[31m" + "x" * 500], top="/nowhere", environment={})
    assert found is not None
    assert found.id is not None
    assert found.id.isprintable()
    assert len(found.id) == 100


def test_in_words_it_is_runtime_and_id() -> None:
    assert str(Container(runtime="docker", id="3f4a3f4a3f4a")) == "docker 3f4a3f4a3f4a"
    assert str(Container(runtime="podman")) == "podman"
