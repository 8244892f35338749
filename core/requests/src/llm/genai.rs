//! The configuration that onnxruntime-genai reads.

use onnxport_core::capture::{Decoder, Layer};
use onnxport_core::diagnose::{Code, Diagnostic};
use serde_json::{Map, Value, json};

use super::interface::{IDS, LOGITS, MASK, POSITIONS};
use super::{LlmProvider, MODEL};
use crate::object::wrong;

/// The name of the file.
pub(super) const FILE: &str = "genai_config.json";

/// The kind of model that reads the interface from the configuration, whichever architecture it has.
const KIND: &str = "decoder";

/// The kind that also reads states of convolutions.
const KIND_OF_CONVOLUTIONS: &str = "lfm2";

/// Returns the largest number of tokens. Fails for a decoder that the configuration cannot describe.
///
/// # Errors
/// `OP651` for caches that differ between layers, `OP001` without a number of tokens.
pub(super) fn check(decoder: &Decoder, context: Option<u64>) -> Result<u64, Diagnostic> {
    let (attention, convolution): (Vec<&Layer>, Vec<&Layer>) =
        decoder.layers.iter().partition(|layer| matches!(layer, Layer::Attention { .. }));
    let differ = |layers: &[&Layer]| layers.iter().any(|layer| Some(layer) != layers.first());
    let two_sizes = attention.iter().any(
        |layer| matches!(layer, Layer::Attention { key_size, value_size, .. } if key_size != value_size),
    );
    if differ(&attention) || differ(&convolution) || two_sizes {
        let message =
            "onnxruntime-genai needs keys and values of one size in all layers, and states of one size";
        return Err(Diagnostic::error(Code::CAPTURE_ARCHITECTURE, message)
            .help("use `--target onnxruntime`, and run the model with ONNX Runtime"));
    }
    let message = "the checkpoint states no largest number of tokens";
    context.ok_or_else(|| wrong(message.to_owned()).help("give one with `--context`"))
}

/// Returns the text of the file.
pub(super) fn config(decoder: &Decoder, context: u64, provider: LlmProvider) -> String {
    let attention = decoder.layers.iter().find_map(|layer| match layer {
        Layer::Attention { heads, key_size, .. } => Some((*heads, *key_size)),
        Layer::Convolution { .. } => None,
    });
    let (heads, size) = attention.unwrap_or_default();
    let state = decoder.layers.iter().find_map(|layer| match layer {
        Layer::Convolution { length, .. } => Some(*length),
        Layer::Attention { .. } => None,
    });
    let mut inputs = Map::from_iter([
        (IDS.to_owned(), json!(IDS)),
        (MASK.to_owned(), json!(MASK)),
        ("past_key_names".to_owned(), json!("past_key_values.%d.key")),
        ("past_value_names".to_owned(), json!("past_key_values.%d.value")),
    ]);
    if decoder.positions {
        inputs.insert(POSITIONS.to_owned(), json!(POSITIONS));
    }
    let mut outputs = Map::from_iter([
        (LOGITS.to_owned(), json!(LOGITS)),
        ("present_key_names".to_owned(), json!("present.%d.key")),
        ("present_value_names".to_owned(), json!("present.%d.value")),
    ]);
    if state.is_some() {
        inputs.insert("past_conv_names".to_owned(), json!("past_conv.%d"));
        outputs.insert("present_conv_names".to_owned(), json!("present_conv.%d"));
    }
    let mut own = Map::from_iter([
        ("session_options".to_owned(), session(provider)),
        ("filename".to_owned(), json!(MODEL)),
        ("head_size".to_owned(), json!(size)),
        ("inputs".to_owned(), Value::Object(inputs)),
        ("outputs".to_owned(), Value::Object(outputs)),
        ("num_hidden_layers".to_owned(), json!(decoder.layers.len())),
        ("num_key_value_heads".to_owned(), json!(heads)),
    ]);
    let stated = [("num_attention_heads", decoder.attention_heads), ("hidden_size", decoder.hidden_size)];
    own.extend(stated.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?)))));
    if let Some(length) = state {
        let kinds = decoder.layers.iter().map(|layer| match layer {
            Layer::Attention { .. } => "full_attention",
            Layer::Convolution { .. } => "conv",
        });
        own.insert("layer_types".to_owned(), kinds.collect());
        own.insert("conv_cache_size".to_owned(), json!(length));
    }
    let kind = if state.is_some() { KIND_OF_CONVOLUTIONS } else { KIND };
    let model =
        Map::from_iter([("type".to_owned(), json!(kind)), ("decoder".to_owned(), Value::Object(own))]);
    text(model, decoder, context, provider)
}

/// Returns the text of the file for several programs, whose settings the capture states.
pub(super) fn config_of_parts(
    settings: &Map<String, Value>,
    decoder: &Decoder,
    context: u64,
    provider: LlmProvider,
) -> String {
    let mut model = settings.clone();
    for part in model.values_mut().filter_map(Value::as_object_mut) {
        part.insert("session_options".to_owned(), session(provider));
    }
    text(model, decoder, context, provider)
}

/// Returns the settings of a session.
fn session(provider: LlmProvider) -> Value {
    let providers = match provider {
        LlmProvider::Cpu => json!([]),
        other => json!([{ other.name(): {} }]),
    };
    json!({ "log_id": "onnxruntime-genai", "provider_options": providers })
}

/// Returns the text of the file with this `model`, and with the tokens and the search.
fn text(mut model: Map<String, Value>, decoder: &Decoder, context: u64, provider: LlmProvider) -> String {
    model.insert("context_length".to_owned(), json!(context));
    model.insert("vocab_size".to_owned(), json!(decoder.vocabulary));
    // A batch is filled with some token, which the mask hides.
    let pad = decoder.pad.or_else(|| decoder.eos.first().copied());
    model.extend(decoder.bos.map(|token| ("bos_token_id".to_owned(), json!(token))));
    model.extend(pad.map(|token| ("pad_token_id".to_owned(), json!(token))));
    match decoder.eos.as_slice() {
        [] => {}
        [token] => drop(model.insert("eos_token_id".to_owned(), json!(token))),
        tokens => drop(model.insert("eos_token_id".to_owned(), json!(tokens))),
    }
    let mut search = json!({
        "do_sample": false,
        "early_stopping": true,
        "max_length": context,
        "min_length": 0,
        "num_beams": 1,
        "num_return_sequences": 1,
        // Without buffers, the model returns new caches.
        "past_present_share_buffer": provider.buffers(),
    });
    if let Some(search) = search.as_object_mut() {
        search.extend(decoder.search.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    let config = json!({ "model": model, "search": search });
    // An object always serializes.
    serde_json::to_string_pretty(&config).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoder(layers: &Value) -> Decoder {
        let decoder = json!({
            "model_type": "llama", "architecture": "LlamaForCausalLM", "dtype": "f32", "layers": layers,
            "positions": false, "attention_heads": 4, "hidden_size": null, "vocabulary": 128, "limit": 64,
            "eos": [2, 3], "bos": 1, "pad": null, "search": { "top_k": 20, "do_sample": true }, "ties": [],
            "prefix": "model", "python": "",
        });
        serde_json::from_value(decoder).unwrap()
    }

    #[test]
    fn the_configuration_states_tokens_sizes_and_names() {
        let layer = json!({ "heads": 2, "key_size": 8, "value_size": 8 });
        let text = config(&decoder(&json!([layer, layer])), 32, LlmProvider::Cpu);
        let read: Value = serde_json::from_str(&text).unwrap();
        let model = &read["model"];
        assert_eq!(model["eos_token_id"], json!([2, 3]));
        assert_eq!((&model["pad_token_id"], &model["bos_token_id"]), (&json!(2), &json!(1)));
        assert_eq!(model["decoder"]["num_key_value_heads"], 2);
        assert_eq!(model["decoder"]["head_size"], 8);
        assert!(model["decoder"]["inputs"].get("position_ids").is_none());
        assert!(model["decoder"].get("hidden_size").is_none());
        assert_eq!((&read["search"]["top_k"], &read["search"]["do_sample"]), (&json!(20), &json!(true)));
        assert_eq!(read["search"]["max_length"], 32);
        assert_eq!(read["search"]["past_present_share_buffer"], false);
    }

    #[test]
    fn the_configuration_of_a_device_shares_the_buffers_of_caches() {
        let layer = json!({ "heads": 2, "key_size": 8, "value_size": 8 });
        let text = config(&decoder(&json!([layer])), 32, LlmProvider::Cuda);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["search"]["past_present_share_buffer"], true);
        assert_eq!(read["model"]["decoder"]["session_options"]["provider_options"], json!([{ "cuda": {} }]));
    }

    #[test]
    fn the_configuration_of_several_programs_has_their_settings() {
        let layer = json!({ "heads": 2, "key_size": 8, "value_size": 8 });
        let settings = json!({ "type": "whisper", "encoder": { "filename": "encoder.onnx" }, "decoder": {} });
        let settings = settings.as_object().unwrap();
        let text = config_of_parts(settings, &decoder(&json!([layer])), 32, LlmProvider::Cpu);
        let read: Value = serde_json::from_str(&text).unwrap();
        let model = &read["model"];
        assert_eq!((&model["type"], &model["context_length"]), (&json!("whisper"), &json!(32)));
        assert_eq!(model["encoder"]["filename"], "encoder.onnx");
        for part in ["encoder", "decoder"] {
            assert_eq!(model[part]["session_options"]["provider_options"], json!([]));
        }
        assert_eq!((&model["bos_token_id"], &read["search"]["max_length"]), (&json!(1), &json!(32)));
    }

    #[test]
    fn states_of_convolutions_have_names_and_layers_have_kinds() {
        let attention = json!({ "heads": 2, "key_size": 8, "value_size": 8 });
        let state = json!({ "channels": 32, "length": 3 });
        let hybrid = decoder(&json!([state, attention, state]));
        assert!(check(&hybrid, Some(32)).is_ok());
        let text = config(&hybrid, 32, LlmProvider::Cpu);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["model"]["type"], "lfm2");
        let own = &read["model"]["decoder"];
        assert_eq!(own["layer_types"], json!(["conv", "full_attention", "conv"]));
        assert_eq!((&own["conv_cache_size"], &own["head_size"]), (&json!(3), &json!(8)));
        assert_eq!(own["inputs"]["past_conv_names"], "past_conv.%d");
        assert_eq!(own["outputs"]["present_conv_names"], "present_conv.%d");
        let other = json!({ "channels": 16, "length": 3 });
        assert!(check(&decoder(&json!([state, attention, other])), Some(32)).is_err());
    }

    #[test]
    fn caches_of_several_sizes_are_refused() {
        let layer = json!({ "heads": 2, "key_size": 8, "value_size": 8 });
        assert!(check(&decoder(&json!([layer, layer])), Some(32)).is_ok());
        assert_eq!(check(&decoder(&json!([layer])), None).unwrap_err().code, Code::USAGE);
        for other in [
            json!({ "heads": 1, "key_size": 8, "value_size": 8 }),
            json!({ "heads": 2, "key_size": 8, "value_size": 4 }),
        ] {
            let problem = check(&decoder(&json!([layer, other])), Some(32)).unwrap_err();
            assert_eq!(problem.code, Code::CAPTURE_ARCHITECTURE);
            assert!(
                check(&decoder(&json!([other, other])), Some(32)).is_ok()
                    == (other["key_size"] == other["value_size"])
            );
        }
    }
}
