"""What doctor expects is what the manifests of this version install."""

from typing import Any

from cepheid.doctor.belongings import (
    GLOBAL,
    LABEL,
    NAMESPACED,
    NAMESPACES,
    WORKLOADS,
    Belonging,
    is_ours,
)
from cepheid.doctor.definitions import NAMES, expected, paths, without_own
from cepheid.doctor.facts import Right
from cepheid.doctor.installed import POLICIES
from cepheid.doctor.rights import AGENT, NEEDED, OPERATOR
from tests.cluster.rendered import PROMETHEUS
from tests.unit.manifests.files import INSTALL, LOGS, UNINSTALL, objects, of_kind, only

IN_NAMESPACES = {kind.__name__ for kind in (*WORKLOADS, *NAMESPACED)}
EVERYWHERE = {kind.__name__: kind for kind in GLOBAL}


def rules(kind: str, name: str) -> set[Right]:
    thing = only(INSTALL, kind, name)
    namespace = thing["metadata"].get("namespace", "")
    return {
        Right(verb, group, resource, namespace, named)
        for rule in thing["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for named in rule.get("resourceNames", [""])
    }


def test_the_rights_asked_for_are_those_that_are_installed() -> None:
    assert set(NEEDED[AGENT]) == rules("ClusterRole", AGENT)
    assert set(NEEDED[OPERATOR]) == rules("ClusterRole", OPERATOR) | rules("Role", OPERATOR)


def test_the_policies_looked_for_are_those_that_are_installed() -> None:
    installed = of_kind(INSTALL, "ValidatingAdmissionPolicy")
    assert {one["metadata"]["name"] for one in installed} == POLICIES


def test_the_fields_of_the_records_are_those_of_the_definitions() -> None:
    definitions = of_kind(INSTALL, "CustomResourceDefinition")
    assert {one["metadata"]["name"] for one in definitions} == set(NAMES)
    for one in definitions:
        (version,) = one["spec"]["versions"]
        fields = without_own(paths(version["schema"]["openAPIV3Schema"]))
        assert fields == expected()[one["metadata"]["name"]]
        assert len(fields) > 100


def test_a_schema_that_is_none_has_no_fields() -> None:
    circle: dict[str, Any] = {"$ref": "#/$defs/a"}
    odd: Any
    for odd in (None, [], {"properties": 3}, {"properties": {"a": None}}, circle):
        assert paths(odd, {"a": circle}) <= {"a"}


def test_an_uninstall_finds_every_object_that_we_ever_install() -> None:
    for path in (INSTALL, UNINSTALL, LOGS, PROMETHEUS):
        for thing in objects(path):
            metadata, kind = thing["metadata"], thing["kind"]
            assert LABEL.items() <= metadata["labels"].items(), metadata["name"]
            if kind == "Namespace":
                assert metadata["name"] in NAMESPACES
            elif "namespace" in metadata:
                assert metadata["namespace"] in NAMESPACES
                assert kind in IN_NAMESPACES
            else:
                assert is_ours(Belonging(EVERYWHERE[kind], metadata["name"], None))


def test_what_only_carries_our_label_is_not_ours() -> None:
    for kind, name in (
        ("ClusterRole", "monitoring"),
        ("CustomResourceDefinition", "a.example.org"),
    ):
        assert not is_ours(Belonging(EVERYWHERE[kind], name, None))
    assert "monitoring" not in NAMESPACES
