"""Volumes that lose data, and storage classes that delete or misplace it.

Sources: the Kubernetes documentation, "Volumes", "Persistent Volumes" (reclaiming) and "Storage
Classes" (volume binding mode); the documentation of the Percona operators and of OpenEBS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from dbdyno.facts.fact import Facts
from dbdyno.facts.secret import HIDDEN
from dbdyno.rules.check.platform.manifest import Object, objects, rule
from dbdyno.rules.check.rule import Found, edits

_K8S = "https://kubernetes.io/docs/concepts/storage"
_LOCAL = re.compile(r"no-provisioner|local|hostpath", re.IGNORECASE)
_WORKLOADS = ("StatefulSet", "Deployment", "ReplicaSet", "Pod")
_DATA = re.compile(
    r"/(var/lib/(mysql|postgresql|mongodb|redis)|data(/db)?|bitnami/\w+(/data)?|pgdata)(/|$)"
)


def _volumes(one: Object, kind: str) -> Iterator[tuple[str, str]]:
    """(path, name) of each volume of a kind (`emptyDir`, `hostPath`) that holds a database's data:
    an operator's `volumeSpec`, or a volume that is mounted where servers keep their files."""
    for path in one.paths(rf"(.+\.volumeSpec)\.{kind}\b"):
        yield path, path.removesuffix(f".volumeSpec.{kind}")
    if one.kind not in _WORKLOADS:
        return
    for path in one.paths(rf"(.+\.volumes\[\d+\])\.{kind}\b"):
        name = one.value(f"{path.rpartition('.')[0]}.name")
        mounts = (
            one.value(f"{where}.mountPath")
            for where in one.paths(r".+\.volumeMounts\[\d+\]")
            if one.value(f"{where}.name") == name
        )
        if any(_DATA.search(mount) for mount in mounts):
            yield path, name


def _empty(facts: Facts) -> Iterator[Found]:
    for one in objects(facts):
        for path, name in _volumes(one, "emptyDir"):
            yield Found(
                what=f"{one.title}: the data of {name} is in an emptyDir",
                evidence=(one.fact(path),),
                effect="all data of a member are erased with its pod: an upgrade of the node or an"
                " eviction is enough",
                fix=edits(f"Claim a persistent volume instead of {path}."),
                undo=edits("Write emptyDir back; data in the volume stay there."),
                about=f"{one.title}:{path}",
            )


def _host_path(facts: Facts) -> Iterator[Found]:
    for one in objects(facts):
        for path, name in _volumes(one, "hostPath"):
            yield Found(
                what=f"{one.title}: the data of {name} is in a directory of the node",
                evidence=(one.fact(path),),
                effect="a pod that is scheduled to another node starts empty, and two pods of one"
                " node share the files; any pod with the path reads them",
                fix=edits(
                    "Use a local persistent volume: a claim with a StorageClass whose"
                    " volumeBindingMode is WaitForFirstConsumer."
                ),
                undo=edits("Write hostPath back; the directory is not removed."),
                about=f"{one.title}:{path}",
            )


def _reclaim(facts: Facts) -> Iterator[Found]:
    for one in objects(facts):
        if one.kind == "StorageClass":
            key, policy = "reclaimPolicy", one.value("reclaimPolicy") or "Delete"
        elif one.kind == "PersistentVolume" and one.value("spec.persistentVolumeReclaimPolicy"):
            key = "spec.persistentVolumeReclaimPolicy"
            policy = one.value(key)
        else:
            continue
        if policy != "Delete":
            continue
        said = f"has {key}" if one.value(key) else "has no reclaimPolicy, which means"
        yield Found(
            what=f"{one.title} {said} Delete",
            evidence=(one.fact(key) if one.value(key) else one.fact("kind"),),
            effect="deleting a claim (or a namespace) deletes the volume with its data, at once",
            fix=edits(
                f"Make another class, since none can be changed: {safe_class(one)}"
                if one.kind == "StorageClass"
                else f"{key}: Retain",
                "Volumes that exist: kubectl patch pv NAME"
                ' -p \'{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}\'',
            ),
            undo=edits(f"{key}: Delete"),
            about=one.title,
        )


def _binding(facts: Facts) -> Iterator[Found]:
    for one in objects(facts):
        provisioner = one.value("provisioner")
        if one.kind != "StorageClass" or not _LOCAL.search(provisioner):
            continue
        mode = one.value("volumeBindingMode") or "Immediate"
        if mode == "WaitForFirstConsumer":
            continue
        yield Found(
            what=f"{one.title} binds local volumes at once ({mode})",
            evidence=(one.fact("provisioner"),),
            effect="the volume's node is chosen before the pod's: pods that cannot run there stay"
            " Pending, with anti-affinity all but one of them",
            fix=edits(f"Make another class, since none can be changed: {safe_class(one)}"),
            undo=edits("Delete the new class; volumes that were made with it stay."),
            about=one.title,
        )


def safe_class(one: Object) -> str:
    """A class like this one that keeps volumes and waits for their pod: JSON, which is YAML too."""
    prefix = "parameters."
    parameters = {
        path.removeprefix(prefix): one.value(path)
        for path in one.fields
        if path.startswith(prefix) and one.value(path) != HIDDEN
    }
    made = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": f"{one.name}-retain"},
        "provisioner": one.value("provisioner"),
        **({"parameters": parameters} if parameters else {}),
        "reclaimPolicy": "Retain",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return json.dumps(made)


def _affinity(facts: Facts) -> Iterator[Found]:
    for one in objects(facts):
        if one.kind != "PersistentVolume" or not one.paths(r"(spec\.local)\b"):
            continue
        if one.paths(r"(spec\.nodeAffinity\.required)\b"):
            continue
        yield Found(
            what=f"{one.title} is local and names no node",
            evidence=(one.fact("spec.local"),),
            effect="the API server refuses it: a local volume needs spec.nodeAffinity.required",
            fix=edits("Add spec.nodeAffinity.required with the node's kubernetes.io/hostname."),
            undo=edits("Remove spec.nodeAffinity."),
            about=one.title,
        )


RULES = (
    rule(
        "k8s-data-in-emptydir",
        "A database's data in an emptyDir",
        "An emptyDir as `volumeSpec` of an operator, or mounted where a server keeps its data."
        " Other emptyDirs (sockets, scratch) are left alone.",
        "high",
        _empty,
        f"{_K8S}/volumes/#emptydir",
    ),
    rule(
        "k8s-data-in-hostpath",
        "A database's data in a directory of the node",
        "A hostPath as `volumeSpec` of an operator, or mounted where a server keeps its data."
        " Agents of nodes (DaemonSets) are left alone.",
        "high",
        _host_path,
        f"{_K8S}/volumes/#hostpath",
    ),
    rule(
        "k8s-reclaim-delete",
        "Volumes that are deleted with their claim",
        "reclaimPolicy Delete, which a StorageClass without the key means too.",
        "medium",
        _reclaim,
        f"{_K8S}/persistent-volumes/#reclaiming",
    ),
    rule(
        "k8s-local-binding-immediate",
        "Local volumes bound before their pod",
        "A StorageClass of local volumes without WaitForFirstConsumer.",
        "high",
        _binding,
        f"{_K8S}/storage-classes/#volume-binding-mode",
    ),
    rule(
        "k8s-local-volume-without-node",
        "A local volume without its node",
        "A PersistentVolume with `local` and no required node affinity.",
        "high",
        _affinity,
        f"{_K8S}/volumes/#local",
    ),
)
