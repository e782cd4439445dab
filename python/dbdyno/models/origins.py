"""Inputs from existing sources: an option file, a YAML file, the variables of a server.

Each input names its variables and paths; `:s` after one is the unit of its plain numbers, and
`wsrep_provider_options/pc.weight` is a key inside a variable. In option files of MySQL and MariaDB
K, M, G, T are powers of 1024, whatever they are elsewhere (manuals of both: "Program Option
Modifiers"), and so 3G there is 3Gi here. In Kubernetes' manifests 3G is 3 x 10^9. A file that ends
in .conf is YAML (mongod.conf) or lines of a name and a value (redis.conf).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dbdyno.errors import DynoError
from dbdyno.models.cluster.files.options import length_s
from dbdyno.models.model import Input, Model

BYTES_MAX = 16 << 20
OPTION_FILES, YAML_FILES = (".cnf", ".ini"), (".yaml", ".yml", ".conf")
GROUPS = ("mysqld", "mariadb", "mariadbd", "server", "galera", "mysqld_safe")
Read = dict[str, tuple[str, str]]  # name of an input -> text, where from


def read_file(model: Model, path: Path) -> Read:
    """What a file says of a model's inputs. DynoError if it cannot be read, is of another kind, or
    says nothing about them."""
    suffix = path.suffix.lower()
    if suffix not in (*OPTION_FILES, *YAML_FILES):
        raise DynoError(
            f"--from {path}: neither an option file nor YAML, by its name",
            fix="name a file that ends in .cnf, .ini, .yaml, .yml or .conf, or a server's URL",
        )
    text = _text(path)
    variables = _settings(text, path)
    if variables is not None:
        found = from_variables(model, variables.get, str(path))
        known = _variables(model)
    else:
        found = from_paths(model, _documents(text, path), str(path))
        known = [place for one in model.inputs for place in one.paths]
    if not found:
        raise DynoError(
            f"--from {path}: it has none of the inputs of {model.name}",
            cause="the file is of another kind, or uses defaults only",
            fix=f"{model.name} reads {', '.join(known)}" if known
            else f"{model.name} takes no input from such files: give NAME=VALUE",
        )  # fmt: skip
    return found


def from_variables(model: Model, value: Callable[[str], str | None], place: str) -> Read:
    """From the variables of a server or a file of settings; `value` says one, or None."""
    found: Read = {}
    for one in model.inputs:
        for spelt in one.variables:
            name, _, unit = spelt.partition(":")
            variable, _, key = name.partition("/")
            text = value(variable)
            if text is not None and key:
                text = provider_option(text, key)
            if text is None:
                continue
            found[one.name] = (_ours(one, _with_unit(text, unit)), f"{place}, {name}")
            break
    return found


def from_paths(model: Model, documents: Iterable[Any], place: str) -> Read:
    """From the documents of a YAML file. DynoError if they are manifests of something else."""
    found: Read = {}
    others = []
    for document in documents:
        if other := _other_manifest(model, document):
            others.append(other)
            continue
        for one in model.inputs:
            for spelt in one.paths:
                path, _, unit = spelt.partition(":")
                value = _at(document, path.split("."))
                if value is not None and one.name not in found:
                    text = _ours(one, _with_unit(str(value), unit))
                    found[one.name] = (text, f"{place}, {path}")
    if others and not found:
        raise DynoError(
            f"--from {place}: {model.name} does not read {', '.join(others)}",
            cause="the manifest is of another operator, or of a version that came later",
            fix=f"name one with `apiVersion: {model.manifest}`",
        )
    return found


def _other_manifest(model: Model, document: Any) -> str:
    """What a manifest is, if it is one and not the model's."""
    if not (model.manifest and isinstance(document, Mapping) and "apiVersion" in document):
        return ""
    version = str(document["apiVersion"])
    if version == model.manifest or version.startswith(f"{model.manifest}-"):
        return ""
    return f"`{version}` ({document.get('kind', 'of no kind')})"


def _settings(text: str, path: Path) -> Mapping[str, str] | None:
    """The settings of a file that is no YAML, with their sizes in our spelling."""
    if path.suffix.lower() in OPTION_FILES:
        return {name: _binary(value) for name, value in options(text).items()}
    if path.suffix.lower() == ".conf" and not _is_mapping(text):
        return {name: _redis_size(value) for name, value in directives(text).items()}
    return None


def _binary(value: str) -> str:
    """K, M, G, T of MySQL's option files as what they mean: 3G is 3Gi."""
    if not re.fullmatch(r"[0-9]+[kKmMgGtT]", value):
        return value
    return f"{value[:-1]}{value[-1].upper()}i"


def _redis_size(value: str) -> str:
    """64mb of redis.conf is 64Mi, and 64m is 64M (redis.conf, "Note on units")."""
    found = re.fullmatch(r"([0-9]+)([kmg])(b?)", value.lower())
    if found is None:
        return value
    return f"{found.group(1)}{found.group(2).upper()}{'i' if found.group(3) else ''}"


def directives(text: str) -> Mapping[str, str]:
    """`name value` of each line, as in redis.conf, by names with `_`; the last one counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if name and not name.startswith("#"):
            found[name.lower().replace("-", "_")] = value.strip().strip("\"'")
    return found


def _is_mapping(text: str) -> bool:
    try:
        return any(isinstance(one, Mapping) for one in YAML(typ="safe", pure=True).load_all(text))
    except (YAMLError, ValueError):
        return any(re.match(r"[\w.]+:(\s|$)", line) for line in text.splitlines())


def options(text: str) -> Mapping[str, str]:
    """Variables of the server's groups in an option file, by their names with `_`; the last one
    counts. Includes are not followed."""
    found: dict[str, str] = {}
    group = ""
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;!":
            continue
        if head := re.fullmatch(r"\[([^\]]+)\].*", line):
            group = head.group(1).strip().lower()
            continue
        if re.split(r"[-.0-9]", group)[0] not in GROUPS:
            continue
        name, _, value = line.partition("=")
        value = re.sub(r"\s+#.*$", "", value).strip().strip("'\"")
        found[re.sub(r"^loose[-_]", "", name.strip().lower()).replace("-", "_")] = value
    return found


def provider_option(text: str, key: str) -> str | None:
    """One key of `wsrep_provider_options`: `a = 1; b = 2`."""
    for part in text.split(";"):
        name, _, value = part.partition("=")
        if name.strip() == key:
            return value.strip()
    return None


def _with_unit(text: str, unit: str) -> str:
    return f"{text}{unit}" if unit and re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else text


def _ours(one: Input, text: str) -> str:
    """Another source's value as an input takes it: ON, 1, true as the word that it has for it
    (other numbers are no), periods of Galera's as durations."""
    for pattern, word in one.meanings:
        if re.fullmatch(pattern, text):
            return word
    if one.kind_name == "duration" and text.startswith("P"):
        try:
            return f"{round(length_s(text) * 1000)}ms"
        except ValueError:
            return text
    if set(one.words) != {"yes", "no"}:
        return text
    if text.isdecimal():  # flush at commit=2 is not at each commit
        return "yes" if text == "1" else "no"
    return {"on": "yes", "true": "yes", "off": "no", "false": "no"}.get(text.lower(), text)


def _variables(model: Model) -> list[str]:
    return [spelt.partition(":")[0] for one in model.inputs for spelt in one.variables]


def _at(document: Any, path: list[str]) -> Any:
    for key in path:
        if isinstance(document, Mapping):
            document = document.get(key)
        elif isinstance(document, list) and key.isdecimal() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document if isinstance(document, str | int | float) else None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > BYTES_MAX:
            raise DynoError(f"--from {path}: larger than 16 MiB", fix="name a configuration file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DynoError(
            f"--from {path}: {error.strerror or error}",
            cause="it does not exist, or is not readable",
            fix="check the path",
        ) from None
    except UnicodeDecodeError:
        raise DynoError(
            f"--from {path}: no text in UTF-8", fix="name a configuration file"
        ) from None


def _documents(text: str, path: Path) -> list[Any]:
    try:
        return list(YAML(typ="safe", pure=True).load_all(text))
    except (YAMLError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise DynoError(f"--from {path}: no YAML: {first}", fix="check the file") from None
