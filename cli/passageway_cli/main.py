"""The `passageway` command: reads the line and the environment, runs one command, turns errors into exit codes."""

import argparse
import gc
import importlib
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from passageway.errors import PassagewayError, SettingsError
from passageway.settings import Settings, instances, load_settings
from passageway_cli.parser import build_parser, take_instance
from passageway_cli.signals import end_at_once, was_ended_at_once

Command = Callable[[Settings, argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code: 0 done, 1 it failed, 2 the line or a setting is wrong, 130 interrupted."""
    try:
        instance, words = take_instance(sys.argv[1:] if argv is None else argv)
        arguments = build_parser().parse_args(words)
        settings = load_settings(os.environ, instance)
        if arguments.version:
            print(f"passageway {settings.version}")
            return 0
        named = arguments.command == "init" or getattr(arguments, "config", None) is not None
        check_instance(settings, os.environ, named=named)
        _log_to_stderr(settings.log_level)
        if arguments.command in _SERVING:
            end_at_once()
        if arguments.command in _ENDLESS:
            _make_haste()
        return _command(arguments.command)(settings, arguments)
    except PassagewayError as error:
        print(f"passageway: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output left (`| head`): nothing to report, and nothing more to print.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception:
        if was_ended_at_once():
            return 0
        raise


def check_instance(settings: Settings, environ: Mapping[str, str], *, named: bool) -> None:
    """Nothing when the instance may be used. Raises SettingsError for one that does not exist, or none where only
    named ones exist; one that is being created, or a configuration `named` outright, needs no instance folder."""
    if named or environ.get("PASSAGEWAY_CONFIG"):
        return
    known = instances(environ)
    if settings.instance is not None:
        if settings.instance not in known:
            there = f"there is {', '.join(known)}" if known else "there is none yet"
            raise SettingsError(
                f"no instance is named {settings.instance!r} ({there}); "
                f"`passageway --instance {settings.instance} init` creates it"
            )
    elif known and not settings.config_path.parent.exists():
        raise SettingsError(f"this machine has only named instances; pick one with --instance: {', '.join(known)}")


_COMMANDS = {
    None: "passageway_cli.serve:serve_all",
    "embed": "passageway_cli.serve:serve_embed",
    "sync": "passageway_cli.serve:serve_sync",
    "query": "passageway_cli.serve:serve_query",
    "init": "passageway_cli.init:init",
    "model": "passageway_cli.model:model",
    "recall": "passageway_cli.recall:recall",
    "status": "passageway_cli.status:status",
    "doctor": "passageway_cli.doctor.command:doctor",
    "stdio": "passageway_cli.stdio:stdio",
    "demo": "passageway_cli.demo:demo",
    "eval": "passageway_cli.eval.command:evaluate",
}

_ENDLESS = (None, "embed", "sync", "query")
_SERVING = (*_ENDLESS, "demo")


def _make_haste() -> None:
    """Spare a process that is going to serve 0.25 s of the 2.3 s of processor time until its first answer.

    The imports make objects that stay, and looking for garbage among them finds none; `lifecycle.run` looks again. A
    question's products take one thread (`passageway_query.semantic`), so numpy need not start more.
    """
    gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _command(name: str | None) -> Command:
    """The function behind a command's name, imported only when it is asked for: `status` needs no model runtime."""
    module, _, function = _COMMANDS[name].partition(":")
    command: Command = getattr(importlib.import_module(module), function)
    return command


def _log_to_stderr(level: str) -> None:
    """Our own lines from `level` on; of the libraries only warnings, since their chat quotes questions and answers."""
    handler = logging.StreamHandler()
    handler.addFilter(_is_ours_or_a_warning)
    logging.basicConfig(level=level, handlers=[handler], format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def _is_ours_or_a_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.name.startswith("passageway")
