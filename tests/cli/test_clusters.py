"""`--scheduler`: learners on a cluster, with the same model; a scheduler that is not there."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from distributed import LocalCluster
from joblib.parallel import get_active_backend

from thrifty.cli import clusters as module
from thrifty.cli import main
from thrifty.cli.clusters import on_cluster
from thrifty.errors import DataError


def test_learners_of_a_fit_run_on_the_cluster(tmp_path, monkeypatch) -> None:
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    rows.assign(y=rows["a"] > 0).to_csv(tmp_path / "t.csv", index=False)

    def fit_budget(*arguments: object, **settings: object) -> None:
        raise DataError(f"it would run by {type(get_active_backend()[0]).__name__}")

    monkeypatch.setattr("thrifty.frontier.fit_budget", fit_budget)
    command = ["fit", f"{tmp_path}/t.csv", "--target", "y", "--budget", "2"]
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
        dashboard_address=":0", silence_logs=logging.CRITICAL,
    ) as cluster:  # fmt: skip
        options = ["-o", f"{tmp_path}/m.thrifty", "--scheduler", cluster.scheduler_address]
        done = CliRunner().invoke(main, [*command, *options])
    assert "it would run by DaskDistributedBackend" in done.output


def test_a_scheduler_that_is_not_there_is_named(monkeypatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    with (
        pytest.raises(DataError, match="--scheduler: tcp://127.0.0.1:9 cannot be reached"),
        on_cluster("tcp://127.0.0.1:9"),
    ):
        pass


def test_without_dask_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(DataError, match=r"pip install 'thrifty\[dask\]'"), on_cluster("tcp://x:1"):
        pass


def test_without_an_address_nothing_changes() -> None:
    before = get_active_backend()
    with on_cluster(None):
        assert get_active_backend()[1] == before[1]
