"""`make dist-test`: what `make dist` built, installed and run as users will, without a compiler.

Dependencies come from the package index; dbdyno itself comes from dist/ alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import dbdyno
from tools.dist.__main__ import ARCH, DIST, ROOT, TOOLS

STATIC = DIST / f"dyno-engine-{dbdyno.__version__}-{ARCH}-linux-static"
PLAN = ("run", "quickstart", "--quick")
SERVERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture
def clean(tmp_path: Path) -> dict[str, str]:
    """An environment without this checkout's, and with no program on PATH but Python's and the
    shell's: no compiler, no cargo."""
    bare = tmp_path / "bin"
    bare.mkdir()
    for program in ("sh", "env", "uname", "ldd"):
        found = Path("/usr/bin") / program
        (bare / program).symlink_to(found if found.exists() else Path("/bin") / program)
    (bare / "python3").symlink_to(sys.base_prefix + "/bin/python3")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DYNO_", "VIRTUAL_ENV"))}
    return {
        **kept,
        "HOME": str(tmp_path / "home"),
        "PATH": str(bare),
        "PIP_FIND_LINKS": str(DIST),
        "UV_FIND_LINKS": str(DIST),
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
    }


def run(command: list[str | Path], environment: dict[str, str], cwd: Path, status: int = 0) -> str:
    """What `command` says on both streams; fails unless it ends with `status`."""
    done = subprocess.run(
        command, env=environment, cwd=cwd, text=True, stdout=-1, stderr=-2, timeout=900
    )
    assert done.returncode == status, f"{command}\n{done.stdout}"
    return done.stdout


def test_every_file_has_the_checksum_that_is_published() -> None:
    sums = dict(line.split()[::-1] for line in (DIST / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {file.name for file in DIST.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == digest


def test_no_directory_of_this_machine_is_published() -> None:
    for wheel in DIST.glob("*.whl"):
        with zipfile.ZipFile(wheel) as files:
            for name in files.namelist():
                inside = files.read(name)
                assert str(ROOT).encode() not in inside, name
                assert str(Path.home()).encode() + b"/" not in inside, name


@pytest.mark.timeout(900)
def test_both_halves_work_in_a_clean_environment(clean: dict[str, str], tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    run([sys.executable, "-m", "venv", venv], clean, tmp_path)
    run([venv / "bin/pip", "install", "dbdyno[engine]"], clean, tmp_path)
    said = run([venv / "bin/dyno", *PLAN, "--dir", tmp_path / "run"], clean, tmp_path)
    assert (tmp_path / "run" / "report.html").exists(), said
    for kind in ("sqlite", *(["mariadb"] if shutil.which("mariadbd", path=SERVERS) else [])):
        # A server's own programs need those of the system.
        variables = clean if kind == "sqlite" else {**clean, "PATH": f"{clean['PATH']}:{SERVERS}"}
        began_s = time.monotonic()
        words = ("SELECT 1", "SELECT 1 + 1", "--on", kind, "--time", "30s", "-q")
        said = run([venv / "bin/dyno", "try", *words, "--dir", kind], variables, tmp_path)
        print(f"dyno try --on {kind}: answered in {time.monotonic() - began_s:.0f} s")
        assert "Against statement select_1, within blocks" in said, said
        assert (tmp_path / kind / "report.html").exists(), said


INSTALLERS: dict[str, tuple[list[str | Path], str]] = {
    "pip": ([sys.executable, "-m", "venv", "{home}/venv"], "{home}/venv/bin/dyno"),
    "pipx": ([TOOLS / "bin/pipx", "install", "dbdyno"], "{home}/.local/bin/dyno"),
    "uv": ([TOOLS / "bin/uv", "tool", "install", "dbdyno"], "{home}/.local/bin/dyno"),
}


@pytest.mark.parametrize("installer", INSTALLERS)
def test_a_missing_engine_is_added_by_the_command_in_the_message(
    installer: str, clean: dict[str, str], tmp_path: Path
) -> None:
    home = clean["HOME"]
    install, dyno = INSTALLERS[installer]
    run([str(word).format(home=home) for word in install], clean, tmp_path)
    if installer == "pip":
        run([f"{home}/venv/bin/pip", "install", "dbdyno"], clean, tmp_path)
    program = dyno.format(home=home)
    said = run([program, *PLAN, "--dir", tmp_path / "no"], clean, tmp_path, status=2)
    assert "dyno-engine, the load generator, was not found" in said
    [cure] = re.findall(r"run `(.*?)`", " ".join(said.split()))
    words = shlex.split(cure)
    words[0] = str(TOOLS / "bin" / words[0]) if "/" not in words[0] else words[0]
    run([*words], clean, tmp_path)
    run([program, *PLAN, "--dir", tmp_path / "run"], clean, tmp_path)
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_the_static_engine_needs_nothing_but_a_kernel(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    (root / "dyno-engine").write_bytes(STATIC.read_bytes())
    (root / "dyno-engine").chmod(0o755)
    said = run(["/usr/sbin/chroot", root, "/dyno-engine", "--version"], {}, tmp_path)
    assert said.split() == ["dyno-engine", dbdyno.__version__]


def test_the_static_engine_measures(tmp_path: Path) -> None:
    environment = {**os.environ, "DYNO_ENGINE": str(STATIC)}
    dyno = Path(sys.executable).with_name("dyno")
    run([dyno, *PLAN, "--dir", tmp_path / "run"], environment, tmp_path)
    assert (tmp_path / "run" / "report.html").exists()
