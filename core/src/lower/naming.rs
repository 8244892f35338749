//! Conventions for the names of inputs and outputs, as runtimes for language models expect them.

/// A convention for the names that the user does not choose. It concerns caches of transformers, and the inputs of the
/// decoder of an encoder-decoder; other names stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Inputs have the names of the exported program, outputs the paths in the result of the module:
    /// `past_key_values_key_cache_0` and `past_key_values.0.key`.
    #[default]
    Torch,
    /// That of Hugging Face's Optimum: `past_key_values.0.key` and `present.0.key`, or `past_key_values.0.decoder.key`
    /// and `present.0.encoder.key` where there are two caches.
    HuggingFace,
    /// That of onnxruntime-genai: `past_key_values.0.key` and `present.0.key`, or `past_key_self_0` and
    /// `present_key_cross_0` where there are two caches.
    GenAi,
    /// All names are identifiers: outputs have `_` for `.` in their paths.
    Flat,
}

/// A tensor of a cache.
struct Cached<'a> {
    layer: &'a str,
    /// `key` or `value`.
    part: &'a str,
    attention: Attention,
}

/// The attention that a cache belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attention {
    /// The only one.
    Only,
    /// That of the decoder to itself.
    Own,
    /// That of the decoder to the encoder.
    Cross,
}

impl Naming {
    /// Returns the new name of each input, `None` where it keeps its own.
    pub(super) fn inputs(self, own: &[String]) -> Vec<Option<String>> {
        let has = |name: &str| own.iter().any(|one| one == name);
        let decodes = has("decoder_input_ids") && !has("input_ids");
        let rename = |name: &String| match self {
            Self::Torch | Self::Flat => None,
            Self::HuggingFace | Self::GenAi => match name.as_str() {
                "decoder_input_ids" if decodes => Some("input_ids".to_owned()),
                "attention_mask" if decodes => Some("encoder_attention_mask".to_owned()),
                "encoder_outputs_last_hidden_state" => Some("encoder_hidden_states".to_owned()),
                name => Cached::of_input(name).map(|cached| self.cached(&cached, "past_key_values", "past")),
            },
        };
        own.iter().map(rename).collect()
    }

    /// Returns the new name of each output, `None` where it keeps its own.
    pub(super) fn outputs(self, own: &[String]) -> Vec<Option<String>> {
        let rename = |name: &String| match self {
            Self::Torch => None,
            Self::Flat => Some(name.replace('.', "_")),
            Self::HuggingFace | Self::GenAi => {
                Cached::of_output(name).map(|cached| self.cached(&cached, "present", "present"))
            }
        };
        own.iter().map(rename).collect()
    }

    fn cached(self, cached: &Cached<'_>, dotted: &str, underscored: &str) -> String {
        let Cached { layer, part, attention } = cached;
        let (coder, kind) = match attention {
            Attention::Only => return format!("{dotted}.{layer}.{part}"),
            Attention::Own => ("decoder", "self"),
            Attention::Cross => ("encoder", "cross"),
        };
        match self {
            Self::GenAi => format!("{underscored}_{part}_{kind}_{layer}"),
            _ => format!("{dotted}.{layer}.{coder}.{part}"),
        }
    }
}

impl<'a> Cached<'a> {
    /// Reads `past_key_values_self_attention_cache_key_cache_0`.
    fn of_input(name: &'a str) -> Option<Self> {
        let (rest, layer) = name.rsplit_once('_')?;
        let (path, part) = rest.strip_suffix("_cache")?.rsplit_once('_')?;
        Self::new(layer, part, path)
    }

    /// Reads `past_key_values.self_attention_cache.0.key`.
    fn of_output(name: &'a str) -> Option<Self> {
        let (rest, part) = name.rsplit_once('.')?;
        let (path, layer) = rest.rsplit_once('.')?;
        Self::new(layer, part, path)
    }

    fn new(layer: &'a str, part: &'a str, path: &str) -> Option<Self> {
        let is_number = !layer.is_empty() && layer.bytes().all(|byte| byte.is_ascii_digit());
        let attention = match path {
            path if path.ends_with("self_attention_cache") => Attention::Own,
            path if path.ends_with("cross_attention_cache") => Attention::Cross,
            _ => Attention::Only,
        };
        (is_number && matches!(part, "key" | "value")).then_some(Self { layer, part, attention })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(naming: Naming, inputs: &[&str], outputs: &[&str]) -> String {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let shown = |own: Vec<String>, new: Vec<Option<String>>| {
            own.into_iter().zip(new).map(|(own, new)| new.unwrap_or(own)).collect::<Vec<_>>().join(" ")
        };
        let (inputs, outputs) = (owned(inputs), owned(outputs));
        let (new_inputs, new_outputs) = (naming.inputs(&inputs), naming.outputs(&outputs));
        format!("{} -> {}", shown(inputs, new_inputs), shown(outputs, new_outputs))
    }

    #[test]
    fn a_decoder_has_one_cache() {
        let (inputs, outputs) = (
            ["input_ids", "attention_mask", "past_key_values_value_cache_11"],
            ["logits", "past_key_values.11.value"],
        );
        let dotted = "input_ids attention_mask past_key_values.11.value -> logits present.11.value";
        assert_eq!(renamed(Naming::HuggingFace, &inputs, &outputs), dotted);
        assert_eq!(renamed(Naming::GenAi, &inputs, &outputs), dotted);
        assert_eq!(
            renamed(Naming::Flat, &inputs, &outputs),
            "input_ids attention_mask past_key_values_value_cache_11 -> logits past_key_values_11_value"
        );
        assert_eq!(
            renamed(Naming::Torch, &inputs, &outputs),
            "input_ids attention_mask past_key_values_value_cache_11 -> logits past_key_values.11.value"
        );
    }

    #[test]
    fn a_decoder_after_an_encoder_has_two_caches() {
        let inputs = [
            "attention_mask",
            "decoder_input_ids",
            "encoder_outputs_last_hidden_state",
            "past_key_values_self_attention_cache_key_cache_0",
            "past_key_values_cross_attention_cache_key_cache_0",
        ];
        let outputs =
            ["past_key_values.self_attention_cache.0.key", "past_key_values.cross_attention_cache.0.key"];
        assert_eq!(
            renamed(Naming::HuggingFace, &inputs, &outputs),
            "encoder_attention_mask input_ids encoder_hidden_states past_key_values.0.decoder.key \
             past_key_values.0.encoder.key -> present.0.decoder.key present.0.encoder.key"
        );
        assert_eq!(
            renamed(Naming::GenAi, &inputs, &outputs),
            "encoder_attention_mask input_ids encoder_hidden_states past_key_self_0 past_key_cross_0 -> \
             present_key_self_0 present_key_cross_0"
        );
    }

    #[test]
    fn other_names_stay() {
        let names = ["key_cache", "cache_0", "a.key", "my_key_cache_x", "past.0.keys"];
        assert_eq!(Naming::HuggingFace.inputs(&names.map(str::to_owned)), [const { None }; 5]);
        assert_eq!(Naming::HuggingFace.outputs(&names.map(str::to_owned)), [const { None }; 5]);
    }
}
