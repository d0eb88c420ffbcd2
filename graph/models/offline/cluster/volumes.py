"""Why a claim isn't bound, and why there is none."""

from collections.abc import Iterator
from decimal import Decimal

from graph.models.offline.cluster.facts import Case, Finding, Seen, pairs
from graph.models.offline.cluster.scheduling import failed_scheduling, refusals

_MODES = {"RWO": "ReadWriteOnce", "RWX": "ReadWriteMany", "ROX": "ReadOnlyMany", "RWOP": "ReadWriteOncePod"}
_SCALES: dict[str, Decimal] = {
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50),
    "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12), "m": Decimal("0.001"),
    "": Decimal(1),
}  # fmt: skip


def quantity(text: str) -> Decimal | None:
    """Return a quantity of Kubernetes (`1500m`, `3Gi`) in its base unit, None where it's none."""
    digits = text.rstrip("KMGTPikm")
    scale = _SCALES.get(text[len(digits) :])
    try:
        return Decimal(digits) * scale if scale is not None and digits else None
    except ArithmeticError:
        return None


def waiting_for(case: Case, reason: str) -> list[Seen]:
    """Return the FailedScheduling events that give a reason (`claim_unbound`, `claim_missing`)."""
    return [event for event in failed_scheduling(case) if any(one.cause == reason for one in refusals(event))]


def read_volumes(case: Case) -> Iterator[Finding]:
    """Yield why the claims of pods that wait for one aren't bound."""
    for event in waiting_for(case, "claim_unbound"):
        app = event.get("app")
        for claim in case.of("claim", app=app):
            yield from _unbound(case, event, claim, app)


def _unbound(case: Case, event: Seen, claim: Seen, app: str) -> Iterator[Finding]:
    row = next((one for one in case.objects("persistentvolumeclaims") if one.get("name") == claim.get("name")), None)
    if row is not None and row.get("status") == "Bound":
        return
    volumes = case.objects("persistentvolumes")
    if not volumes and "GetResources" not in case.empty:
        return
    free = [volume for volume in volumes if volume.get("status") == "Available"]
    held = [volume for volume in volumes if volume not in free]
    judged = sorted(((_mismatches(claim, volume, case), volume) for volume in free), key=lambda one: len(one[0]))
    base = tuple(one for one in (event, claim, row) if one is not None)
    if judged and judged[0][0]:
        mismatches, volume = judged[0]
        for rank, cause in enumerate(mismatches):
            yield Finding(cause, app, (*base, volume), sure=rank == 0)
    elif not free or claim.get("volume"):
        named = [volume for volume in held if volume.get("name") == claim.get("volume")]
        fitting = named or [volume for volume in held if not _mismatches(claim, volume, case)]
        for volume in fitting[:1]:
            yield Finding("pv_binding_occupied", app, (*base, volume))


def _mismatches(claim: Seen, volume: Seen, case: Case) -> list[str]:
    """Return in what a volume doesn't fit a claim, as causes."""
    found = []
    manifest = next((one for one in case.of("persistent_volume", name=volume.get("name"))), None)
    labels = pairs(volume.get("labels") or (manifest.get("labels") if manifest else ""))
    if claim.get("storage_class") != volume.get("storageclass"):
        found.append("pvc_storage_class_mismatch")
    modes = {_MODES.get(mode, mode) for mode in volume.get("access_modes").split(",")}
    if not set(filter(None, claim.get("access_modes").split(","))) <= modes:
        found.append("pvc_access_mode_mismatch")
    wanted = pairs(claim.get("match_labels"))
    if wanted and not wanted.items() <= labels.items():
        found.append("pvc_selector_mismatch")
    asked, has = quantity(claim.get("storage")), quantity(volume.get("capacity"))
    if asked is not None and has is not None and asked > has:
        found.append("pvc_capacity_mismatch")
    return found
