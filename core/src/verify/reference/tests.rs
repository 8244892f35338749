//! Interpreters that are shell scripts, in the place of Python.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::*;
use crate::tensor::{DType, LazyTensor};
use crate::verify::child::shell::{answering, interpreter};

fn against(drawn: &[bool]) -> Against {
    let value = LazyTensor::inline(DType::F32, vec![2], [0; 8].to_vec());
    let case = |(at, drawn): (usize, &bool)| Case {
        drawn: *drawn,
        ..Case::new(format!("case-{at}"), vec![("x".to_owned(), value.clone())])
    };
    let program = Some(PathBuf::from("m.pt2"));
    Against { cases: drawn.iter().enumerate().map(case).collect(), program, ..Against::default() }
}

fn message(metadata: &[(&str, &str)], tensors: &[(&str, &[u8])]) -> Vec<u8> {
    let views = tensors
        .iter()
        .map(|(name, bytes)| (*name, TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes).unwrap()));
    let metadata: HashMap<String, String> =
        metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let body = safetensors::serialize(views, Some(metadata)).unwrap();
    let mut message = (body.len() as u64).to_le_bytes().to_vec();
    message.extend(body);
    message
}

fn values(number: usize) -> Vec<u8> {
    let cases = format!(r#"[{{"name": "{number}", "inputs": [], "outputs": ["y"], "random": true}}]"#);
    let metadata = [("format", "onnxport-expected/1"), ("cases", cases.as_str())];
    message(&metadata, &[(&format!("{number}/output/0"), &[0; 12])])
}

/// The outcome of asking an interpreter that writes `answers` and then runs `script`.
fn asked(against: &mut Against, answers: &[Vec<u8>], script: &str, limit: u64) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let python = answering(folder.path(), &answers.concat(), script);
    let path = folder.path().join("m.pt2");
    against.ask(&python, &path, false, Some(Duration::from_millis(limit)))
}

fn failure(answers: &[Vec<u8>], script: &str) -> String {
    let mut against = against(&[false, true]);
    let why = asked(&mut against, answers, script, 20_000).unwrap_err();
    assert!(against.cases.iter().all(|case| case.expected.is_none() && case.refused.is_none()));
    why
}

#[test]
fn answers_become_expected_values() {
    let mut against = against(&[false, true]);
    let refusal = message(&[("case", "1"), ("refused", "AssertionError: s0 >= 2")], &[]);
    let answers = [message(&[("torch", "2.15.0")], &[]), values(0), refusal];
    asked(&mut against, &answers, "", 20_000).unwrap();
    let [first, second] = &against.cases[..] else { panic!() };
    let expected = first.expected.as_ref().unwrap();
    assert_eq!((expected.outputs[0].shape.clone(), first.source), (vec![3], Source::Torch));
    assert!(expected.random && !against.has_values());
    assert_eq!(second.refused.as_deref(), Some("AssertionError: s0 >= 2"));
    assert!(against.torch.unwrap().starts_with("PyTorch 2.15.0 ("));
}

#[test]
fn a_process_that_ends_says_why() {
    let hello = || message(&[("torch", "2.15.0")], &[]);
    let cases = [
        ("echo 'No module named torch' >&2; exit 3", "with exit code 3: No module named torch"),
        ("kill -9 $$", "killed, as the system does when memory runs out"),
        ("kill -6 $$", "by signal 6"),
    ];
    for (script, says) in cases {
        let why = failure(&[hello()], script);
        assert!(why.contains(says), "{why}");
    }
    let error = message(&[("error", "ModuleNotFoundError: no torch")], &[]);
    assert!(failure(&[error], "").ends_with("ModuleNotFoundError: no torch"));
}

#[test]
fn answers_that_are_wrong_are_no_values() {
    let hello = || message(&[("torch", "2.15.0")], &[]);
    let long = u64::MAX.to_le_bytes().to_vec();
    for (answers, says) in [
        (vec![b"\x05\0\0\0\0\0\0\0hello".to_vec()], "its answer is not one"),
        (vec![hello(), values(1)], "it answered case 1 instead of case 0"),
        (vec![hello(), hello()], "it greets twice"),
        (vec![long], "it states a length of 18446744073709551615 bytes"),
        (vec![values(0)], "it answers without a greeting"),
        (vec![hello()[..12].to_vec()], "its answer cannot be read: it is cut off"),
    ] {
        let why = failure(&answers, "");
        assert!(why.contains(says), "{why}");
    }
    let refusal = message(&[("case", "0"), ("refused", "RuntimeError: no kernel")], &[]);
    let why = failure(&[hello(), refusal, values(1)], "");
    assert!(why.contains("it does not run the case case-0: RuntimeError: no kernel"), "{why}");
}

#[test]
fn a_process_that_hangs_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let start = Instant::now();
    // It does not read the request either.
    let script = format!("echo $$ > '{}'; exec sleep 1000", pid.display());
    let mut against = against(&[false]);
    against.cases[0].inputs[0].1 = LazyTensor::inline(DType::F32, vec![1 << 20], vec![0; 4 << 20]);
    let why = asked(&mut against, &[], &script, 2_000).unwrap_err();
    assert!(why.ends_with("it did not answer within 2 s"), "{why}");
    assert!(start.elapsed() < Duration::from_secs(500));
    let pid = fs::read_to_string(&pid).unwrap();
    // Neither running nor waiting to be fetched.
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn without_values_trials_are_gone() {
    let trial = |reference| {
        let mut against = against(&[false, true, true]);
        against.cases[2].trial = true;
        against.cases[0].source = Source::Recorded;
        against.program = None;
        let told = against.refer(reference, None).map(|note| note.is_some());
        (told.map_err(|problem| problem.code), against.cases.len(), against.cases[0].source)
    };
    assert_eq!(trial(Reference::Recorded), (Ok(false), 2, Source::Recorded));
    assert_eq!(trial(Reference::None), (Ok(false), 2, Source::Nothing));
    assert_eq!(trial(Reference::Found), (Ok(false), 2, Source::Recorded));
    assert_eq!(trial(Reference::Torch).0, Err(Code::VERIFY_REFERENCE));
}

#[test]
fn a_process_is_started_before_it_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (ready, answers) = (folder.path().join("ready"), folder.path().join("answers"));
    let text = [message(&[("torch", "2.15.0")], &[]), values(0)].concat();
    fs::write(&answers, text).unwrap();
    let script = format!("echo >> '{}'; head -c 8 > /dev/null; cat '{}'", ready.display(), answers.display());
    let (python, path) = (interpreter(folder.path(), &script), folder.path().join("m.pt2"));
    let ahead = Ahead::of(&python, &path, false).unwrap();
    let start = Instant::now();
    while !ready.exists() {
        assert!(start.elapsed() < Duration::from_secs(100), "it does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(ahead.take(&python, &path, true).is_none(), "it does not trust the program");
    let mut against = Against { ahead: Some(ahead.clone()), ..against(&[false]) };
    against.ask(&python, &path, false, None).unwrap();
    assert_eq!(against.cases[0].source, Source::Torch);
    assert_eq!(fs::read_to_string(&ready).unwrap().lines().count(), 1, "there was one process");
    assert!(ahead.take(&python, &path, false).is_none(), "it is asked once");
}

#[test]
fn programs_share_a_process() {
    for (then, starts) in [("cat >> \"$0.requests\"", 1), ("exit 0", 2)] {
        let folder = tempfile::tempdir().unwrap();
        let (log, answers) = (folder.path().join("log"), folder.path().join("answers"));
        let text = [message(&[("torch", "2.15.0")], &[]), values(0)].concat();
        fs::write(&answers, text).unwrap();
        // It answers as often as it will be asked, if it does not end after the first time.
        let often = if starts == 1 { "cat \"$1\"" } else { ":" };
        let answers = answers.display();
        let script = format!("echo >> '{}'; set -- '{answers}'; cat \"$1\"; {often}; {then}", log.display());
        let (python, path) = (interpreter(folder.path(), &script), folder.path().join("first.pt2"));
        let shared = Ahead { is_shared: true, ..Ahead::of(&python, &path, false).unwrap() };
        for name in ["first.pt2", "second.pt2"] {
            let mut against = Against { ahead: Some(shared.clone()), ..against(&[false]) };
            against.ask(&python, &folder.path().join(name), false, None).unwrap();
            assert_eq!(against.cases[0].source, Source::Torch);
        }
        assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), starts);
        if starts > 1 {
            continue;
        }
        let start = Instant::now();
        let second = format!("\"archive\":\"{}\"", folder.path().join("second.pt2").display());
        let requests = folder.path().join("python3.requests");
        let told = || String::from_utf8_lossy(&fs::read(&requests).unwrap_or_default()).contains(&second);
        while !told() {
            assert!(start.elapsed() < Duration::from_secs(100), "the second program is not named");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
