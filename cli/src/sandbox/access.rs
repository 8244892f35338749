//! The paths that a confined command needs, derived from its command line and its environment.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use onnxport_core::Search;
use onnxport_core::diagnose::Diagnostic;
use onnxport_ir::{interpreter, library};

use super::refused;
use crate::args::Cli;
use crate::known::{self, Kind, Paths, Reach};

/// Files and folders of the system that libraries, Python and ONNX Runtime read.
const SYSTEM: [&str; 16] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/usr",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
];

/// The permitted paths. Folders include everything beneath them.
#[derive(Debug, Default)]
pub(super) struct Access {
    /// May be read.
    pub(super) read: Vec<PathBuf>,
    /// May be read and executed.
    pub(super) execute: Vec<PathBuf>,
    /// May be read and written.
    pub(super) write: Vec<PathBuf>,
}

impl Access {
    /// Returns the access that the command line `arguments` needs, the name of the program first.
    ///
    /// # Errors
    /// `OP007` if an output's folder is the root or the home folder, which hold everything else.
    pub(super) fn of_command_line(arguments: &[OsString]) -> Result<Self, Diagnostic> {
        let mut access = Self { write: vec!["/dev/null".into()], ..Self::default() };
        access.add_system();
        let cli = Cli::built();
        // The arguments were parsed before.
        let matches =
            cli.clone().try_get_matches_from(arguments).map_err(|error| refused(error.to_string()))?;
        let (mut command, mut matches) = (cli, &matches);
        while let Some((name, below)) = matches.subcommand()
            && let Some(found) = command.find_subcommand(name)
        {
            (command, matches) = (found, below);
        }
        access.add_arguments(command, matches)?;
        Ok(access)
    }

    fn add_system(&mut self) {
        self.execute.extend(SYSTEM.map(PathBuf::from));
        self.execute.extend(library::system_folders());
        self.execute.extend(env::current_exe());
        for python in interpreter::active() {
            self.read.extend(python.packages);
            let real = python.interpreter.canonicalize().ok();
            for prefix in
                [Some(python.interpreter), real].iter().flatten().filter_map(|path| path.ancestors().nth(2))
            {
                self.execute.extend(["bin", "lib", "lib64", "pyvenv.cfg"].map(|name| prefix.join(name)));
            }
        }
        let runtime = library::stated("ORT_DYLIB_PATH");
        self.execute.extend(runtime.as_deref().and_then(Path::parent).map(Path::to_owned));
        let Search { environment, user, .. } = Search::of_environment();
        for plugins in environment.iter().chain(&user) {
            self.add_input(plugins);
        }
    }

    /// Adds the paths among the arguments of `command`.
    fn add_arguments(&mut self, command: &Command, matches: &ArgMatches) -> Result<(), Diagnostic> {
        for arg in command.get_arguments() {
            let Kind::Path(form) = known::kind(arg) else { continue };
            let is_output = matches!(known::reach(arg), Some(Reach::Writes));
            let values = matches.try_get_raw(arg.get_id().as_str()).ok().flatten();
            for value in values.into_iter().flatten().filter_map(|value| path_in(value, form)) {
                if is_output { self.add_output(&value)? } else { self.add_input(&value) }
            }
        }
        Ok(())
    }

    /// Adds an input: a folder; an exported program with the files that share its name; of any other file, the folder,
    /// since a model may keep its weights beside it.
    fn add_input(&mut self, path: &Path) {
        if path.is_dir() {
            self.read.push(path.to_owned());
            return;
        }
        let real = path.canonicalize().ok();
        for path in [Some(path), real.as_deref()].into_iter().flatten() {
            let folder = folder_of(path);
            match path.extension() {
                Some(extension) if extension == "pt2" => self.read.extend(namesakes(path, folder)),
                _ => self.read.push(folder.to_owned()),
            }
        }
    }

    /// Adds the folder of an output, in which the output is written under another name and then renamed.
    fn add_output(&mut self, path: &Path) -> Result<(), Diagnostic> {
        let folder = folder_of(path).ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
        let real =
            folder.canonicalize().map_err(|error| refused(format!("{}: {error}", folder.display())))?;
        let home = env::home_dir().and_then(|home| home.canonicalize().ok());
        if real.parent().is_none() || home.is_some_and(|home| home.starts_with(&real)) {
            let reason = format!("`{}` holds more than the output", real.display());
            return Err(refused(reason).help("write the output into a folder of its own"));
        }
        self.write.push(real);
        Ok(())
    }
}

/// Returns the path in the value of an argument.
fn path_in(value: &OsStr, form: Paths) -> Option<PathBuf> {
    let after = |value: &OsStr| Some(PathBuf::from(value.to_str()?.split_once('=')?.1));
    match form {
        Paths::Whole => Some(value.into()),
        Paths::Behind => after(value).or_else(|| Some(value.into())),
        Paths::Perhaps => Some(PathBuf::from(value)).filter(|path| path.exists()),
    }
}

/// Returns the folder that contains `path`.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}

/// Returns `path` and the files in `folder` whose names start with its own up to the extension.
fn namesakes(path: &Path, folder: &Path) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap_or_default().as_encoded_bytes();
    let shares =
        |name: &OsStr| name.as_encoded_bytes().strip_prefix(stem).is_some_and(|rest| rest.starts_with(b"."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| shares(&entry.file_name())).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn access(words: &[&str]) -> Result<Access, Diagnostic> {
        Access::of_command_line(
            &[&["onnxport"], words].concat().iter().map(OsString::from).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn a_program_is_read_without_its_neighbors() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["m.pt2", "m.expected.safetensors", "mine.txt", "x.onnx"] {
            fs::write(at(name), "").unwrap();
        }
        let [program, model] = ["m.pt2", "x.onnx"].map(|name| at(name).to_str().unwrap().to_owned());
        let read = access(&["check", &program]).unwrap().read;
        assert!(read.contains(&at("m.pt2")) && read.contains(&at("m.expected.safetensors")));
        assert!(!read.contains(&at("mine.txt")) && !read.iter().any(|path| path == folder.path()));
        let read = access(&["inspect", &model]).unwrap().read;
        assert!(read.iter().any(|path| path == folder.path()));
    }

    #[test]
    fn only_folders_of_outputs_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("new/m.onnx");
        let access = access(&["convert", "m.pt2", "-o", output.to_str().unwrap()]).unwrap();
        assert_eq!(access.write, [PathBuf::from("/dev/null"), folder.path().canonicalize().unwrap()]);
    }

    #[test]
    fn an_output_is_not_written_into_a_folder_that_holds_everything() {
        let home = env::home_dir().unwrap().join("m.onnx");
        for output in ["/m.onnx", home.to_str().unwrap()] {
            let refused = access(&["convert", "m.pt2", "-o", output]).unwrap_err();
            assert!(refused.message.contains("holds more than the output"), "{}", refused.message);
        }
    }
}
