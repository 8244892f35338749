//! Tests with shell scripts as interpreters: a Python might do anything that they do.

use super::*;
use crate::verify::child::shell::{answering, message};

const DECODER: &str = r#"{"decoder": {"model_type": "llama", "architecture": "LlamaForCausalLM", "dtype": "f32",
    "layers": [{"heads": 2, "key_size": 8, "value_size": 8}], "positions": true, "attention_heads": 4,
    "hidden_size": null, "vocabulary": 128, "limit": 64, "eos": [2, 3], "bos": 1, "pad": null,
    "search": {"top_k": 20}, "ties": [["a", "b"]], "prefix": "model", "python": "PyTorch 2.15"},
    "composed": {"b": {"stored": "a"}},
    "adapted": {"modules": [{"module": "q", "taken": 4, "made": 8}],
    "changes": [{"q": {"scale": 2.0, "transposed": false}}]}}"#;

/// The outcome of an interpreter that writes `answers`, a message each, and then runs `script`.
fn asked(answers: &[&str], script: &str) -> Result<Captured, Diagnostic> {
    let folder = tempfile::tempdir().unwrap();
    let answers: Vec<u8> = answers.iter().flat_map(|text| message(text)).collect();
    let python = answering(folder.path(), &answers, script);
    let capture = Capture {
        program: "m.pt2".into(),
        dtype: None,
        last: false,
        code: None,
        genai: false,
        pooling: None,
        buffers: false,
        adapters: Vec::new(),
        record: None,
        stored: BTreeMap::new(),
    };
    let mut steps = 0;
    ask(&python, Path::new("checkpoint"), &capture, &mut |_| {
        steps += 1;
        steps < 3
    })
}

#[test]
fn an_answer_describes_the_decoder() {
    let step = r#"{"step": "capturing"}"#;
    let Captured { decoder, composed, adapted, parts, .. } = asked(&[step, step, DECODER], "").unwrap();
    assert!(parts.is_empty());
    assert_eq!((adapted.modules[0].taken, adapted.modules[0].made), (4, 8));
    assert_eq!(adapted.changes[0]["q"], Change { scale: 2.0, transposed: false, magnitude: None });
    assert_eq!(composed["b"], Composition::Stored("a".to_owned()));
    assert_eq!(decoder.layers, [Layer::Attention { heads: 2, key_size: 8, value_size: 8 }]);
    assert_eq!(
        (decoder.eos.as_slice(), decoder.bos, decoder.hidden_size),
        ([2, 3].as_slice(), Some(1), None)
    );
}

#[test]
fn refusals_have_a_code_of_their_kind() {
    let empty = DECODER.replace(r#"{"heads": 2, "key_size": 8, "value_size": 8}"#, "");
    let step = r#"{"step": "capturing"}"#;
    for (answers, script, code, says) in [
        (vec![r#"{"error": "no torch", "kind": "packages"}"#], "", Code::CAPTURE_PYTHON, "no torch"),
        (
            vec![r#"{"error": "no JSON", "kind": "checkpoint"}"#],
            "",
            Code::CAPTURE_CHECKPOINT,
            "`checkpoint`: no JSON",
        ),
        (vec![r#"{"error": "unknown", "kind": "architecture"}"#], "", Code::CAPTURE_ARCHITECTURE, "unknown"),
        (vec![r#"{"error": "no runtime", "kind": "server"}"#], "", Code::CAPTURE_ARCHITECTURE, "no runtime"),
        (vec![r#"{"error": "a guard", "kind": "capture"}"#], "", Code::CAPTURE_FAILED, "a guard"),
        (
            vec![r#"{"error": "a sum", "kind": "conversion"}"#],
            "",
            Code::CAPTURE_CONVERSION,
            "`checkpoint`: a sum",
        ),
        (vec![r#"{"error": "no model", "kind": "code"}"#], "", Code::CAPTURE_CODE, "no model"),
        (vec![r#"{"error": "no rank", "kind": "adapter"}"#], "", Code::CAPTURE_ADAPTER, "no rank"),
        (vec![r#"{"error": "a guard", "kind": "other"}"#], "", Code::CAPTURE_FAILED, "cannot be understood"),
        (vec![], "echo 'out of luck' >&2; exit 3", Code::CAPTURE_FAILED, "with exit code 3: out of luck"),
        (vec![step, step, step, DECODER], "", Code::CAPTURE_FAILED, "interrupted"),
        (vec!["{}"], "", Code::CAPTURE_FAILED, "cannot be understood"),
        (vec![&empty], "", Code::CAPTURE_FAILED, "has no layers"),
    ] {
        let problem = asked(&answers, script).unwrap_err();
        assert!(problem.message.contains(says), "{}", problem.message);
        assert_eq!(problem.code, code, "{}", problem.message);
        assert!(problem.help.is_some());
    }
}
