"""Who plays, as the command line says it."""

import pytest

from mandala_env.arena.workers import carry_out, read_workers
from mandala_env.cli import main


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("local", ("local", None)),
        ("ray", ("ray", None)),
        ("2", ("local", 2)),
        ("local:3", ("local", 3)),
        ("ray:8", ("ray", 8)),
    ],
)
def test_workers_are_of_a_kind_and_may_be_so_many(text: str, meant: tuple) -> None:
    assert read_workers(text) == meant


@pytest.mark.parametrize("text", ["", "0", "ray:0", "ray:", "local8", "dask:2", "2:ray", "-1", "ray:1.5", "ray:999999"])
def test_other_workers_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "random", "--games", "4", f"--workers={text}"])
    assert f"workers must be local, local:N, ray or ray:N, not {text!r}" in capsys.readouterr().err


def test_without_an_executor_work_is_done_when_it_is_asked_for() -> None:
    done = []
    results = carry_out(None, done.append, [(1,), (2,)])
    assert done == []
    next(results)
    assert done == [1]
