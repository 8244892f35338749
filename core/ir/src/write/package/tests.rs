use std::fs::{self, File};
use std::path::Path;

use super::{PACKAGE_DATA, package, plan_package, staging};
use crate::diagnose::Code;
use crate::ir::{Artefact, Model, OpsetImport};
use crate::table::DestinationSummary;
use crate::tensor::{DType, LazyTensor};
use crate::write::{WriteOptions, manifest, plan};

/// A model that returns weights of 4 KiB, each of one byte all over.
fn model(weights: &[(&str, u8)]) -> Model {
    let mut model = Model::default();
    model.opsets.push(OpsetImport { domain: String::new(), version: 20 });
    let main = model.graph.main();
    for (name, byte) in weights {
        let data = LazyTensor::inline(DType::U8, vec![4096], vec![*byte; 4096]);
        let value = model.graph.add_weight(Some((*name).into()), data);
        model.graph.add_output(main, value);
        model.output_names.push(format!("{name}.out"));
    }
    model
}

fn two() -> Vec<(String, Model)> {
    vec![("a".to_owned(), model(&[("x", 1), ("y", 2)])), ("b".to_owned(), model(&[("z", 2), ("w", 3)]))]
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_plan_is_what_is_written() {
    let parent = tempfile::tempdir().unwrap();
    for shard_bytes in [None, Some(4096)] {
        let folder = parent.path().join(format!("{shard_bytes:?}"));
        let options = WriteOptions { shard_bytes, manifest: true, ..WriteOptions::default() };
        let (plan, table) = plan_package(two(), &folder, &options).unwrap();
        assert!(!folder.exists());
        let tied = |name: &str| {
            let row = table.tensors.iter().find(|row| row.name == name).unwrap();
            match &row.place {
                Some(DestinationSummary::Data { tied, .. }) => tied.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((tied("a/y"), tied("b/z")), (None, Some("a/y".to_owned())));
        let report = package(two(), &folder, &options).unwrap();
        for file in &plan.files {
            assert_eq!(fs::metadata(&file.path).unwrap().len(), file.bytes, "{}", file.path.display());
        }
        assert_eq!((plan.tensors.stored, plan.tensors.tied), (3, 1));
        assert_eq!((report.data_bytes, report.separate_bytes), (3 * 4096, 4 * 4096));
        assert_eq!(report.data.len(), if shard_bytes.is_some() { 3 } else { 1 });
        assert_eq!(names(&folder).len(), plan.files.len() + 2);
        for list in &report.manifests {
            assert!(manifest::check(list).unwrap().iter().all(|file| file.problem.is_none()));
        }
    }
    // With a file per tensor each model names those that it needs.
    let list = fs::read_to_string(parent.path().join("Some(4096)/b.onnx.sha256")).unwrap();
    let listed: Vec<&str> = list.lines().filter_map(|line| line.split_once("  ")).map(|(_, n)| n).collect();
    assert_eq!(listed, ["weights-00002-of-00003.data", "weights-00003-of-00003.data", "b.onnx"]);
}

#[test]
fn what_the_machine_cannot_hold_is_refused_before_anything_is_written() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("package");
    let options = WriteOptions { max_memory: Some(1), ..WriteOptions::default() };
    let report = package(two(), &folder, &options).unwrap_err();
    assert_eq!(report.diagnostics[0].code, Code::WRITE_MEMORY);
    let (mut plan, _) = plan_package(two(), &folder, &WriteOptions::default()).unwrap();
    plan.disk_free = Some(plan.disk_needed - 1);
    let report = plan.check(&WriteOptions::default()).unwrap_err();
    assert_eq!(report.diagnostics[0].code, Code::WRITE_SPACE);
    assert!(names(parent.path()).is_empty());
}

#[test]
fn files_of_backends_are_planned_once() {
    let parent = tempfile::tempdir().unwrap();
    let mut models = two();
    let artefact = |file: &str, len: usize| Artefact {
        file: file.to_owned(),
        data: LazyTensor::inline(DType::U8, vec![len as u64], vec![5; len]),
        sha256: String::new(),
    };
    let plain = plan(&models[0].1, &parent.path().join("m.onnx"), &WriteOptions::default()).unwrap();
    models[0].1.artefacts = vec![artefact("x.bin", 5000), artefact("y.bin", 10)];
    models[1].1.artefacts = vec![artefact("x.bin", 5000)];
    // For one model, where one of the files is there already.
    fs::write(parent.path().join("y.bin"), [5; 10]).unwrap();
    let with = plan(&models[0].1, &parent.path().join("m.onnx"), &WriteOptions::default()).unwrap();
    assert_eq!(with.files.len(), plain.files.len() + 1);
    assert!(with.disk_needed >= plain.disk_needed + 5000);
    let folder = parent.path().join("package");
    let (planned, _) = plan_package(models.clone(), &folder, &WriteOptions::default()).unwrap();
    let report = package(models, &folder, &WriteOptions::default()).unwrap();
    let sizes: Vec<(String, u64)> = planned
        .files
        .iter()
        .map(|file| (file.path.file_name().unwrap().to_str().unwrap().to_owned(), file.bytes))
        .collect();
    assert_eq!(sizes[3..], [("x.bin".to_owned(), 5000), ("y.bin".to_owned(), 10)]);
    assert_eq!(names(&folder).len(), sizes.len());
    assert_eq!(report.artefacts.len(), 2);
}

#[cfg(unix)]
#[test]
fn the_next_run_removes_what_a_killed_one_left_and_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    let living = staging::Staging::new(&parent.path().join("living")).unwrap();
    fs::write(living.path().join("weights.data"), "half").unwrap();
    let left = parent.path().join(".onnxport-package-left.tmp");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("weights.data"), "half").unwrap();
    let others = [".onnxport-package-file.tmp", ".onnxport-package-folder", "mine.tmp"];
    File::create(parent.path().join(others[0])).unwrap();
    others[1..].iter().for_each(|name| fs::create_dir(parent.path().join(name)).unwrap());
    std::os::unix::fs::symlink("mine.tmp", parent.path().join(".onnxport-package-link.tmp")).unwrap();
    package(two(), &parent.path().join("package"), &WriteOptions::default()).unwrap();
    assert!(!left.exists());
    assert!(living.path().join("weights.data").exists());
    let mut expected: Vec<&str> = others.to_vec();
    let own = living.path().file_name().unwrap().to_str().unwrap().to_owned();
    expected.extend([own.as_str(), ".onnxport-package-link.tmp", "package"]);
    expected.sort_unstable();
    assert_eq!(names(parent.path()), expected);
    living.publish(&parent.path().join("living")).unwrap();
    assert!(parent.path().join("living").join("weights.data").exists());
    assert!(parent.path().join("package").join(PACKAGE_DATA).exists());
}

#[test]
fn a_folder_that_appeared_meanwhile_stays() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("package");
    let staged = staging::Staging::new(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    assert_eq!(staged.publish(&folder).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(names(parent.path()), ["package"]);
}
