"""Advice as what applies it: commands that can be run, or lines of YAML."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cepheid.cli.formats import Output, document, in_yaml, write_lines
from cepheid.cli.places import say

if TYPE_CHECKING:
    from cepheid.reports.sizing.advised import Advised
    from cepheid.reports.sizing.patch import Patch


def show_patches(told: "Sequence[Advised]", output: Output) -> None:
    from cepheid.reports.sizing.patch import patch_of

    if output is Output.TABLE:
        write_lines(patch_lines(told))
        return
    made = [one for each in told if (one := patch_of(each)) is not None]
    document([_as_document(one) for one in made], output)


def _as_document(patch: "Patch") -> dict[str, object]:
    return {
        "api_version": patch.api_version,
        "kind": patch.kind,
        "namespace": patch.namespace,
        "name": patch.name,
        "how": patch.how,
        "patch": patch.document,
        "command": command(patch) if patch.is_command else None,
    }


def patch_lines(told: "Sequence[Advised]") -> Iterator[str]:
    """Beside commands, lines of YAML are comments: what is printed can be run."""
    from cepheid.reports.sizing.patch import patch_of

    made = [(each, patch_of(each)) for each in told]
    has_commands = any(one is not None and one.is_command for _, one in made)
    is_first = True
    for each, one in made:
        if one is None:
            if any(row.is_patched for row in each.rows):
                say(f"note: of {each.newest.series} no patch can be written")
            continue
        if one.is_command:
            yield command(one)
            continue
        if not is_first and not has_commands:
            yield "---"
        is_first = False
        for line in _manifest(one):
            yield f"# {line}".rstrip() if has_commands else line


def command(patch: "Patch") -> str:
    """To be run as it stands: names are such as Kubernetes takes, and JSON has no single quote."""
    import json

    group, _, version = patch.api_version.rpartition("/")
    thing = ".".join(part for part in (patch.kind.lower(), version, group) if part)
    if isinstance(patch.document, list):
        lines = ",\n".join(f" {json.dumps(one, separators=(',', ':'))}" for one in patch.document)
        text = f"[\n{lines}\n]"
    else:
        text = json.dumps(patch.document, separators=(",", ":"))
    return (
        f"kubectl patch {thing} {patch.name} --namespace={patch.namespace}"
        f" --type={patch.how} --patch='{text}'"
    )


def _manifest(patch: "Patch") -> Iterator[str]:
    if patch.name:
        yield f"# {patch.kind} {patch.namespace}/{patch.name}: change these lines of its manifest;"
        yield "# or kubectl patch --local --type=strategic --patch-file=THIS -f MANIFEST -o yaml"
    else:
        yield "# what a container that runs it in a cluster should ask for"
    yield from in_yaml(patch.document).splitlines()
