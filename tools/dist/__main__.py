"""`make dist`: builds what a release publishes into dist/, and publishes nothing.

    dbdyno-V-py3-none-any.whl                           the Python half
    dbdyno_engine-V-py3-none-manylinux2014_ARCH.whl     the engine, for glibc 2.17 and newer
    dbdyno_engine-V-py3-none-musllinux_1_2_ARCH.whl     the engine, for musl (Alpine)
    dyno-engine-V-ARCH-linux-static                     the same binary, for any Linux
    SHA256SUMS

Zig's C compiler and linker stand in for an old distribution's: docs/decisions/packages-by-zig.md.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import dbdyno

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
TOOLS = ROOT / "target" / "dist-tools"
ARCH = platform.machine()
# Rust target -> platform tag (PEP 600, PEP 656).
WHEELS = {
    f"{ARCH}-unknown-linux-gnu": "manylinux2014",
    f"{ARCH}-unknown-linux-musl": "musllinux_1_2",
}
# Directories of this machine -> what panics say instead.
NAMED = {
    os.environ.get("CARGO_HOME", Path.home() / ".cargo"): "cargo",
    ROOT: "dbdyno",
}


def main() -> None:
    """Empties dist/ and builds everything into it; ends with the status of the step that failed."""
    DIST.mkdir(exist_ok=True)
    for old in DIST.iterdir():
        old.unlink()
    tools = _tools()
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", DIST, ROOT)
    for target, tag in WHEELS.items():
        run("rustup", "target", "add", target)
        _engine_wheel(tools, target, tag)
    static = _static_binary()
    static.chmod(0o755)
    sums = "".join(f"{_sha256(file)}  {file.name}\n" for file in sorted(DIST.iterdir()))
    (DIST / "SHA256SUMS").write_text(sums)
    print(sums, end="")


def run(*command: str | Path, **variables: str) -> None:
    """Runs `command` in the checkout, with `variables` added to the environment."""
    print("+", *command, file=sys.stderr)
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **variables})
    if done.returncode != 0:
        raise SystemExit(f"make dist: {command[0]} ended with status {done.returncode}")


def _tools() -> Path:
    """maturin and zig in an environment of their own, of locked versions: its `bin`."""
    if not (TOOLS / "bin" / "python").exists():
        run(sys.executable, "-m", "venv", TOOLS)
    locked = Path(__file__).with_name("requirements.txt")
    run(TOOLS / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", locked)
    return TOOLS / "bin"


def _engine_wheel(tools: Path, target: str, tag: str) -> None:
    run(
        *(tools / "maturin", "build", "--manifest-path", "engine/cli/Cargo.toml", "--locked"),
        *("--zig", "--target", target, "--compatibility", tag, "--out", DIST),
        PATH=f"{tools}:{os.environ['PATH']}",
        # LuaJIT links a program of its own, for which zig does not add its unwinder by itself.
        TARGET_XLIBS="-lunwind",
        RUSTFLAGS=" ".join(f"--remap-path-prefix={path}={name}" for path, name in NAMED.items()),
    )


def _static_binary() -> Path:
    """The binary out of the wheel for musl, which links everything statically."""
    [wheel] = DIST.glob("*musllinux*.whl")
    to = DIST / f"dyno-engine-{dbdyno.__version__}-{ARCH}-linux-static"
    with zipfile.ZipFile(wheel) as files:
        [inside] = [name for name in files.namelist() if name.endswith("/scripts/dyno-engine")]
        to.write_bytes(files.read(inside))
    return to


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


if __name__ == "__main__":
    main()
