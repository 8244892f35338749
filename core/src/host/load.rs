//! Loads a shared library and finds its root. Errors are one sentence each.

use std::io::Read;
use std::path::Path;

use onnxport_abi::abi_stable::library::{
    AbiHeader, LibHeader, LibraryError, RawLibrary, lib_header_from_raw_library,
};
use onnxport_abi::{CRoot, CRootError, PluginRoot, PluginRootRef};

use super::{Site, cross, elf};
use crate::diagnose::{Code, Diagnostic};
use crate::files;

/// The length to which a loader's message is shown.
const WORDS: usize = 200;

/// Loads the library at `path`, which stays loaded for the rest of the process. Returns the plugin's root,
/// and its name until it states its own.
pub fn load(path: &Path) -> Result<(PluginRoot, &'static str), Diagnostic> {
    let fail = |code: Code, what: String| Diagnostic::error(code, format!("{} {what}", path.display()));
    // A relative name would be looked for in the system's folders.
    let full =
        path.canonicalize().map_err(|error| fail(Code::PLUGIN_FILE, format!("cannot be read: {error}")))?;
    if !looks_like_library(&full)
        .map_err(|error| fail(Code::PLUGIN_FILE, format!("cannot be read: {error}")))?
    {
        return Err(fail(Code::PLUGIN_FILE, "is not a shared library".to_owned()));
    }
    let (stated, found) =
        lengths(&full).map_err(|error| fail(Code::PLUGIN_FILE, format!("cannot be read: {error}")))?;
    if stated > found {
        let what = format!("is cut short: it has {found} bytes, its headers state {stated}");
        return Err(fail(Code::PLUGIN_FILE, what).help("copy it again"));
    }
    // Not `RootModule::load_*`: those keep one library per type and return it for every path.
    // The library's constructors run now. It stays loaded as long as the process, and so may its name.
    let name: &'static str = String::leak(path.display().to_string());
    let site = Site { plugin: name, task: "loading", subject: "" };
    let root = cross(site, || root(&full));
    root.map(|root| (root, name)).map_err(|error| match error {
        Unusable::C(problem) => fail(code_of(problem), problem.to_string())
            .help("`docs/c-plugins.md` describes the symbols that a plugin in C exports"),
        Unusable::Library(error) => fail_of_library(error, &full, &fail),
    })
}

/// The reason why a library has no usable root.
enum Unusable {
    Library(LibraryError),
    C(CRootError),
}

/// Returns the root of the library at `full`: that of `abi_stable`, whose layout is checked, or else the one in C.
/// The library stays loaded, root or not: its constructors may have started threads.
fn root(full: &Path) -> Result<PluginRoot, Unusable> {
    let library: &'static RawLibrary =
        Box::leak(Box::new(RawLibrary::load_at(full).map_err(Unusable::Library)?));
    // SAFETY: the name is reserved by abi_stable, so the symbol is one of its headers, which states its version.
    let header = unsafe { lib_header_from_raw_library(library) };
    let none = match header.and_then(LibHeader::init_root_module::<PluginRootRef>) {
        Ok(root) => return Ok(root.get()),
        Err(none @ LibraryError::GetSymbolError { .. }) => none,
        Err(error) => return Err(Unusable::Library(error)),
    };
    // SAFETY: a symbol's address is valid as an address, whatever it points to; `CRoot::read` checks that.
    match unsafe { library.get::<*const CRoot>(CRoot::SYMBOL.as_bytes()) } {
        // SAFETY: it is the address of the symbol, and the library stays loaded.
        Ok(symbol) => unsafe { CRoot::read(*symbol) }.map_err(Unusable::C),
        Err(_) => Err(Unusable::Library(none)),
    }
}

fn code_of(problem: CRootError) -> Code {
    match problem {
        CRootError::Version(_) | CRootError::Short(_) => Code::PLUGIN_VERSION,
        CRootError::Misplaced | CRootError::Magic => Code::PLUGIN_FILE,
        CRootError::Null(_) => Code::PLUGIN_CONTRACT,
    }
}

fn fail_of_library(
    error: LibraryError,
    full: &Path,
    fail: &dyn Fn(Code, String) -> Diagnostic,
) -> Diagnostic {
    match error {
        LibraryError::OpenError { err, .. } => {
            fail(Code::PLUGIN_FILE, format!("cannot be loaded: {}", short(&err.to_string(), full)))
        }
        LibraryError::GetSymbolError { .. } => {
            fail(Code::PLUGIN_FILE, "is a shared library, but not an onnxport plugin".to_owned()).help(
                "a plugin crate exports its root when it is built as a cdylib with its feature `cdylib`; a \
                 plugin in C exports `onnxport_root`",
            )
        }
        LibraryError::InvalidAbiHeader(found) => {
            let AbiHeader { abi_major, abi_minor, .. } = AbiHeader::VALUE;
            let what = format!(
                "is built with abi_stable {}.{}, this host with {abi_major}.{abi_minor}",
                found.abi_major, found.abi_minor
            );
            fail(Code::PLUGIN_VERSION, what)
        }
        LibraryError::IncompatibleVersionNumber { expected_version, actual_version, .. } => {
            let what = format!("has a plugin root {actual_version}, this host knows {expected_version}");
            fail(Code::PLUGIN_VERSION, what)
        }
        // The text is tens of kilobytes of types.
        LibraryError::AbiInstability(_) | LibraryError::InvalidCAbi { .. } => {
            fail(Code::PLUGIN_VERSION, "has a root of another layout than this host's".to_owned())
                .help("build the plugin with the plugin SDK of this onnxport's major version")
        }
        LibraryError::RootModule { .. } => {
            fail(Code::PLUGIN_PANIC, "failed while its root was made".to_owned())
        }
        other => fail(Code::PLUGIN_FILE, format!("cannot be loaded: {}", short(&other.to_string(), full))),
    }
}

/// Adds which library a problem is about.
pub(super) fn of_library(problem: Diagnostic, path: &Path) -> Diagnostic {
    problem.note(format!("in {}", path.display()))
}

/// Whether the file begins like an ELF, Mach-O or PE file.
fn looks_like_library(path: &Path) -> std::io::Result<bool> {
    let mut head = Vec::new();
    files::open(path)?.take(4).read_to_end(&mut head)?;
    let mach: [[u8; 4]; 3] = [[0xcf, 0xfa, 0xed, 0xfe], [0xce, 0xfa, 0xed, 0xfe], [0xca, 0xfe, 0xba, 0xbe]];
    Ok(head == *b"\x7fELF" || head.starts_with(b"MZ") || mach.iter().any(|magic| head == magic))
}

/// Returns the required length of the file by its headers, if they state it, and its actual length.
fn lengths(path: &Path) -> std::io::Result<(u64, u64)> {
    // Program headers are at the start; the offsets of later parts are checked without reading them.
    let mut head = Vec::new();
    let file = files::open(path)?;
    let len = file.metadata()?.len();
    file.take(64 << 10).read_to_end(&mut head)?;
    Ok((elf::stated_len(&head).unwrap_or(0), len))
}

/// The first line of a loader's words without the path, which the message has already.
fn short(text: &str, path: &Path) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given");
    line.replace(&format!("{}: ", path.display()), "").chars().take(WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::load;
    use crate::diagnose::Code;

    #[test]
    fn what_is_no_library_is_said_shortly() {
        let folder = tempfile::tempdir().expect("a folder");
        let problem = load(&folder.path().join("missing.so")).err().expect("there is no file");
        assert_eq!(problem.code, Code::PLUGIN_FILE);
        let text = folder.path().join("text.so");
        std::fs::write(&text, "not a library").expect("a file");
        let problem = load(&text).err().expect("it is text");
        assert!(problem.message.ends_with("text.so is not a shared library"), "{}", problem.message);
        let broken = folder.path().join("broken.so");
        std::fs::write(&broken, b"\x7fELF and no more").expect("a file");
        let problem = load(&broken).err().expect("it is cut");
        assert!(problem.message.contains("broken.so cannot be loaded: "), "{}", problem.message);
        assert!(problem.message.len() < 400, "{}", problem.message);
        let problem = load(folder.path()).err().expect("it is a folder");
        assert_eq!(problem.code, Code::PLUGIN_FILE);
    }
}
