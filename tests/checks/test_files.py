from __future__ import annotations

import numpy as np
import pytest

from thrifty import Predictor
from thrifty.bundle import archive
from thrifty.checks import LawError, law_damage, law_files
from thrifty.errors import BundleError
from thrifty.model import Forest


def saving(change):
    """A `save` that writes the predictor with something changed."""

    def save(self, path) -> None:
        true = self.predictor_
        parts = {
            "model": true.model,
            "schema": true.schema,
            "prices": true.prices,
            "classes": true.classes,
            "knob": true.knob,
        }
        Predictor(**parts | change(true)).save(path)

    return save


def without_a_bit(predictor):
    model = predictor.model
    values = model.values.copy()
    values[-1] = np.nextafter(values[-1], np.inf)
    parts = (model.roots, model.outputs, model.base, model.link, model.n_features, model.subsets)
    return {"model": Forest(model.nodes, values, *parts)}


def without_a_tree(predictor):
    return {"model": predictor.model.prefix(len(predictor.model.roots) - 1)}


def without_the_knob(predictor):
    return {"knob": None}


def with_other_classes(predictor):
    return {"classes": predictor.classes[::-1]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_a_bit, "model array 'values' after loading of row"),
        (without_a_tree, "model array 'nodes' after loading"),
        (without_the_knob, "knob after loading: None"),
        (with_other_classes, "predictions after loading of row 0"),
    ],
)
def test_a_file_that_loses_something_is_caught(bend, numbers, change, message) -> None:
    with pytest.raises(LawError, match=message):
        law_files(bend(save=saving(change)), numbers)


def test_a_file_that_changes_with_every_writing_is_caught(bend, numbers) -> None:
    def save(self, path) -> None:
        self.predictor_.save(path)
        path.write_bytes(archive.seal(path.read_bytes()[:-64] + b" " * 64))
        # The true bytes again, but another date in the first member.
        data = bytearray(path.read_bytes())
        data[12] ^= 1
        path.write_bytes(archive.seal(bytes(data)))

    with pytest.raises(LawError, match="a loaded model is saved to other bytes"):
        law_files(bend(save=save), numbers)


def test_a_loader_that_does_not_look_at_the_seal_is_caught(honest, numbers, monkeypatch) -> None:
    monkeypatch.setattr(archive, "_digest", lambda data: data[-64:])
    with pytest.raises(LawError, match="is loaded as if nothing were wrong"):
        law_damage(honest, numbers)


def test_a_loader_that_stumbles_over_damage_is_caught(honest, numbers, monkeypatch) -> None:
    def stumble(path):
        try:
            return load(path)
        except BundleError as error:
            raise KeyError("header") from error

    from thrifty.bundle import load

    monkeypatch.setattr("thrifty.checks.files.load", stumble)
    with pytest.raises(LawError, match="KeyError: 'header'"):
        law_damage(honest, numbers)
