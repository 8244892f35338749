"""Architectures of transformers for language."""

from __future__ import annotations

from tests.python.zoo.inputs import (
    DECODER,
    fixed_id_inputs,
    fixed_pair_inputs,
    fixed_text_inputs,
    hf,
    id_inputs,
    pair_inputs,
)

hf("albert", "AlbertForMaskedLM", embedding_size=16)
hf("bert", "BertForTokenClassification")
hf("roberta", "RobertaForSequenceClassification", max_position_embeddings=80)
hf("electra", "ElectraForPreTraining", embedding_size=16)
hf("mpnet", "MPNetForMaskedLM", max_position_embeddings=80)
hf("modernbert", "ModernBertForMaskedLM", local_attention=4, reference_compile=False)
hf("squeezebert", "SqueezeBertForMaskedLM", embedding_size=32)
hf(
    "funnel",
    "FunnelForMaskedLM",
    fixed_text_inputs,
    without=("num_hidden_layers",),
    block_sizes=[1, 1],
    d_model=32,
    n_head=4,
    d_head=8,
    d_inner=64,
)
hf("convbert", "ConvBertForMaskedLM", embedding_size=32, conv_kernel_size=3)
hf("mobilebert", "MobileBertForMaskedLM", embedding_size=16, intra_bottleneck_size=16)
hf("fnet", "FNetForMaskedLM", id_inputs)
hf(
    "xlnet",
    "XLNetLMHeadModel",
    fixed_text_inputs,
    without=("max_position_embeddings",),
    d_model=32,
    n_layer=2,
    n_head=4,
    d_inner=64,
)
hf("big_bird", "BigBirdForMaskedLM", attention_type="original_full")
hf(
    "bart",
    "BartForConditionalGeneration",
    pair_inputs,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
)
hf(
    "pegasus",
    "PegasusForConditionalGeneration",
    pair_inputs,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
)
hf(
    "m2m_100",
    "M2M100ForConditionalGeneration",
    pair_inputs,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
)
hf(
    "mt5",
    "MT5ForConditionalGeneration",
    pair_inputs,
    d_model=32,
    d_kv=8,
    d_ff=64,
    num_layers=2,
    num_heads=4,
    decoder_start_token_id=0,
)
hf(
    "longt5",
    "LongT5ForConditionalGeneration",
    fixed_pair_inputs,
    d_model=32,
    d_kv=8,
    d_ff=64,
    num_layers=2,
    num_heads=4,
    local_radius=3,
    decoder_start_token_id=0,
)
hf(
    "prophetnet",
    "ProphetNetForConditionalGeneration",
    fixed_pair_inputs,
    without=("num_hidden_layers",),
    hidden_size=32,
    num_encoder_layers=2,
    num_decoder_layers=2,
    num_encoder_attention_heads=4,
    num_decoder_attention_heads=4,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
)
hf(
    "gpt_neo",
    "GPTNeoForCausalLM",
    num_layers=2,
    num_heads=4,
    attention_types=[[["global", "local"], 1]],
    window_size=4,
)
hf("gpt_neox", "GPTNeoXForCausalLM")
hf("gptj", "GPTJForCausalLM", n_embd=32, n_layer=2, n_head=4, n_positions=80, rotary_dim=4)
hf("codegen", "CodeGenForCausalLM", n_embd=32, n_layer=2, n_head=4, n_positions=80, rotary_dim=4)
hf("opt", "OPTForCausalLM", ffn_dim=64, word_embed_proj_dim=32)
hf("bloom", "BloomForCausalLM", n_layer=2, n_head=4)
hf("mpt", "MptForCausalLM", d_model=32, n_heads=4, n_layers=2, max_seq_len=80)
hf("falcon", "FalconForCausalLM", alibi=False, new_decoder_architecture=True, num_kv_heads=2)
hf("falcon_alibi", "FalconForCausalLM", alibi=True, multi_query=True)
hf("xglm", "XGLMForCausalLM", d_model=32, num_layers=2, attention_heads=4, ffn_dim=64)
hf("biogpt", "BioGptForCausalLM")
hf("mistral", "MistralForCausalLM", sliding_window=4, **DECODER)
hf("qwen2", "Qwen2ForCausalLM", **DECODER)
hf("qwen3", "Qwen3ForCausalLM", head_dim=8, **DECODER)
hf("phi", "PhiForCausalLM", partial_rotary_factor=0.5)
hf("phi3", "Phi3ForCausalLM", **DECODER)
hf("stablelm", "StableLmForCausalLM", **DECODER)
hf("starcoder2", "Starcoder2ForCausalLM", **DECODER)
hf("cohere", "CohereForCausalLM", use_qk_norm=True, **DECODER)
hf("cohere2", "Cohere2ForCausalLM", sliding_window=4, **DECODER)
hf("gemma", "GemmaForCausalLM", head_dim=8, **DECODER)
hf("gemma2", "Gemma2ForCausalLM", head_dim=8, sliding_window=4, **DECODER)
hf("gemma3_text", "Gemma3ForCausalLM", head_dim=8, sliding_window=4, **DECODER)
hf("olmo2", "Olmo2ForCausalLM", **DECODER)
hf("granite", "GraniteForCausalLM", residual_multiplier=0.5, **DECODER)
hf("nemotron", "NemotronForCausalLM", **DECODER)
hf("glm4", "Glm4ForCausalLM", head_dim=8, **DECODER)
hf("smollm3", "SmolLM3ForCausalLM", **DECODER)
hf("persimmon", "PersimmonForCausalLM")
hf("mixtral", "MixtralForCausalLM", num_local_experts=4, **DECODER)
hf(
    "qwen2_moe",
    "Qwen2MoeForCausalLM",
    num_experts=4,
    num_experts_per_tok=2,
    moe_intermediate_size=16,
    shared_expert_intermediate_size=32,
    **DECODER,
)
hf(
    "qwen3_moe",
    "Qwen3MoeForCausalLM",
    num_experts=4,
    num_experts_per_tok=2,
    moe_intermediate_size=16,
    head_dim=8,
    **DECODER,
)
hf("olmoe", "OlmoeForCausalLM", num_experts=4, num_experts_per_tok=2, **DECODER)
hf(
    "gpt_oss",
    "GptOssForCausalLM",
    num_local_experts=4,
    num_experts_per_tok=2,
    head_dim=8,
    sliding_window=4,
    **DECODER,
)
hf(
    "deepseek_v3",
    "DeepseekV3ForCausalLM",
    moe_intermediate_size=16,
    n_routed_experts=4,
    n_group=2,
    topk_group=1,
    num_experts_per_tok=2,
    kv_lora_rank=8,
    q_lora_rank=16,
    qk_rope_head_dim=4,
    qk_nope_head_dim=4,
    v_head_dim=8,
    first_k_dense_replace=1,
)
hf("mamba", "MambaForCausalLM", fixed_id_inputs, state_size=8, time_step_rank=4)
hf(
    "mamba2",
    "Mamba2ForCausalLM",
    fixed_id_inputs,
    state_size=8,
    num_heads=8,
    head_dim=8,
    expand=2,
    n_groups=2,
    chunk_size=4,
    head_size=8,
)
hf("falcon_mamba", "FalconMambaForCausalLM", fixed_id_inputs, state_size=8, time_step_rank=4)
hf(
    "rwkv",
    "RwkvForCausalLM",
    fixed_id_inputs,
    rescale_every=0,
    context_length=64,
    attention_hidden_size=32,
)
hf(
    "recurrent_gemma",
    "RecurrentGemmaForCausalLM",
    fixed_text_inputs,
    attention_window_size=8,
    lru_width=32,
    num_hidden_layers=3,
    **DECODER,
)
hf(
    "jamba",
    "JambaForCausalLM",
    fixed_text_inputs,
    num_experts=4,
    mamba_d_state=8,
    mamba_dt_rank=4,
    attn_layer_period=2,
    attn_layer_offset=1,
    expert_layer_period=2,
    use_mamba_kernels=False,
    **DECODER,
)
hf(
    "lfm2",
    "Lfm2ForCausalLM",
    layer_types=["conv", "full_attention"],
    block_multiple_of=16,
    **DECODER,
)
hf(
    "zamba2",
    "Zamba2ForCausalLM",
    fixed_id_inputs,
    mamba_d_state=8,
    n_mamba_heads=8,
    mamba_headdim=8,
    chunk_size=4,
    layers_block_type=["mamba", "hybrid"],
    num_mem_blocks=1,
    adapter_rank=8,
)
hf("xlstm", "xLSTMForCausalLM", fixed_id_inputs, num_heads=4, num_blocks=2, chunk_size=4)
