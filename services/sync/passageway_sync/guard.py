"""The deletion guard: a listing that would remove much of a source is more likely incomplete than true."""

from passageway.errors import DeletionRefusedError


def check_deletions(stored: int, missing: int, max_fraction: float) -> None:
    """Nothing when `missing` of `stored` items may go.

    One item may always go; otherwise no more than `max_fraction` of the source, and never all of a source of two or
    more. Raises DeletionRefusedError.
    """
    if missing <= 1 and stored <= 1:
        return
    if missing == stored:
        raise DeletionRefusedError(
            f"the source lists none of its {stored} indexed items any more, so nothing was deleted. If it really is "
            "empty now, stop passageway, delete the source's index file and start again"
        )
    if missing > 1 and missing > stored * max_fraction + 1e-9:
        raise DeletionRefusedError(
            f"the source no longer lists {missing} of {stored} indexed items, more than max_delete_fraction = "
            f"{max_fraction:g} allows, so nothing was deleted. If they really are gone, raise max_delete_fraction for "
            "this source, or delete its index file to build it anew"
        )
