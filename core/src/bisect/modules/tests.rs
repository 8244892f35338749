//! Tests with shell scripts as interpreters: a Python might do anything that they do.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::verify::child::shell::{answering, message};

const GREETING: &str = r#"{"torch": "2.15.0", "onnxport": "1.0"}"#;
const TREE: &str = r#"{"ok": false, "conversions": 3, "found": ["layers.1"], "root": {"path": "", "kind": "Deep",
    "calls": 1, "verdict": "disagrees", "reason": null, "max_abs_diff": "inf", "max_rel_diff": 0.5, "like": null,
    "begins": false, "diagnostics": [], "children": [{"path": "layers.1", "kind": "Layer", "calls": 1,
    "verdict": "does not convert", "reason": "no lowering", "max_abs_diff": null, "max_rel_diff": null, "like": null,
    "begins": true, "children": [], "diagnostics": [
        {"severity": "error", "code": "OP301", "message": "no lowering", "line": 3, "notes": ["a note"]}]}]}}"#;

/// The outcome of an interpreter that writes `answers`, a message each, and then runs `script`.
fn asked(answers: &[&str], script: &str) -> Result<Pieces, String> {
    let folder = tempfile::tempdir().unwrap();
    let answers: Vec<u8> = answers.iter().flat_map(|text| message(text)).collect();
    let python = answering(folder.path(), &answers, script);
    let (path, limit) = (folder.path().join("m.pt2"), Duration::from_secs(20));
    ask(&python, &path, &options(), limit, &told(STEPS))
}

/// The number of steps before the search is stopped.
const STEPS: usize = 2;

/// Returns a callback that continues for this many named steps.
fn told(steps: usize) -> Tell {
    let seen = AtomicUsize::new(0);
    Arc::new(move |step| {
        assert_ne!(step, "");
        seen.fetch_add(1, Ordering::Relaxed) < steps
    })
}

fn options() -> Options {
    Options {
        opset: 18,
        all: true,
        once: false,
        plugins: vec!["a.so".into()],
        options: serde_json::Map::new(),
    }
}

#[test]
fn an_answer_becomes_the_tree() {
    let step = r#"{"step": "converting layers.1"}"#;
    let found = asked(&[GREETING, step, step, TREE], "").unwrap();
    assert!(found.python.starts_with("onnxport 1.0 and PyTorch 2.15.0 ("), "{}", found.python);
    let [begins] = &found.found()[..] else { panic!() };
    assert_eq!((begins.path.as_str(), begins.verdict), ("layers.1", Verdict::Unconverted));
    assert_eq!(begins.diagnostics[0].more["notes"][0], "a note");
    assert_eq!(found.root.max_abs_diff, Some(Measure::Text("inf".to_owned())));
    let verdict = serde_json::to_value(found.root.verdict).unwrap();
    assert_eq!(verdict, found.root.verdict.text());
}

#[test]
fn what_is_no_answer_is_refused() {
    let sound = TREE.replace(r#""begins": true"#, r#""begins": false"#);
    let unknown = TREE.replace("does not convert", "is blue");
    for (answers, script, says) in [
        (vec![r#"{"error": "ModuleNotFoundError: no torch"}"#], "", "ModuleNotFoundError: no torch"),
        (vec![GREETING, r#"{"error": "UsageError: opset"}"#], "", "UsageError: opset"),
        (vec![GREETING], "echo 'out of luck' >&2; exit 3", "with exit code 3: out of luck"),
        (vec![GREETING, GREETING], "", "it greets twice"),
        (vec![TREE], "", "it answers without a greeting"),
        (vec![GREETING, r#"{"step": "a"}"#, r#"{"step": "b"}"#, r#"{"step": "c"}"#, TREE], "", "interrupted"),
        (vec![GREETING, "{}"], "", "its answer is not one"),
        (vec![GREETING, &unknown], "", "its answer is not one"),
        (vec![GREETING, &sound], "", "nothing is wrong in a program that is"),
    ] {
        let why = asked(&answers, script).unwrap_err();
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn a_caller_takes_the_place_of_a_process() {
    let call: Caller = |path, options, tell| {
        assert!(tell("converting layers.1"));
        assert_eq!(path, Path::new("m.pt2"));
        assert_eq!(options, r#"{"opset_version":18,"all":true,"once":false,"plugins":["a.so"]}"#);
        Ok(TREE.to_owned())
    };
    let found = modules(Path::new("m.pt2"), &options(), None, Some(call), told(1)).unwrap();
    assert_eq!((found.conversions, found.python.as_str()), (3, ""));
    let given =
        Options { options: [("use".to_owned(), vec!["a=b"].into())].into_iter().collect(), ..options() };
    let lacking: Caller = |_, options, _| {
        assert!(options.ends_with(r#""options":{"use":["a=b"]}}"#), "{options}");
        Err("no inputs".to_owned())
    };
    let refused = modules(Path::new("m.pt2"), &given, None, Some(lacking), told(1));
    let problem = refused.unwrap_err();
    assert_eq!(problem.code, Code::VERIFY_REFERENCE);
    assert!(problem.message.ends_with("no inputs"), "{}", problem.message);
}
