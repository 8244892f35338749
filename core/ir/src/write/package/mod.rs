//! Several models in one folder that share their data files, such as an encoder and a decoder, or prefill and
//! decode.
//!
//! The layout is decided first, over the weights of all models. The folder has no name until all of it is complete.

mod folder;
mod staging;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::checking::Checking;
use super::names::Names;
use super::plan::{Destination, Extent, Plan, Weight};
use super::publish::{Target, failed};
use super::{
    ExternalData, PlannedFile, WriteOptions, WritePlan, artefacts, encode, fill, fill_model, manifest, note,
    plan, refuse_changed, stream, sync, table, unbound,
};
use crate::diagnose::Report;
use crate::ir::{Artefact, Model};
use crate::onnx::SourceFile;
use crate::table::WeightTable;
pub use folder::NewFolder;
use staging::Staging;
pub use staging::refuse_existing;

/// The name of the data file; several are called `weights-00001-of-00003.data`.
pub const PACKAGE_DATA: &str = "weights.data";

/// The common prefix of [`PACKAGE_DATA`] and the names of several data files.
const STEM: &str = "weights";

/// The result of writing a package.
#[derive(Clone, Debug)]
pub struct PackageReport {
    /// The models, in the order in which they were given, and their sizes in bytes.
    pub models: Vec<(PathBuf, u64)>,
    /// The data files; none when no weight is large enough.
    pub data: Vec<PathBuf>,
    /// Their size in bytes, all together.
    pub data_bytes: u64,
    /// The bytes that data files of their own would take, equal tensors of one model stored once.
    pub separate_bytes: u64,
    /// The lists of hashes, one per model, if they were asked for.
    pub manifests: Vec<PathBuf>,
    /// The files of backends.
    pub artefacts: Vec<PathBuf>,
    /// The files that were added with [`UnpublishedPackage::add`].
    pub added: Vec<PathBuf>,
}

/// Plans a call of [`package()`] with the same arguments, with the destination of every tensor; tensor names are
/// prefixed with those of the models. Tensors of equal length are read, to compare them; nothing is written.
///
/// # Errors
/// `OP601` if the folder exists, `OP602` if a model does not fit a protobuf message, `OP630` for unbound weights.
pub fn plan_package(
    models: Vec<(String, Model)>,
    folder: &Path,
    options: &WriteOptions,
) -> Result<(WritePlan, WeightTable), Report> {
    staging::refuse_existing(folder)?;
    let names: Vec<Names> = models.iter().map(|(_, model)| Names::for_model(model)).collect();
    let options = shared(options);
    let prepared = Prepared::for_models(&models, &names, folder, &options)?;
    let table = prepared.table(folder);
    Ok((prepared.summary, table))
}

/// Writes `models` by name into the new folder `folder`. Equal tensors are stored once, whichever model
/// and archive they come from; small ones stay in each model. Of `options`, those
/// about where weights go and about models without weights have no meaning here.
///
/// # Errors
/// Those of [`plan_package()`], and `OP601` when a file cannot be written, `OP610` when the disk is too
/// small, `OP611` when the memory is, `OP613` when a source changed meanwhile. Nothing remains then.
pub fn package(
    models: Vec<(String, Model)>,
    folder: &Path,
    options: &WriteOptions,
) -> Result<PackageReport, Report> {
    stage_package(models, folder, options)?.publish()
}

/// As [`package()`], up to the moment at which the folder gets its name.
///
/// # Errors
/// Those of [`package()`].
pub fn stage_package(
    models: Vec<(String, Model)>,
    folder: &Path,
    options: &WriteOptions,
) -> Result<UnpublishedPackage, Report> {
    staging::refuse_existing(folder)?;
    // Leftovers of a killed run also take space.
    staging::sweep(folder);
    let names: Vec<Names> = models.iter().map(|(_, model)| Names::for_model(model)).collect();
    let options = shared(options);
    let prepared = Prepared::for_models(&models, &names, folder, &options)?;
    prepared.summary.check(&options)?;
    let staging = Staging::new(folder).map_err(|e| failed(folder, &e))?;
    let checking = Checking::start(&prepared.weights, &prepared.places, &options);
    let written = prepared.write(staging.path(), &options)?;
    refuse_changed(None, &prepared.weights)?;
    checking.finish()?;
    let report = PackageReport {
        models: prepared.members.iter().map(|m| (m.file.clone().into(), m.bytes)).collect(),
        data: prepared.data.iter().map(PathBuf::from).collect(),
        data_bytes: prepared.places.data_bytes(),
        separate_bytes: prepared.separate_bytes(),
        manifests: written.manifests.iter().map(PathBuf::from).collect(),
        artefacts: written.artefacts.iter().map(PathBuf::from).collect(),
        added: Vec::new(),
    };
    Ok(UnpublishedPackage { staging, folder: folder.to_owned(), report })
}

/// A package that is complete and on disk, and which nobody sees yet. It vanishes unless it is published.
#[derive(Debug)]
pub struct UnpublishedPackage {
    staging: Staging,
    folder: PathBuf,
    /// With paths in the folder.
    report: PackageReport,
}

impl UnpublishedPackage {
    /// Where the models can be read until then, in order.
    pub fn models(&self) -> impl Iterator<Item = PathBuf> {
        self.report.models.iter().map(|(model, _)| self.staging.path().join(model))
    }

    /// The names of the data files.
    pub fn data(&self) -> impl Iterator<Item = &Path> {
        self.report.data.iter().map(PathBuf::as_path)
    }

    /// Adds the new file `name` to the folder.
    ///
    /// # Errors
    /// `OP601` when it cannot be written, or exists.
    pub fn add(&mut self, name: &str, contents: &[u8]) -> Result<(), Report> {
        let path = self.staging.path().join(name);
        save(&path, contents).map_err(|e| failed(&self.folder.join(name), &e))?;
        self.report.added.push(name.into());
        Ok(())
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// `OP601` when something has that name by now. Nothing remains then.
    pub fn publish(self) -> Result<PackageReport, Report> {
        let folder = self.folder.clone();
        self.publish_as(&folder)
    }

    /// Gives the folder the name of [`failed_package`] instead.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub fn publish_failed(self) -> Result<PackageReport, Report> {
        let folder = failed_package(&self.folder);
        self.publish_as(&folder)
    }

    fn publish_as(self, folder: &Path) -> Result<PackageReport, Report> {
        let Self { staging, report, .. } = self;
        staging.publish(folder).map_err(|e| failed(folder, &e))?;
        let place = |paths: Vec<PathBuf>| paths.into_iter().map(|path| folder.join(path)).collect();
        Ok(PackageReport {
            models: report.models.into_iter().map(|(model, bytes)| (folder.join(model), bytes)).collect(),
            data: place(report.data),
            manifests: place(report.manifests),
            artefacts: place(report.artefacts),
            added: place(report.added),
            ..report
        })
    }
}

/// Returns the path at which a package that failed verification is kept: `p.failed` for `p`.
pub fn failed_package(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".failed");
    folder.with_file_name(name)
}

/// The options under which a package is written: all weights are there, and large ones in data files.
fn shared(options: &WriteOptions) -> WriteOptions {
    WriteOptions {
        external_data: ExternalData::External,
        initializers: true,
        initializers_as_inputs: false,
        weightless: false,
        ..options.clone()
    }
}

/// A model of the package.
struct Member<'a> {
    /// The name of its file.
    file: String,
    message: encode::Message<'a>,
    bytes: u64,
    artefacts: &'a [Artefact],
    /// Which data files it points into.
    data: Vec<usize>,
    /// The number of its weights.
    weights: usize,
}

/// A package that is ready to be written.
struct Prepared<'a> {
    /// The names of the data files.
    data: Vec<String>,
    /// The weights of all models.
    weights: Vec<Weight<'a>>,
    places: Plan,
    members: Vec<Member<'a>>,
    summary: WritePlan,
}

/// The names of written files other than models and data files.
#[derive(Default)]
struct Written {
    manifests: Vec<String>,
    artefacts: Vec<String>,
}

impl<'a> Prepared<'a> {
    fn for_models(
        models: &'a [(String, Model)],
        names: &'a [Names],
        folder: &Path,
        options: &'a WriteOptions,
    ) -> Result<Self, Report> {
        let by_model: Vec<Vec<Weight<'a>>> = models
            .iter()
            .zip(names)
            .map(|((_, model), names)| plan::weights(model, names, options))
            .collect();
        let weights: Vec<Weight<'a>> = by_model.iter().flatten().copied().collect();
        unbound::check(&weights, options)?;
        let places = Plan::for_weights(&weights, folder, options)?;
        let target = Target::new(&folder.join(STEM), places.files.len());
        let data = target.data_names()?;
        let mut rest = places.places.as_slice();
        let mut members = Vec::with_capacity(models.len());
        for (((name, model), names), own) in models.iter().zip(names).zip(&by_model) {
            let (here, later) = rest.split_at_checked(own.len()).unwrap_or((rest, &[]));
            rest = later;
            let (own_places, used) = pointing(here, own, &places, &data);
            let encoder = encode::Encoder::new(model, options);
            let message = encoder.model(names, own, &own_places, &[]);
            let bytes = message.len()?;
            let file = format!("{name}.onnx");
            members.push(Member {
                file,
                message,
                bytes,
                artefacts: &model.artefacts,
                data: used,
                weights: own.len(),
            });
        }
        let planned = |path: PathBuf, bytes| PlannedFile { path, bytes, replaces: None };
        let of_models = members.iter().map(|m| planned(folder.join(&m.file), m.bytes));
        let of_data = target.data.iter().zip(&places.files).map(|(path, f)| planned(path.clone(), f.bytes));
        let files = of_models.chain(of_data).collect();
        let parent = staging::parent(folder);
        let mut summary = WritePlan::from_plan(files, parent, &places, stream::needs(&weights), options);
        for member in &members {
            summary.add_beside(member.artefacts, folder);
        }
        Ok(Self { data, weights, places, members, summary })
    }

    /// The bytes that data files of their own would take, each tensor stored once.
    fn separate_bytes(&self) -> u64 {
        let mut places = self.places.places.iter();
        let mut of_member = |member: &Member<'_>| {
            let own = places.by_ref().take(member.weights);
            let extents: BTreeSet<Extent> = own.filter_map(Destination::in_data).collect();
            extents.into_iter().map(|extent| extent.len).fold(0, u64::saturating_add)
        };
        self.members.iter().map(&mut of_member).fold(0, u64::saturating_add)
    }

    /// Every tensor of every model, in a package that is to be `folder`.
    fn table(&self, folder: &Path) -> WeightTable {
        let models = self.members.iter().flat_map(|member| {
            let model = member.file.strip_suffix(".onnx").unwrap_or(&member.file);
            std::iter::repeat_n(model, member.weights)
        });
        let rows = models.zip(self.weights.iter().zip(&self.places.places));
        let rows = rows.map(|(model, (weight, place))| (format!("{model}/{}", weight.name), weight, place));
        let data: Vec<PathBuf> = self.data.iter().map(|name| folder.join(name)).collect();
        table::of(rows, &self.places, &data, folder)
    }

    /// Writes everything into `folder`.
    fn write(&self, folder: &Path, options: &WriteOptions) -> Result<Written, Report> {
        let all = self.members.iter().map(|m| m.bytes).fold(self.places.data_bytes(), u64::saturating_add);
        let meter = stream::Meter::new(all, options.progress.clone(), self.summary.stream_memory);
        let mut hashes = Vec::new();
        for (name, file) in self.data.iter().zip(&self.places.files) {
            let path = folder.join(name);
            let hash = File::create_new(&path)
                .and_then(|mut out| fill(&mut out, file, &self.weights, &meter, options.manifest));
            hashes.push(hash.map_err(|e| failed(&path, &e))?);
        }
        let mut written = Written::default();
        for member in &self.members {
            let path = folder.join(&member.file);
            let mut list = options.manifest.then(Vec::new);
            for at in &member.data {
                if let Some((name, hash)) = self.data.get(*at).zip(hashes.get(*at)) {
                    note(&mut list, Path::new(name), hash.clone());
                }
            }
            let beside = artefacts::write(member.artefacts, &Target::new(&path, 0))?;
            for (artefact, path) in member.artefacts.iter().zip(&beside.paths) {
                note(&mut list, path, Some(artefact.sha256.clone()));
                // Two models may have one compiled part.
                if !written.artefacts.contains(&artefact.file) {
                    written.artefacts.push(artefact.file.clone());
                }
            }
            beside.keep();
            let hash = File::create_new(&path)
                .and_then(|mut out| fill_model(&mut out, &member.message, &meter, options.manifest));
            note(&mut list, &path, hash.map_err(|e| failed(&path, &e))?);
            if let Some(list) = list {
                let path = manifest::path_of(&path);
                save(&path, &list).map_err(|e| failed(&path, &e))?;
                written.manifests.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        Ok(written)
    }
}

fn save(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text)?;
    sync::file(&file)
}

/// Returns the plan of one model, which points into the shared data files, and the indices of those that it uses.
/// `here` are the positions of its weights in these files.
fn pointing(here: &[Destination], weights: &[Weight<'_>], all: &Plan, data: &[String]) -> (Plan, Vec<usize>) {
    let mut used: Vec<usize> = Vec::new();
    let mut own = Plan::default();
    for (place, weight) in here.iter().zip(weights) {
        own.places.push(match place {
            Destination::Data(extent) => {
                let number = used.iter().position(|at| *at == extent.file).unwrap_or_else(|| {
                    used.push(extent.file);
                    used.len() - 1
                });
                Destination::Pointed(Extent { file: number, ..*extent })
            }
            Destination::Inline => {
                own.inline_bytes += weight.data.byte_len().unwrap_or(0);
                Destination::Inline
            }
            other => *other,
        });
    }
    let source = |at: &usize| {
        let (location, file) = data.get(*at).zip(all.files.get(*at))?;
        Some(SourceFile { location: location.clone(), bytes: file.bytes })
    };
    own.pointed = used.iter().filter_map(source).collect();
    (own, used)
}
