"""Models: what can be computed instead of measured. One file a model in `catalog/`, found by its
name; the file's docstring holds the formula that is computed.

A model is a pure function with units, source and golden numbers. Read `document.py` first.
"""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module

from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.models import catalog, document
from dbdyno.models.model import Model

__all__ = ["Model", "load", "names"]


def names() -> list[str]:
    """Every model, by the alphabet."""
    return sorted(_files())


@lru_cache(maxsize=1)
def _files() -> dict[str, str]:
    """The module of each model, by its name; folders of `catalog/` only group them."""
    found = pkgutil.walk_packages(catalog.__path__, f"{catalog.__name__}.")
    return {
        module.name.rpartition(".")[2].replace("_", "-"): module.name
        for module in found
        if not module.ispkg
    }


@lru_cache(maxsize=64)
def load(name: str) -> Model:
    """The model of that name. DynoError if there is none."""
    if name not in names():
        raise DynoError(
            f"no model is called `{name}`",
            fix=did_you_mean(name, names()) + "; `dyno model` lists all with their questions",
        )
    file = import_module(_files()[name])
    return Model(
        name=name,
        document=document.read(file.__doc__),
        inputs=tuple(file.INPUTS),
        outputs=tuple(file.OUTPUTS),
        says=tuple(file.SAYS),
        golden=tuple(file.GOLDEN),
        notes=tuple(getattr(file, "NOTES", ())),
        refusals=tuple(getattr(file, "REFUSALS", ())),
        functions=dict(getattr(file, "FUNCTIONS", {})),
        measured=tuple(getattr(file, "MEASURED", ())),
        measured_on=getattr(file, "MEASURED_ON", ""),
        manifest=getattr(file, "MANIFEST", ""),
    )
