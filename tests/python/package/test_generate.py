"""Models observed during `generate`, whose parts and phases then repeat another `generate`."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import transformers

import onnxport
from tests.python.models.weights import lively

SMALL = {
    "vocab_size": 128,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 3,
    "forced_eos_token_id": None,
}


def tokens(batch, length):
    generator = torch.Generator().manual_seed(length)
    return torch.randint(4, 120, (batch, length), generator=generator)


def bart():
    config = transformers.BartConfig(max_position_embeddings=64, **SMALL)
    return transformers.BartForConditionalGeneration(config), "model.encoder"


def t5():
    config = transformers.T5Config(
        vocab_size=128,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config), "encoder"


def whisper():
    config = transformers.WhisperConfig(
        num_mel_bins=8, max_source_positions=20, max_target_positions=32, **SMALL
    )
    return transformers.WhisperForConditionalGeneration(config), "model.encoder"


def given(model, batch, length):
    if model.main_input_name == "input_features":
        return torch.randn(batch, 8, 40, generator=torch.Generator().manual_seed(batch))
    return tokens(batch, length)


def ready(model, inputs, more):
    torch.manual_seed(0)
    lively(model, (), {model.main_input_name: inputs, **more})
    model.eval()
    model.generation_config.eos_token_id = None
    return model


def generate(model, inputs, steps, **more):
    more = {} if inputs.dim() == 3 else {"attention_mask": torch.ones_like(inputs), **more}
    with torch.no_grad():
        done = model.generate(
            inputs,
            max_new_tokens=steps,
            do_sample=False,
            num_beams=1,
            return_dict_in_generate=True,
            output_logits=True,
            **more,
        )
    return torch.stack(done.logits, 1)


def session(path):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def run(model, feeds):
    """Run a model on those of the feeds that it takes; return its outputs by name."""
    taken = {port.name: feeds[port.name] for port in model.get_inputs()}
    return dict(
        zip((port.name for port in model.get_outputs()), model.run(None, taken), strict=True)
    )


def check_steps(prefill, decode, feeds, expected, cached):
    """Compare the logits of every step; `cached` is the number of tensors in the cache."""
    for step in range(expected.shape[1]):
        found = run(prefill if step == 0 else decode, feeds)
        logits = found["logits"][:, -1]
        torch.testing.assert_close(
            torch.from_numpy(logits), expected[:, step], atol=1e-4, rtol=1e-4
        )
        cache = [name for name in found if name.startswith("present.")]
        assert len(cache) == cached
        feeds |= {name.replace("present", "past_key_values"): found[name] for name in cache}
        feeds["input_ids"] = logits.argmax(-1)[:, None]
        if "position_ids" in feeds:
            feeds["position_ids"] = feeds["position_ids"][:, -1:] + 1


@pytest.mark.parametrize("build", [bart, t5, whisper])
def test_an_encoder_and_a_decoder_repeat_generate(build, tmp_path):
    model, encoder = build()
    model = ready(model, given(model, 2, 5), {"decoder_input_ids": tokens(2, 3)})
    with onnxport.observe(model, parts={"encoder": encoder, "decoder": ""}) as seen:
        generate(model, given(model, 2, 5), 4)
        generate(model, given(model, 3, 6), 3)
    assert list(seen.phases) == ["prefill", "decode"]
    folder = tmp_path / "model"
    options = {"naming": "huggingface"}
    programs = seen.export_all(folder, verify=True, options=options)
    names = ["encoder", "decoder_prefill", "decoder_decode"]
    assert list(programs) == names
    assert {file.name for file in folder.iterdir()} == {
        *(f"{name}.onnx" for name in names),
        "weights.data",
    }
    encoder, prefill, decode = (session(folder / f"{name}.onnx") for name in names)
    inputs = given(model, 1, 9)
    expected = generate(model, inputs, 6)

    feeds = {model.main_input_name: inputs.numpy()}
    mask = np.ones(inputs.shape[:2], np.int64)
    hidden = run(encoder, {**feeds, "attention_mask": mask})["last_hidden_state"]
    feeds = {"encoder_hidden_states": hidden, "encoder_attention_mask": mask}
    feeds["input_ids"] = np.full((1, 1), model.generation_config.decoder_start_token_id)
    # Keys and values of both caches of both layers.
    check_steps(prefill, decode, feeds, expected, 2 * 2 * 2)


def test_recurrent_states_have_two_phases(tmp_path):
    config = transformers.MambaConfig(
        vocab_size=128, hidden_size=32, num_hidden_layers=2, state_size=8
    )
    model = ready(transformers.MambaForCausalLM(config), tokens(2, 5), {})
    with onnxport.observe(model) as seen:
        generate(model, tokens(2, 5), 4)
        generate(model, tokens(3, 5), 3)
    with pytest.raises(onnxport.UsageError, match=r"2 of `prefill` and 3 of `decode`") as error:
        seen.export(tmp_path / "m.onnx")
    assert "export_all(folder)" in str(error.value)
    programs = seen.export_all(tmp_path / "model", verify=True)
    inputs = tokens(1, 5)
    expected = generate(model, inputs, 6)
    prefill, decode = (session(tmp_path / "model" / f"{name}.onnx") for name in programs)
    feeds = {"input_ids": inputs.numpy()}
    states = [port.name for port in decode.get_inputs() if port.name != "input_ids"]
    for step in range(expected.shape[1]):
        found = run(prefill if step == 0 else decode, feeds)
        logits = found.pop("logits")[:, -1]
        torch.testing.assert_close(
            torch.from_numpy(logits), expected[:, step], atol=1e-4, rtol=1e-4
        )
        held = [value for name, value in found.items() if name.startswith("cache_params.")]
        feeds.update(zip(states, held, strict=True))
        feeds["input_ids"] = logits.argmax(-1)[:, None]


def test_a_static_cache_is_written_in_place(tmp_path):
    longest = 16
    config = transformers.LlamaConfig(
        vocab_size=128,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = ready(transformers.LlamaForCausalLM(config), tokens(2, 5), {})
    model.generation_config.pad_token_id = 0

    def generated(batch, length, steps):
        cache = transformers.StaticCache(config, max_cache_len=longest)
        more = {"past_key_values": cache, "disable_compile": True}
        return generate(model, tokens(batch, length), steps, **more)

    with onnxport.observe(model) as seen:
        generated(2, 5, 4)
        generated(3, 6, 3)
    assert list(seen.phases) == ["prefill", "decode"]
    programs = seen.export_all(tmp_path / "model", verify=True)
    prefill, decode = (session(tmp_path / "model" / f"{name}.onnx") for name in programs)
    expected = generated(1, 9, 6)
    feeds = {"input_ids": tokens(1, 9).numpy(), "position_ids": np.arange(9)[None]}
    feeds |= {f"past_key_values_cumulative_length_{layer}": np.array(0) for layer in range(2)}
    for step in range(expected.shape[1]):
        found = run(prefill if step == 0 else decode, feeds)
        logits = found["logits"][:, -1]
        torch.testing.assert_close(
            torch.from_numpy(logits), expected[:, step], atol=1e-4, rtol=1e-4
        )
        for layer in range(2):
            for part in ("key", "value"):
                cache = found[f"past_key_values.{layer}.{part}"]
                assert cache.shape[2] == longest
                feeds[f"past_key_values_{part}_cache_{layer}"] = cache
            length = found[f"past_key_values.cumulative_length.{layer}"]
            assert length == 9 + step
            feeds[f"past_key_values_cumulative_length_{layer}"] = length
        feeds["input_ids"] = logits.argmax(-1)[:, None]
        feeds["position_ids"] = np.array([[9 + step]])
        feeds["attention_mask"] = (np.arange(longest) <= 9 + step)[None, None, None]


def llava():
    sizes = {
        "vocab_size": 128,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    vision = transformers.CLIPVisionConfig(image_size=32, patch_size=8, projection_dim=16, **sizes)
    text = transformers.LlamaConfig(num_key_value_heads=2, **sizes)
    config = transformers.LlavaConfig(
        text_config=text, vision_config=vision, image_token_index=127, image_token_id=127
    )
    return transformers.LlavaForConditionalGeneration(config)


@pytest.mark.parametrize("images", [1, 2])
def test_a_vision_language_model_takes_pixels_in_the_first_step(tmp_path, images):
    def question(length):
        image = torch.full((1, 16 * images), 127)
        pixels = torch.randn(images, 3, 32, 32, generator=torch.Generator().manual_seed(length))
        return torch.cat([image, tokens(1, length)], 1), pixels

    model = llava()
    ids, pixels = question(5)
    model = ready(model, ids, {"pixel_values": pixels})
    model.generation_config.pad_token_id = 0
    with onnxport.observe(model) as seen:
        generate(model, ids, 4, pixel_values=pixels)
        ids, pixels = question(7)
        generate(model, ids, 3, pixel_values=pixels)
    options = {"naming": "huggingface"}
    programs = seen.export_all(tmp_path / "model", verify=True, options=options)
    assert list(programs) == ["prefill", "decode"]
    prefill, decode = (session(tmp_path / "model" / f"{name}.onnx") for name in programs)
    ids, pixels = question(11)
    expected = generate(model, ids, 6, pixel_values=pixels)
    positions = np.arange(ids.shape[1])[None]
    feeds = {"input_ids": ids.numpy(), "pixel_values": pixels.numpy(), "position_ids": positions}
    check_steps(prefill, decode, feeds, expected, 2 * 2)


def test_arguments_that_no_model_has_are_refused(tmp_path):
    model = torch.nn.ReLU().eval()
    with onnxport.observe(model) as seen:
        model(torch.randn(2))
    with pytest.raises(onnxport.UsageError, match="no model has an argument 'inputs'"):
        seen.export_all(tmp_path / "model", set_batch_dimension_for=["input", "inputs"])
    assert not list(tmp_path.iterdir())


def test_pixels_of_the_first_step_alone_are_a_phase():
    class Captioner(torch.nn.Module):
        def forward(self, ids, past_key_values, pixels=None):
            keys = ids[:, None, :, None].float() + (0 if pixels is None else pixels.mean())
            return past_key_values.update(keys, keys, 0)[0].sum(2)

    model, cache = Captioner(), transformers.DynamicCache()
    with onnxport.observe(model) as seen:
        model(tokens(2, 4), cache, torch.rand(2, 3))
        model(tokens(2, 1), cache)
        model(tokens(2, 1), cache)
    assert {name: len(one.calls) for name, one in seen.phases.items()} == {
        "prefill": 1,
        "decode": 2,
    }


def test_a_cache_that_grows_is_one_phase():
    class Summing(torch.nn.Module):
        def forward(self, ids, past_key_values=None):
            keys = ids[:, None, :, None].float()
            return past_key_values.update(keys, keys, 0)[0].sum(2)

    model, cache = Summing(), transformers.DynamicCache()
    with onnxport.observe(model) as seen:
        for length in (4, 1, 1):
            model(tokens(2, length), cache)
    assert list(seen.phases) == [""]
    args, kwargs = seen.infer_arguments(as_args_kwargs=True)
    # The later calls have an axis of size 1, at which PyTorch would fix it.
    assert (args[0].shape, args[1].get_seq_length(), kwargs) == ((2, 4), 0, {})
    program = seen.export()
    assert all(row["SUCCESS"] for row in seen.check_discrepancies(program))


def test_a_submodule_that_does_not_exist_is_refused():
    with (
        pytest.raises(onnxport.UsageError, match="a ReLU has no submodule `encoder`"),
        onnxport.observe(torch.nn.ReLU(), parts={"encoder": "encoder"}),
    ):
        pass


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(64, 64))

    def forward(self, x):
        return x @ self.weight


def test_a_package_of_models_stores_equal_weights_once(tmp_path):
    model = Scaled()
    programs = {
        "one": onnxport.export(model, (torch.randn(2, 64),)),
        "two": onnxport.export(model, (torch.randn(5, 64),)),
    }
    written = onnxport.save_package(programs, tmp_path / "both", shard_size="1GB")
    assert written["data_bytes"] == 64 * 64 * 4
    assert written["separate_bytes"] == 2 * 64 * 64 * 4
    for name, rows in (("one", 2), ("two", 5)):
        path = tmp_path / "both" / f"{name}.onnx"
        onnx.checker.check_model(path)
        x = torch.randn(rows, 64)
        (found,) = session(path).run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.from_numpy(found), model(x).detach())
    with pytest.raises(onnxport.FileError, match="both"):
        onnxport.save_package(programs, tmp_path / "both")


@pytest.mark.parametrize("name", ["", "../up", ".hidden", "a/b"])
def test_names_of_a_package_are_those_of_files(tmp_path, name):
    program = onnxport.export(torch.nn.ReLU().eval(), (torch.randn(2),))
    with pytest.raises(onnxport.Error, match="not the name of a file"):
        onnxport.save_package({name: program}, tmp_path / "package")
    assert not list(tmp_path.iterdir())


def test_a_changed_model_is_not_packed(tmp_path):
    program = onnxport.export(torch.nn.ReLU().eval(), (torch.randn(2),))
    program.model.graph.name = "changed"
    with pytest.raises(onnxport.UsageError, match="`m` has been changed"):
        onnxport.save_package({"m": program}, tmp_path / "package")
