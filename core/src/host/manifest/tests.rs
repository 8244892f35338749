use super::{Manifest, TARGET, sha256};
use crate::diagnose::Code;
use crate::host::CONTRACT;

fn manifest() -> Manifest {
    Manifest {
        id: "mylib".to_owned(),
        version: "0.1.0".to_owned(),
        contract: "1.0".to_owned(),
        target: TARGET.to_owned(),
        provides: vec!["lowering/1".to_owned()],
        sha256: None,
    }
}

#[test]
fn toml_and_json_say_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("libmylib.so");
    assert_eq!(Manifest::beside(&library).ok(), Some(None));
    let json = folder.path().join("libmylib.so.json");
    std::fs::write(&json, serde_json::to_string(&manifest()).expect("JSON")).expect("a file");
    assert_eq!(Manifest::beside(&library).ok(), Some(Some(manifest())));
    std::fs::remove_file(json).expect("the file is there");
    let text = format!(
        "id = 'mylib'\nversion = '0.1.0'\ncontract = '1.0'\ntarget = '{TARGET}'\nprovides = ['lowering/1']\n"
    );
    let toml = folder.path().join("libmylib.so.toml");
    std::fs::write(&toml, text).expect("a file");
    assert_eq!(Manifest::beside(&library).ok(), Some(Some(manifest())));
    std::fs::write(&toml, "id = 3").expect("a file");
    let problem = Manifest::beside(&library).expect_err("it is malformed");
    assert_eq!(problem.code, Code::PLUGIN_MANIFEST);
    assert!(!problem.message.contains('\n'), "{}", problem.message);
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("libmylib.so");
    std::fs::write(&library, "bytes").expect("a file");
    let message =
        |manifest: Manifest| manifest.check(&library).err().map(|problem| (problem.code, problem.message));
    assert_eq!(message(manifest()), None);
    let (code, text) = message(Manifest { contract: "2.4".to_owned(), ..manifest() }).expect("a refusal");
    assert_eq!(code, Code::PLUGIN_VERSION);
    let wanted = format!("is built for plugin contract 2.4, this host has {CONTRACT}");
    assert!(text.ends_with(&wanted), "{text}");
    let (_, text) = message(Manifest { contract: "x".to_owned(), ..manifest() }).expect("a refusal");
    assert!(text.ends_with("states the contract `x`, which is not a version"), "{text}");
    let (code, _) =
        message(Manifest { target: "pdp11-dec-unix".to_owned(), ..manifest() }).expect("a refusal");
    assert_eq!(code, Code::PLUGIN_FILE);
    let right = sha256(&library).expect("a readable file").to_uppercase();
    assert_eq!(message(Manifest { sha256: Some(right), ..manifest() }), None);
    let (code, _) = message(Manifest { sha256: Some("00".to_owned()), ..manifest() }).expect("a refusal");
    assert_eq!(code, Code::PLUGIN_MANIFEST);
    // A later minor version of the contract is for the library itself to refuse.
    assert_eq!(message(Manifest { contract: "1.9".to_owned(), ..manifest() }), None);
}
