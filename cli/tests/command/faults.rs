//! Plugins that break the contract. The program survives, or ends with a message and a code of its
//! own; either way it says who it was.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use crate::library::build;
use crate::program::{command, json, mlp, repository};

fn wild() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build("tests/rust/faults/wild", "wild", "dev"))
}

/// The library in a mode, which is in its name.
fn in_mode(library: &Path, folder: &Path, mode: &str) -> PathBuf {
    let copy = folder.join(format!("libwild.{mode}.so"));
    std::fs::copy(library, &copy).expect("a copy");
    copy
}

/// Converts a program with three calls of `aten.relu.default`.
fn convert(folder: &Path, libraries: &[PathBuf], more: &[&str]) -> Output {
    let mut command = command(folder, &["convert"]);
    command.arg(mlp());
    command.args(["-o", "model.onnx", "--no-verify"]).args(more);
    for library in libraries {
        command.arg("--plugin").arg(library);
    }
    for variable in ["XDG_DATA_HOME", "HOME"] {
        command.env(variable, folder);
    }
    command.env_remove("ONNXPORT_PLUGIN_PATH").output().expect("the binary starts")
}

/// Runs `plugin info` or `plugin check`.
fn plugin(does: &str, library: &Path) -> Output {
    command(repository(), &["plugin", does]).arg(library).output().expect("the binary starts")
}

/// Returns the exit code and standard error of a conversion with the plugin in a mode.
fn outcome(mode: &str, more: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let library = in_mode(wild(), folder.path(), mode);
    let output = convert(folder.path(), &[library], more);
    let written = folder.path().join("model.onnx").exists();
    assert_eq!(written, output.status.success(), "{mode}: a model is there exactly after a success");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

fn expect(mode: &str, more: &[&str], exit: i32, words: &[&str]) {
    let (code, said) = outcome(mode, more);
    assert_eq!(code, Some(exit), "{mode}: {said}");
    for word in words {
        assert!(said.contains(word), "{mode}: no `{word}` in: {said}");
    }
}

#[test]
fn a_proper_plugin_works() {
    expect("fine", &[], 0, &[]);
    // A panic in a thread of its own that it handles is its own business.
    expect("thread", &[], 0, &[]);
}

#[test]
fn tables_that_lie_are_refused() {
    let version = "OP804";
    expect("major", &[], 5, &[version, "of contract 2.", "does not fit contract 1."]);
    expect("size", &[], 5, &[version, "plugin `wild`", "it claims", "bytes for fields of"]);
    expect("short", &[], 5, &[version, "plugin `wild`", "it has 2 fields instead of 3"]);
    expect("fields", &[], 5, &[version, "plugin `wild`", "the layout of `schemas` differs"]);
    expect("null_function", &[], 5, &[version, "plugin `wild`", "`lower` is null"]);
    expect("null_text", &[], 5, &[version, "plugin `wild`", "`schemas` is null"]);
    expect("mute", &[], 70, &["OP801", "does not describe itself", "libwild.mute.so"]);
    expect("null", &[], 70, &["OP801", "plugin `wild` provides no interface"]);
    expect("latin1", &[], 70, &["OP801", "plugin `wild`", "not UTF-8"]);
    expect("layout_huge", &[], 5, &[version, "plugin `wild`", "its fingerprints are a length of"]);
    // The size is large enough: only fields that both sides know are read, byte by byte.
    expect("size_huge", &[], 0, &[]);
}

#[test]
fn what_a_plugin_says_it_is_is_checked() {
    let contract = "OP801";
    expect("about_id_empty", &[], 70, &[contract, "has the id ``"]);
    expect("about_id_path", &[], 70, &[contract, "has the id `../../x`"]);
    expect("about_id_nul", &[], 70, &[contract, r"has the id `a\0b`"]);
    expect("about_id_line", &[], 70, &[contract, r"has the id `a\nerror[OP999]: fake`"]);
    expect("about_id_ansi", &[], 70, &[contract, r"has the id `a\u{1b}[31mb`"]);
    expect("about_id_long", &[], 70, &[contract, "states an id that is a length of 104857600"]);
    expect("about_latin1", &[], 70, &[contract, "states an id that is a text that is not UTF-8"]);
    expect("about_version", &[], 70, &[contract, "(`wild`) states the version"]);
    expect("about_description", &[], 70, &[contract, "(`wild`) has a description that is not one line"]);
    expect("about_provides_null", &[], 5, &["OP804", "`provides` is null"]);
    for lie in ["long", "nowhere"] {
        let mode = format!("about_provides_{lie}");
        expect(&mode, &[], 70, &[contract, "(`wild`) lists the interfaces that it provides as a"]);
    }
}

#[test]
fn an_exit_is_not_a_success() {
    let doing = "plugin `wild` called `exit` while lowering `aten.relu.default`";
    for mode in ["exit0", "exit3", "exit_thread"] {
        expect(mode, &[], 70, &["OP812", doing]);
    }
    let words = ["OP812", "called `exit` while answering for `about/1`"];
    expect("exit_about", &[], 70, &words);
    let folder = tempfile::tempdir().expect("a folder");
    let library = in_mode(wild(), folder.path(), "exit_about");
    for command in ["info", "check"] {
        let output = plugin(command, &library);
        assert!(!output.status.success(), "plugin {command}");
    }
}

#[test]
fn bytes_that_are_no_text_go_nowhere() {
    for mode in ["op", "op_long", "domain", "attribute", "string", "strings", "outputs"] {
        expect(&format!("call_{mode}"), &[], 3, &["OP302", "statuses 3."]);
    }
    expect("call_refuse", &[], 3, &["wild:c\u{fffd} x", "b\u{fffd}x", "h\u{fffd}h"]);
    let start = std::time::Instant::now();
    expect("refuse_long", &[], 3, &["xxxxxxxx …"]);
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn lies_to_the_host_are_answered() {
    expect("call_inputs", &[], 3, &["statuses 3 3 3."]);
    expect("call_ids", &[], 3, &["statuses 3 3 3."]);
    expect("call_kinds", &[], 3, &["statuses 3 3 3 3 3 3."]);
    expect("call_constants", &[], 3, &["statuses 3 3 3 3 3 3."]);
    expect("call_types", &[], 3, &["statuses 3 3 3 3."]);
    expect("call_blocks", &[], 3, &["statuses 3 3 3 3."]);
    expect("call_finish", &[], 3, &["statuses 3 3."]);
}

#[test]
fn attaching_can_fail() {
    expect("caught_attach", &[], 70, &["OP802", "plugin `wild` panicked while it was attached"]);
    expect("unknown_status", &[], 5, &["OP804", "plugin `wild`", "refuses this host"]);
    expect("panic_attach", &[], 70, &["OP812", "plugin `wild` aborted while attaching"]);
}

#[test]
fn calls_can_go_wrong() {
    expect(
        "panic",
        &[],
        70,
        &["OP802", "plugin `wild` panicked while lowering `aten.relu.default`: out of cheese"],
    );
    expect("panic", &["--on-plugin-panic", "stop"], 70, &["OP802", "out of cheese"]);
    expect("unfinished", &[], 70, &["OP801", "plugin `wild` did not finish lowering"]);
    expect("stale", &[], 3, &["`aten.relu.default` cannot be lowered: the host answered 3"]);
    expect("foreign_thread", &[], 3, &["cannot be lowered: the host answered 3"]);
    expect(
        "swapped",
        &[],
        70,
        &["the lowering of `aten.relu.default` returned i64, but the program states f32"],
    );
}

#[test]
fn a_crash_says_who_it_was() {
    let doing = "while lowering `aten.relu.default`";
    expect("abort", &[], 70, &["OP812", "plugin `wild` aborted", doing]);
    expect("segfault", &[], 70, &["OP812", "plugin `wild` accessed invalid memory", doing]);
    expect("overflow", &[], 70, &["OP812", "plugin `wild` accessed invalid memory", doing]);
    expect("long_list", &[], 70, &["OP801", "plugin `wild` lists operators with a length of 1099511627776"]);
}

#[test]
fn a_plugin_that_aborts_on_panic_says_who_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = in_mode(&build("tests/rust/faults/wild", "wild", "abort"), folder.path(), "panic");
    let output = convert(folder.path(), &[library], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{said}");
    assert!(said.contains("plugin `wild` aborted while lowering `aten.relu.default`"), "{said}");
}

#[test]
fn an_endless_loop_ends_at_the_time_limit() {
    let limit = ["--plugin-timeout", "0.2"];
    let words = ["OP811", "plugin `wild` did not finish lowering `aten.relu.default` within 0.2 s"];
    expect("loop", &limit, 70, &words);
    expect("loop_attach", &limit, 70, &["OP811", "plugin `wild` did not finish attaching"]);
    expect("fine", &limit, 0, &[]);
}

#[test]
fn a_plugin_keeps_its_globals_while_it_runs() {
    let words = ["OP811", "plugin `wild` did not finish lowering `aten.relu.default` within 0.2 s"];
    expect("loop_globals", &["--plugin-timeout", "0.2"], 70, &words);
    let folder = tempfile::tempdir().expect("a folder");
    let library = in_mode(wild(), folder.path(), "loop_globals");
    let mut command = command(folder.path(), &["convert"]);
    command.arg(mlp()).args(["-o", "model.onnx", "--no-verify", "--plugin"]).arg(library);
    command.stderr(std::process::Stdio::null());
    let mut child = command.spawn().expect("the binary starts");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let signal = std::process::Command::new("kill").arg(child.id().to_string()).status();
    assert!(signal.expect("a signal").success());
    assert_eq!(child.wait().expect("an end").code(), Some(143));
}

#[test]
fn a_backend_that_dies_or_hangs_says_who_it_was_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let scratch = folder.path().join("scratch");
    for (mode, more, words) in [
        ("compile-abort", &[][..], ["OP812", "plugin `wild` aborted while compiling `wild-npu`"]),
        (
            "compile-segfault",
            &[],
            ["OP812", "plugin `wild` accessed invalid memory while compiling `wild-npu`"],
        ),
        ("claim-exit0", &[], ["OP812", "plugin `wild` called `exit` while claiming `wild-npu`"]),
        (
            "compile-loop",
            &["--plugin-timeout", "0.5"],
            ["OP811", "did not finish compiling `wild-npu` within 0.5 s"],
        ),
        ("compile-panic", &[], ["OP802", "the backend `wild-npu` panicked when it compiled the region"]),
    ] {
        let library = in_mode(wild(), folder.path(), mode);
        std::fs::create_dir_all(&scratch).expect("a folder");
        let mut command = command(folder.path(), &["convert"]);
        command.arg(mlp()).args(["-o", "scratch/model.onnx", "--no-verify", "--backend", "wild-npu"]);
        command.args(["--blobs", "file", "--backend-cache", "scratch/cache"]).args(more);
        let output = command.arg("--plugin").arg(&library).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(70), "{mode}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{mode}: {said}");
        let left: Vec<_> = std::fs::read_dir(&scratch).expect("a folder").flatten().collect();
        assert!(left.is_empty(), "{mode}: {left:?}");
    }
}

/// Converts with the backend of the plugin in a mode, into the folder `out` of `folder`.
fn compiled(folder: &Path, mode: &str, more: &[&str]) -> Output {
    let library = in_mode(wild(), folder, mode);
    std::fs::create_dir_all(folder.join("out")).expect("a folder");
    let mut command = command(folder, &["convert"]);
    command.arg(mlp()).args(["-o", "out/model.onnx", "--no-verify", "--backend", "wild-npu"]).args(more);
    command.arg("--plugin").arg(&library).output().expect("the binary starts")
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_backend_that_dies_in_a_process_of_its_own_leaves_its_region() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (mode, more, words) in [
        ("compile-abort", &[][..], "plugin `wild` aborted"),
        ("compile-segfault", &[], "plugin `wild` accessed invalid memory"),
        ("compile-exit0", &[], "called `exit`"),
        ("compile-loop", &["--timeout", "1"], "did not finish compiling the region `wild-npu_0` within 1 s"),
    ] {
        let output = compiled(folder, mode, &[&["--isolate"], more].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{mode}: {said}");
        assert!(said.contains("OP504") && said.contains("the region stays plain ONNX"), "{mode}: {said}");
        assert!(said.contains(words), "{mode}: no `{words}` in {said}");
        assert_eq!(files(&folder.join("out")), ["model.onnx"], "{mode}");
    }
    let output = compiled(folder, "compile-panic", &["--isolate"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{said}");
    assert!(said.contains("OP802") && said.contains("out of cheese"), "{said}");
    // So do the regions of a package.
    let library = in_mode(wild(), folder, "compile-abort");
    let mut command = command(folder, &["package"]);
    command.arg(mlp()).args(["-o", "package", "--no-verify", "--backend", "wild-npu", "--isolate"]);
    let output = command.arg("--plugin").arg(&library).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("OP504") && said.contains("plugin `wild` aborted"), "{said}");
    // Without a fault, nothing depends on the process.
    let models = [&[][..], &["--isolate"]].map(|more| {
        let output = compiled(folder, "fine", more);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(files(&folder.join("out")).len(), 2);
        std::fs::read(folder.join("out/model.onnx")).expect("a model")
    });
    assert_eq!(models[0], models[1]);
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (mode, kilobytes, exit, code, left) in [
        // The blob does not fit where it is kept meanwhile: the region stays.
        ("fine", 1024, 0, "OP504", &["model.onnx"][..]),
        // It fits into memory, but not beside the model, nor into the cache.
        ("small", 512, 5, "OP610", &[]),
    ] {
        let library = in_mode(wild(), folder, mode);
        let (out, scratch) = (folder.join(format!("{mode}-out")), folder.join(format!("{mode}-scratch")));
        std::fs::create_dir_all(&out).expect("a folder");
        std::fs::create_dir_all(&scratch).expect("a folder");
        let inner = command(folder, &["convert"]);
        let mut limited = std::process::Command::new("bash");
        limited.current_dir(folder).env("TMPDIR", &scratch);
        limited.args(["-c", &format!("ulimit -f {kilobytes} && exec \"$@\""), "bash"]);
        limited
            .arg(inner.get_program())
            .args(inner.get_args())
            .arg(mlp())
            .arg("-o")
            .arg(out.join("model.onnx"));
        limited.args(["--no-verify", "--backend", "wild-npu", "--blobs", "file", "--plugin"]).arg(&library);
        limited.arg("--backend-cache").arg(scratch.join("cache"));
        let output = limited.output().expect("bash starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{mode}: {said}");
        assert!(said.contains(code) && said.contains("File too large"), "{mode}: {said}");
        assert_eq!(files(&out), left, "{mode}");
        let kept: Vec<String> = files(&scratch).into_iter().filter(|name| name != "cache").collect();
        assert!(kept.is_empty(), "{mode}: {kept:?}");
        if scratch.join("cache").exists() {
            assert!(files(&scratch.join("cache")).is_empty(), "{mode}: {:?}", files(&scratch.join("cache")));
        }
    }
}

#[test]
fn blobs_of_another_driver_or_damaged_ones_are_refused_at_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let output = compiled(folder, "fine", &["--blobs", "file"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let load = |mode: &str| {
        let library = in_mode(wild(), folder, mode);
        let mut command = command(folder, &["run", "out/model.onnx", "--random", "--executor", "reference"]);
        let output = command.arg("--plugin").arg(&library).output().expect("the binary starts");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(!load("fine").contains("OP509"), "it fits: {}", load("fine"));
    let said = load("driver8");
    assert!(said.contains("OP509") && said.contains("were compiled for `SDK 3.1, driver 7`"), "{said}");
    assert!(said.contains("here it is `SDK 3.1, driver 8`"), "{said}");
    let names = files(&folder.join("out"));
    let is_blob = |name: &&String| Path::new(name.as_str()).extension().is_some_and(|end| end == "bin");
    let blob = names.iter().find(is_blob).expect("a blob");
    let blob = folder.join("out").join(blob);
    let bytes = std::fs::read(&blob).expect("bytes");
    let mut other = bytes.clone();
    other[0] ^= 1;
    std::fs::write(&blob, &other).expect("it is written");
    assert!(load("fine").contains("has other contents"), "{}", load("fine"));
    std::fs::write(&blob, &bytes[1..]).expect("it is written");
    assert!(load("fine").contains("bytes instead of"), "{}", load("fine"));
    std::fs::remove_file(&blob).expect("it is removed");
    assert!(load("fine").contains("cannot be read"), "{}", load("fine"));
}

#[test]
fn another_machines_library_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = in_mode(wild(), folder.path(), "fine");
    let mut bytes = std::fs::read(&library).expect("the library");
    // `e_machine` of the ELF header: 8 is MIPS.
    bytes[18..20].copy_from_slice(&8_u16.to_le_bytes());
    std::fs::write(&library, bytes).expect("a file");
    let output = convert(folder.path(), &[library], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("OP803") && said.contains("libwild.fine.so cannot be loaded"), "{said}");
}

#[test]
fn a_root_of_another_layout_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = convert(folder.path(), &[build("tests/rust/faults/layout", "layout", "dev")], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("OP804") && said.contains("has a root of another layout"), "{said}");
}

#[test]
fn two_versions_of_one_plugin_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let libraries = ["fine", "thread"].map(|mode| in_mode(wild(), folder.path(), mode));
    let output = convert(folder.path(), &libraries, &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("OP806") && said.contains("libwild.fine.so") && said.contains("libwild.thread.so"));
}

#[test]
fn a_hundred_plugins_work_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let libraries: Vec<PathBuf> =
        (0..100).map(|n| in_mode(wild(), folder.path(), &format!("many{n}"))).collect();
    let output = convert(folder.path(), &libraries, &["--use", "aten.relu.default=many42"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let output = convert(folder.path(), &libraries, &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("`aten.relu.default` is provided by both `many"), "{said}");
}

#[test]
fn only_listed_libraries_are_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = in_mode(wild(), folder.path(), "fine");
    let info =
        json(&command(folder.path(), &["plugin", "info", "--json"]).arg(&library).output().expect("a start"));
    let hash = info["sha256"].as_str().expect("a hash");
    let list = folder.path().join("allow.toml");
    for (text, exit, word) in [
        (format!("wild = \"{hash}\"\n"), 0, ""),
        (format!("other = \"{hash}\"\n"), 5, "is allowed as plugin `other`, but it is `wild`"),
        ("wild = \"00\"\n".to_owned(), 5, "does not list it"),
    ] {
        std::fs::write(&list, text).expect("a file");
        let output =
            convert(folder.path(), std::slice::from_ref(&library), &["--plugin-allow", "allow.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{said}");
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn a_library_that_is_cut_short_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = in_mode(wild(), folder.path(), "cut");
    let whole = std::fs::metadata(&library).expect("the library").len();
    for len in [whole / 2, whole - 1, 4096, 100] {
        let file = std::fs::File::options().write(true).open(in_mode(wild(), folder.path(), "cut"));
        file.and_then(|file| file.set_len(len)).expect("a shorter file");
        let output = convert(folder.path(), std::slice::from_ref(&library), &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{len}: {said}");
        assert!(said.contains("OP803") && said.contains("libwild.cut.so"), "{len}: {said}");
        assert_eq!(plugin("info", &library).status.code(), Some(5), "{len}");
        let checked = plugin("check", &library);
        let said = String::from_utf8_lossy(&checked.stdout);
        assert!(said.contains("fail[OP803]"), "{len}: {said}");
    }
}

#[test]
fn one_refusal_is_one_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = in_mode(wild(), folder.path(), "fine");
    std::fs::write(folder.path().join("allow.toml"), "wild = \"00\"\n").expect("a file");
    let more =
        ["--plugin-allow", "allow.toml", "--use", "aten.relu.default=wild", "--plugin-option", "wild.a=b"];
    let output = convert(folder.path(), &[library], &more);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert_eq!(said.matches("error[").count(), 1, "{said}");
}

#[test]
fn a_folder_says_what_it_holds_back() {
    let folder = tempfile::tempdir().expect("a folder");
    in_mode(wild(), folder.path(), "fine");
    let output = convert(folder.path(), &[folder.path().to_owned()], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("no manifest and are not loaded: libwild.fine.so"), "{said}");
}

#[test]
fn what_a_plugin_says_does_not_reach_the_terminal_raw() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = in_mode(wild(), folder.path(), "refuse_ansi");
    let output = convert(folder.path(), &[library], &["--color", "always"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for raw in ["\u{1b}[31m", "\u{1b}]0", "\u{7}", "\u{202e}", "\r", "\nX"] {
        assert!(!said.contains(raw), "{raw:?}: {said:?}");
    }
    assert!(said.contains(r"evil \u{1b}[31mred\u{1b}]0;t\u{7} \u{202e}abc"), "{said:?}");
}
