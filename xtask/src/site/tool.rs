//! mdBook: that of `PATH`, or one in `target/tools`, installed on the first run.

use std::path::PathBuf;
use std::process::Command;

use crate::target;

/// The version that is installed. Later ones of its series are taken from `PATH` as well.
const VERSION: &str = "0.5.4";
const SERIES: &str = "mdbook v0.5.";

/// The path of mdBook.
pub(crate) fn mdbook() -> Result<PathBuf, String> {
    let own = target().join("tools/bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    if let Some(found) = [PathBuf::from("mdbook"), own.clone()].into_iter().find(fits) {
        return Ok(found);
    }
    println!("installing mdbook {VERSION} into {}", target().join("tools").display());
    let mut install = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    install.args(["install", "mdbook", "--version", VERSION, "--locked", "--quiet", "--force"]);
    install.args(["--no-default-features", "--features", "search", "--root"]).arg(target().join("tools"));
    match install.status() {
        Ok(status) if status.success() => Ok(own),
        Ok(status) => Err(format!("cargo install mdbook: {status}")),
        Err(error) => Err(format!("cargo install mdbook: {error}")),
    }
}

fn fits(program: &PathBuf) -> bool {
    let said = Command::new(program).arg("--version").output();
    said.is_ok_and(|said| said.stdout.starts_with(SERIES.as_bytes()))
}
