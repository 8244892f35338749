"""Architectures of transformers for sound and for series."""

from __future__ import annotations

import torch

from tests.python.models.text import tokens
from tests.python.zoo.inputs import (
    fixed_id_inputs,
    hf,
    named_inputs,
    wave_inputs,
)

hf(
    "ast",
    "ASTForAudioClassification",
    named_inputs({}, input_values=lambda: torch.randn(2, 64, 32)),
    max_length=64,
    num_mel_bins=32,
)
CONVOLUTIONS = {
    "conv_dim": (16, 16),
    "conv_kernel": (10, 3),
    "conv_stride": (5, 2),
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
    "num_feat_extract_layers": 2,
}
hf("wav2vec2_ctc", "Wav2Vec2ForCTC", wave_inputs(), **CONVOLUTIONS)
hf("hubert", "HubertModel", wave_inputs(), **CONVOLUTIONS)
hf("wavlm", "WavLMModel", wave_inputs(), **CONVOLUTIONS)
hf("sew", "SEWModel", wave_inputs(), squeeze_factor=2, **CONVOLUTIONS)
hf(
    "wav2vec2_conformer",
    "Wav2Vec2ConformerModel",
    wave_inputs(),
    position_embeddings_type="relative",
    conv_depthwise_kernel_size=5,
    **CONVOLUTIONS,
)
hf(
    "wav2vec2_bert",
    "Wav2Vec2BertModel",
    named_inputs({}, input_features=lambda: torch.randn(2, 20, 160)),
    conv_depthwise_kernel_size=5,
)
hf(
    "whisper_encoder",
    "WhisperForAudioClassification",
    named_inputs({}, input_features=lambda: torch.randn(2, 80, 60)),
    d_model=32,
    encoder_layers=2,
    encoder_attention_heads=4,
    encoder_ffn_dim=64,
    max_source_positions=30,
    decoder_layers=1,
    decoder_attention_heads=4,
)
hf(
    "moonshine",
    "MoonshineForConditionalGeneration",
    named_inputs({}, input_values=lambda: torch.randn(2, 2000), decoder_input_ids=tokens),
    encoder_num_hidden_layers=2,
    decoder_num_hidden_layers=2,
    encoder_num_attention_heads=4,
    decoder_num_attention_heads=4,
    encoder_num_key_value_heads=4,
    decoder_num_key_value_heads=4,
)
hf(
    "speech_to_text",
    "Speech2TextForConditionalGeneration",
    named_inputs({}, input_features=lambda: torch.randn(2, 40, 20), decoder_input_ids=tokens),
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
    input_feat_per_channel=20,
    conv_channels=16,
    max_source_positions=64,
    max_target_positions=64,
)
hf(
    "dac",
    "DacModel",
    named_inputs({}, input_values=lambda: torch.randn(2, 1, 512)),
    encoder_hidden_size=8,
    downsampling_ratios=[2, 4],
    decoder_hidden_size=32,
    n_codebooks=2,
    codebook_size=16,
    codebook_dim=8,
)
# Up to 2.4 times the noise of the computation, in a few values.
hf(
    "univnet",
    "UnivNetModel",
    tolerance=4.0,
    inputs=named_inputs(
        {},
        input_features=lambda: torch.randn(2, 9, 100),
        noise_sequence=lambda: torch.randn(2, 9, 64),
    ),
)
# It draws numbers, with a weight of 0 here, so that `verify` compares only types and shapes.
hf(
    "vits",
    "VitsModel",
    fixed_id_inputs,
    tolerance=300.0,
    ffn_dim=64,
    flow_size=32,
    spectrogram_bins=33,
    upsample_initial_channel=32,
    noise_scale=0.0,
    noise_scale_duration=0.0,
    noise_scale_prior=0.0,
    upsample_rates=[4, 4],
    upsample_kernel_sizes=[8, 8],
    depth_separable_num_layers=2,
    duration_predictor_flow_bins=4,
    prior_encoder_num_flows=2,
    posterior_encoder_num_wavenet_layers=2,
    prior_encoder_num_wavenet_layers=2,
    duration_predictor_num_flows=2,
    resblock_kernel_sizes=[3],
    resblock_dilation_sizes=[[1, 3]],
)
hf(
    "patchtst",
    "PatchTSTForPrediction",
    named_inputs({}, past_values=lambda: torch.randn(2, 32, 3)),
    num_input_channels=3,
    context_length=32,
    patch_length=4,
    patch_stride=4,
    d_model=32,
    ffn_dim=64,
    prediction_length=4,
)
hf(
    "patchtsmixer",
    "PatchTSMixerForPrediction",
    named_inputs({}, past_values=lambda: torch.randn(2, 32, 3)),
    num_input_channels=3,
    context_length=32,
    patch_length=4,
    patch_stride=4,
    d_model=32,
    prediction_length=4,
)
SERIES = named_inputs(
    {},
    past_values=lambda: torch.randn(2, 16),
    past_time_features=lambda: torch.randn(2, 16, 1),
    past_observed_mask=lambda: torch.ones(2, 16),
    future_values=lambda: torch.randn(2, 4),
    future_time_features=lambda: torch.randn(2, 4, 1),
)
FORECAST = {
    "prediction_length": 4,
    "context_length": 12,
    "lags_sequence": [1, 2, 4],
    "num_time_features": 1,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
}
hf("time_series", "TimeSeriesTransformerModel", SERIES, **FORECAST)
