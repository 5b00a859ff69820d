import pytest

from passageway.errors import DeletionRefusedError
from passageway_sync.guard import check_deletions


@pytest.mark.parametrize(
    ("stored", "missing", "fraction"),
    [(0, 0, 0.3), (1, 1, 0.3), (3, 1, 0.3), (2, 1, 0.0), (10, 3, 0.3), (100, 30, 0.3), (10, 9, 1.0)],
)
def test_a_deletion_within_the_share_passes(stored: int, missing: int, fraction: float) -> None:
    check_deletions(stored, missing, fraction)


@pytest.mark.parametrize(
    ("stored", "missing", "fraction"), [(2, 2, 0.3), (10, 4, 0.3), (100, 31, 0.3), (3, 2, 0.0), (5, 5, 1.0)]
)
def test_a_larger_deletion_is_refused(stored: int, missing: int, fraction: float) -> None:
    with pytest.raises(DeletionRefusedError, match="nothing was deleted"):
        check_deletions(stored, missing, fraction)
