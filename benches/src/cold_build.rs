//! `build`: the cost of a build from nothing, and the most expensive packages.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::measure;
use crate::ours::{cargo, root};
use crate::statistics::table;

/// The options of `build`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The packages to build; the whole workspace if none is named
    packages: Vec<String>,
    /// How many packages are listed
    #[arg(long, default_value_t = 25, value_name = "N")]
    top: usize,
    /// Also write the measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A unit of cargo's report.
#[derive(Debug, Deserialize)]
struct Unit {
    name: String,
    version: String,
    start: f64,
    duration: f64,
}

#[derive(Debug, Default, Serialize)]
struct Package {
    name: String,
    /// The wall seconds of all its units: library, build script, its run.
    seconds: f64,
    /// When its last unit ended, in seconds from the start of the build.
    end: f64,
}

#[derive(Debug, Serialize)]
struct Built {
    cpu: f64,
    wall: f64,
    packages: Vec<Package>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> io::Result<()> {
    let folder = tempfile::Builder::new().prefix("cold-build-").tempdir_in(root().join("target"))?;
    let mut cargo = cargo();
    cargo.args(["build", "--release", "--timings", "--target-dir"]).arg(folder.path());
    if arguments.packages.is_empty() {
        cargo.arg("--workspace");
    }
    for package in &arguments.packages {
        cargo.args(["-p", package]);
    }
    let build = measure::run(&mut cargo, false)?;
    if !build.success {
        return Err(io::Error::other("cargo build failed"));
    }
    let html = fs::read_to_string(folder.path().join("cargo-timings/cargo-timing.html"))?;
    let built = Built { cpu: build.cpu, wall: build.wall, packages: packages(units(&html)?) };
    let rows: Vec<Vec<String>> = built.packages.iter().take(arguments.top).map(row).collect();
    println!("{}", table(&["package", "s", "ended at s"], &rows));
    println!("{:.1} s wall, {:.1} s CPU, {} packages", built.wall, built.cpu, built.packages.len());
    crate::save_json(arguments.json.as_deref(), &built)
}

/// The units in cargo's report, which is a page with the data inside.
fn units(html: &str) -> io::Result<Vec<Unit>> {
    let data = html.split_once("const UNIT_DATA = ").map(|(_, data)| data);
    let data = data.ok_or_else(|| io::Error::other("cargo's timings have another form than expected"))?;
    let mut stream = serde_json::Deserializer::from_str(data).into_iter::<Vec<Unit>>();
    stream.next().transpose()?.ok_or_else(|| io::Error::other("cargo's timings are empty"))
}

/// The units by package, the longest first.
fn packages(units: Vec<Unit>) -> Vec<Package> {
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    for unit in units {
        let name = format!("{} {}", unit.name, unit.version);
        let package = packages.entry(name.clone()).or_default();
        package.name = name;
        package.seconds += unit.duration;
        package.end = package.end.max(unit.start + unit.duration);
    }
    let mut packages: Vec<Package> = packages.into_values().collect();
    packages.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    packages
}

fn row(package: &Package) -> Vec<String> {
    vec![package.name.clone(), format!("{:.1}", package.seconds), format!("{:.1}", package.end)]
}
