"""Encoders of texts and sounds: whole sentences, no cache."""

from __future__ import annotations

from collections.abc import Callable

import torch
import transformers
from torch import nn
from torch.export import Dim

from tests.python.models.registry import Recipe

VOCABULARY = 1000
LAYERS = 4
LENGTH = Dim("length", min=2, max=512)


def sentences(inner: nn.Module, length: int = 128, batch: int = 1) -> Recipe:
    """Return a recipe with tokens and a mask of ones, without a cache."""
    kwargs = {
        "input_ids": torch.randint(3, VOCABULARY, (batch, length)),
        "attention_mask": torch.ones(batch, length, dtype=torch.int64),
    }
    return Recipe(inner, kwargs=kwargs, shapes={key: {1: LENGTH} for key in kwargs})


def bert() -> Recipe:
    """Return BERT's encoder."""
    config = transformers.BertConfig(vocab_size=VOCABULARY, num_hidden_layers=LAYERS)
    return sentences(transformers.BertModel(config, add_pooling_layer=False))


def distilbert() -> Recipe:
    """Return DistilBERT, which classifies."""
    config = transformers.DistilBertConfig(vocab_size=VOCABULARY, n_layers=LAYERS)
    return sentences(transformers.DistilBertForSequenceClassification(config))


def electra() -> Recipe:
    """Return ELECTRA at the width of its small form."""
    config = transformers.ElectraConfig(vocab_size=VOCABULARY, num_hidden_layers=LAYERS)
    return sentences(transformers.ElectraModel(config), 256)


def roberta() -> Recipe:
    """Return RoBERTa, which counts its positions from the mask."""
    config = transformers.RobertaConfig(
        vocab_size=VOCABULARY, num_hidden_layers=LAYERS, max_position_embeddings=514
    )
    return sentences(transformers.RobertaModel(config, add_pooling_layer=False))


def deberta_v2() -> Recipe:
    """Return DeBERTa, whose attention depends on distances."""
    config = transformers.DebertaV2Config(
        vocab_size=VOCABULARY,
        hidden_size=768,
        num_hidden_layers=2,
        num_attention_heads=12,
        intermediate_size=3072,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
    )
    return sentences(transformers.DebertaV2Model(config))


ENCODERS: dict[str, Callable[[], Recipe]] = {
    "bert": bert,
    "distilbert": distilbert,
    "electra": electra,
    "roberta": roberta,
    "deberta_v2": deberta_v2,
}
