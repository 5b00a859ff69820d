"""Another model while the program runs, and a sync that is killed in the middle of the change."""

import contextlib
from collections.abc import Callable
from typing import Any

from passageway.embed_command import CommandEmbedder

Eventually = Callable[..., Any]


def test_a_sync_killed_in_the_middle_of_a_change_of_models_goes_on_where_it_was(
    make_machine: Callable[..., Any], stems: Callable[..., Any], eventually: Eventually
) -> None:
    machine = make_machine(pages=150)
    machine.configure(*stems("first", 0))
    machine.change_pages()
    for role in ("embed", "sync", "query"):
        machine.start(role)
    eventually(lambda: machine.is_well() and machine.is_built(), "both sources")
    total = sum(machine.stored().values())

    machine.kill("embed")
    machine.configure(*stems("second", 0.05))
    machine.start("embed")
    eventually(lambda: 50 < machine.of_model("second") < total - 50, "the middle of the change")
    machine.kill("sync")
    done = machine.of_model("second")
    assert 0 < done < total
    with machine.asking() as asking:
        assert set(asking.ask_all()) <= {"found", "words only"}
        machine.start("sync")
        counts = [machine.of_model("second")]

        def is_over() -> bool:
            counts.append(machine.of_model("second"))
            return counts[-1] == total and machine.is_well()

        eventually(is_over, "the end of the change")
        assert asking.ask_all() == {"found": machine.facts}

    assert counts == sorted(counts) and counts[0] >= done
    assert asking.silences == []
    with contextlib.ExitStack() as stack:
        command, env = stems("second", 0)
        second = stack.enter_context(contextlib.closing(CommandEmbedder("second", command, env=env)))
        assert machine.wrong_vectors({"second": second}) == []
    assert machine.stop() == {"embed": 0, "sync": 0, "query": 0}
