//! Invalid roots in C: each is refused with a code, none is called.

use onnxport_core::diagnose::Code;

use super::{compile, load, repository};

/// Returns the refusal of a library with this defect.
fn refused(defect: &str) -> (Code, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let library = compile(
        &repository().join("tests/rust/c_plugins/root.c"),
        folder.path(),
        &[&format!("-DDEFECT={defect}")],
    );
    let report = load(&library).err().expect("it is refused");
    let problem = report.diagnostics.into_iter().next().expect("a reason");
    (problem.code, problem.message.replace(&library.display().to_string(), "it"))
}

#[test]
fn a_root_that_is_not_right_is_refused_with_a_code() {
    for (defect, code, message) in [
        ("MAGIC", Code::PLUGIN_FILE, "it has a symbol `onnxport_root` without the magic number of a plugin"),
        ("VERSION", Code::PLUGIN_VERSION, "it has a plugin root 2.0, this host knows 1.0"),
        ("SIZE", Code::PLUGIN_VERSION, "it has a plugin root of 39 bytes instead of 40"),
        ("QUERY", Code::PLUGIN_CONTRACT, "it has a plugin root whose `query` is null"),
        ("ATTACH", Code::PLUGIN_CONTRACT, "it has a plugin root whose `attach` is null"),
        ("NONE", Code::PLUGIN_FILE, "it is a shared library, but not an onnxport plugin"),
    ] {
        assert_eq!(refused(defect), (code, message.to_owned()), "{defect}");
    }
}

#[test]
fn a_root_that_grew_is_read_as_far_as_it_is_known() {
    let (code, message) = refused("GROWN");
    // Its `query` was asked, which has nothing to say.
    assert_eq!((code, message.as_str()), (Code::PLUGIN_CONTRACT, "a plugin does not describe itself"));
}
