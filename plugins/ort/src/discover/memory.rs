//! A cache of interpreters' answers in the user's cache folder.
//!
//! An answer counts for the interpreter that gave it, as long as that is the same file, the variables that it depends
//! on are the same, and nothing was installed where it looked. A file that cannot be read, or is no such file, holds
//! nothing; one that cannot be written is not.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// The form of the file, in its name: another one is another file.
const NAME: &str = "pythons-1.json";

/// How many answers are kept, the latest first.
const KEPT: usize = 16;

/// A file of answers is not longer than this.
const MAX_BYTES: u64 = 1 << 20;

/// The file.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    path: PathBuf,
}

/// Which file it is, and when it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    seconds: u64,
    nanoseconds: u32,
    device: u64,
    inode: u64,
}

/// Who is asked, and under which circumstances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key {
    python: PathBuf,
    stamp: Stamp,
    circumstances: Vec<String>,
}

/// A file or folder that an answer depends on, as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Watched {
    path: PathBuf,
    stamp: Option<Stamp>,
}

/// The answer of an interpreter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// The library of its package, if it has it.
    pub library: Option<PathBuf>,
    /// The dependencies of the answer.
    pub watched: Vec<Watched>,
}

impl Stamp {
    fn for_file(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let (device, inode) = identity(&metadata);
        Some(Self { seconds: modified.as_secs(), nanoseconds: modified.subsec_nanos(), device, inode })
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;

    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> (u64, u64) {
    (0, metadata.len())
}

impl Key {
    /// `None` where it could not be stored, or there is no such file.
    pub(super) fn new(python: &Path, circumstances: impl Iterator<Item = OsString>) -> Option<Self> {
        let circumstances = circumstances.map(|text| text.into_string().ok()).collect::<Option<_>>()?;
        Some(Self { python: python.to_owned(), stamp: Stamp::for_file(python)?, circumstances })
    }
}

impl Watched {
    /// As it is now.
    pub(super) fn now(path: PathBuf) -> Self {
        let stamp = Stamp::for_file(&path);
        Self { path, stamp }
    }

    fn is_same(&self) -> bool {
        Stamp::for_file(&self.path) == self.stamp
    }
}

impl Answer {
    fn holds(&self) -> bool {
        self.library.as_ref().is_none_or(|library| library.is_file())
            && self.watched.iter().all(Watched::is_same)
    }
}

impl Memory {
    /// That of the user, by the rules of the XDG base directories; `None` where there is no place for it.
    pub(super) fn of_user() -> Option<Self> {
        let chosen = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = match chosen {
            Some(folder) => folder,
            None if cfg!(windows) => onnxport_ir::library::stated("LOCALAPPDATA")?,
            None => env::home_dir().filter(|home| home.is_absolute())?.join(".cache"),
        };
        Some(Self { path: folder.join("onnxport").join(NAME) })
    }

    /// The cached answer for `key`, if it is still valid.
    pub(super) fn recall(&self, key: &Key) -> Option<Answer> {
        let known = self.read().into_iter().find(|(known, _)| known == key);
        known.map(|(_, answer)| answer).filter(Answer::holds)
    }

    /// Keeps an answer, and forgets the oldest ones. That it cannot be kept is not an error.
    pub(super) fn keep(&self, key: Key, answer: Answer) {
        let mut answers = self.read();
        answers.retain(|(known, _)| known.python != key.python || known.circumstances != key.circumstances);
        answers.insert(0, (key, answer));
        answers.truncate(KEPT);
        let _ = self.write(&answers);
    }

    fn read(&self) -> Vec<(Key, Answer)> {
        // To open a pipe waits for somebody who writes.
        if !fs::metadata(&self.path).is_ok_and(|metadata| metadata.is_file()) {
            return Vec::new();
        }
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
        read.ok().and_then(|_| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn write(&self, answers: &[(Key, Answer)]) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new().prefix(".pythons-").tempfile_in(folder)?;
        file.write_all(&serde_json::to_vec(answers)?)?;
        file.persist(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct TestFolder {
        folder: tempfile::TempDir,
        memory: Memory,
    }

    impl TestFolder {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["python3", "lib.so"] {
                fs::write(folder.path().join(name), name).unwrap();
            }
            fs::create_dir(folder.path().join("packages")).unwrap();
            let memory = Memory { path: folder.path().join("cache").join("onnxport").join(NAME) };
            Self { folder, memory }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn key(&self, circumstance: &str) -> Key {
            Key::new(&self.at("python3"), [circumstance.into()].into_iter()).unwrap()
        }

        fn answer(&self, library: Option<&str>) -> Answer {
            let watched = ["packages", "missing"].map(|name| Watched::now(self.at(name))).to_vec();
            Answer { library: library.map(|name| self.at(name)), watched }
        }
    }

    #[test]
    fn an_answer_is_kept_under_its_circumstances() {
        let place = TestFolder::new();
        let (key, other) = (place.key("a"), place.key("b"));
        assert_eq!(place.memory.recall(&key), None);
        place.memory.keep(key.clone(), place.answer(Some("lib.so")));
        place.memory.keep(other.clone(), place.answer(None));
        assert_eq!(place.memory.recall(&key), Some(place.answer(Some("lib.so"))));
        assert_eq!(place.memory.recall(&other), Some(place.answer(None)));
        assert_eq!(place.memory.recall(&place.key("c")), None);
        for n in 0..KEPT {
            place.memory.keep(place.key(&n.to_string()), place.answer(None));
        }
        assert_eq!((place.memory.recall(&key), place.memory.read().len()), (None, KEPT));
        let beside = fs::read_dir(place.at("cache/onnxport")).unwrap().count();
        assert_eq!(beside, 1, "nothing else is left in the folder");
    }

    #[test]
    fn an_answer_ends_with_what_it_depends_on() {
        let place = TestFolder::new();
        let kept = || {
            place.memory.keep(place.key(""), place.answer(Some("lib.so")));
            assert!(place.memory.recall(&place.key("")).is_some());
        };
        kept();
        fs::remove_file(place.at("lib.so")).unwrap();
        assert_eq!(place.memory.recall(&place.key("")), None, "the library is gone");
        fs::write(place.at("lib.so"), "").unwrap();
        kept();
        fs::write(place.at("missing"), "").unwrap();
        assert_eq!(place.memory.recall(&place.key("")), None, "a file appeared");
        kept();
        fs::create_dir(place.at("packages/onnxruntime")).unwrap();
        assert_eq!(place.memory.recall(&place.key("")), None, "something was installed");
        kept();
        fs::remove_file(place.at("python3")).unwrap();
        fs::write(place.at("new"), "another").unwrap();
        fs::rename(place.at("new"), place.at("python3")).unwrap();
        assert_eq!(place.memory.recall(&place.key("")), None, "it is another interpreter");
    }

    #[test]
    fn a_damaged_file_holds_nothing_and_is_replaced() {
        let place = TestFolder::new();
        let key = place.key("");
        place.memory.keep(key.clone(), place.answer(None));
        let whole = fs::read(&place.memory.path).unwrap();
        for damaged in [&whole[..whole.len() / 2], b"", b"\xff\xfe", b"[]", b"{\"a\": 1}", b"[[1, 2]]"] {
            fs::write(&place.memory.path, damaged).unwrap();
            assert_eq!(place.memory.recall(&key), None);
            place.memory.keep(key.clone(), place.answer(None));
            assert_eq!(fs::read(&place.memory.path).unwrap(), whole);
        }
        fs::remove_file(&place.memory.path).unwrap();
        fs::create_dir(&place.memory.path).unwrap();
        place.memory.keep(key.clone(), place.answer(None));
        assert_eq!(place.memory.recall(&key), None, "a folder in its place is not an error");
    }
}
