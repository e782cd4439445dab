"""`make dist-test`: the Containerfile is built, and what it builds answers.

buildah builds as root, without a daemon. Where no registry can be reached, its base image is made
by debootstrap from the package archive.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.dist.__main__ import ROOT

BASE = "docker.io/library/debian:12-slim"
# What this machine trusts: a package index behind a proxy of its own has a certificate of it.
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="buildah and debootstrap need root here"),
    pytest.mark.skipif(not shutil.which("buildah"), reason="apt-get install buildah debootstrap"),
]


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Buildah:
    builder = Buildah(tmp_path_factory.mktemp("buildah"))
    if builder.pull() != 0:
        builder.bootstrap()
    return builder


class Buildah:
    """buildah with a store of its own, which goes with the test's directory."""

    def __init__(self, store: Path) -> None:
        self.store = store

    def __call__(self, *words: str | Path) -> str:
        done = self._run(*words)
        assert done.returncode == 0, f"buildah {words}\n{done.stdout}"
        return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""

    def pull(self) -> int:
        return self._run("pull", BASE).returncode

    def bootstrap(self) -> None:
        tree = self.store / "tree"
        subprocess.run(
            ["debootstrap", "--variant=minbase", "bookworm", tree], check=True, stdout=-3
        )
        container = self("from", "scratch")
        self("add", container, tree, "/")
        self("commit", container, BASE)

    def _run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        where = ["--root", self.store / "root", "--runroot", self.store / "run"]
        environment = {**os.environ, "BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}
        command: list[str | Path] = ["buildah", *map(str, where), *words]
        return subprocess.run(command, cwd=ROOT, env=environment, text=True, stdout=-1, stderr=-2)


def test_the_image_measures_a_server_and_has_no_compiler(buildah: Buildah) -> None:
    pip = buildah.store / "pip.conf"
    pip.write_text("[global]\ncert = /trusted.crt\n")
    trusted = [f"--volume={CERTIFICATES}:/trusted.crt:ro", f"--volume={pip}:/etc/pip.conf:ro"]
    buildah("build", "--tag", "dbdyno", "--pull-never", *trusted, "--file", "Containerfile", ".")
    container = buildah("from", "--pull-never", "dbdyno")
    buildah("run", container, "--", "sh", "-c", "! command -v cc gcc rustc cargo")
    dyno = ("run", "--user", "dyno", container, "--", "dyno", "run")
    buildah(*dyno, "quickstart", "--quick", "--dir", "quickstart")
    buildah(*dyno, "engines", "--check")
    buildah("run", container, "--", "test", "-e", "quickstart/report.html")
