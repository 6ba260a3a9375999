"""The header of a model: the JSON object of its file, key by key."""

import json
from dataclasses import FrozenInstanceError, replace

import pytest

from mr_elm.model.header import KEYS, ModelHeader

HEADER = ModelHeader('pesvm', 'classification', ['a', 'b'], 3, {'nu': 1.0, 'seed': 0}, 10, 1, [{'action': 'train'}])


def test_a_header_has_the_keys_of_a_model_file():
    assert tuple(HEADER.to_json()) == (*KEYS, 'requires')


def test_keys_keep_their_order_and_unknown_ones_their_values():
    text = json.dumps({'format': 'mr_elm', 'history': [], 'later': [1], **HEADER.to_json()})
    assert json.dumps(ModelHeader.from_json(json.loads(text)).to_json()) == text


@pytest.mark.parametrize('key', [key for key in KEYS if key != 'positive'])
def test_a_missing_key_is_named(key):
    parts = HEADER.to_json()
    del parts[key]
    with pytest.raises(KeyError, match=key):
        ModelHeader.from_json(parts)


def test_a_change_makes_another_header():
    changed = replace(HEADER, n_rows_used=11).change_parameters(nu=2.0)
    assert (changed.n_rows_used, changed.parameters) == (11, {'nu': 2.0, 'seed': 0})
    assert (HEADER.n_rows_used, HEADER.parameters) == (10, {'nu': 1.0, 'seed': 0})
    with pytest.raises(FrozenInstanceError):
        HEADER.n_rows_used = 11
