//! What needs no runtime.

use onnxport_sdk::executor::{Executor, Options};

use super::{Runtime, is_model};

#[test]
fn it_opens_and_says_what_it_is() {
    let runtime = Runtime::open(Options::new(&[])).expect("it opens");
    assert!(runtime.describe().starts_with("myplugin 0.1.0"), "{}", runtime.describe());
}

#[test]
fn what_is_no_model_is_not_loaded() {
    assert!(is_model(&[0x08, 0x0a, 0x3a]));
    assert!(!is_model(b"not a model"));
    assert!(!is_model(b""));
    let folder = std::env::temp_dir();
    assert!(Runtime { threads: 1 }.load(&folder.join("there is no such model.onnx")).is_err());
}
