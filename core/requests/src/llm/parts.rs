//! Several models that share their weights: an encoder-decoder with the names of optimum or of onnxruntime-genai, or a
//! model of images and text. Models that make a vector or scores of a text are one such model.

use std::fmt::Write;

use onnxport_core::capture::{Captured, Decoder, Part};
use onnxport_core::diagnose::{Code, Report};
use onnxport_core::ir::Model;
use onnxport_core::lower::{DimName, LowerOptions, Names};
use onnxport_core::optimise::OptimiseOptions;
use onnxport_core::trace::stage;
use onnxport_core::verify::Verification;
use onnxport_core::write::{self, PackageReport, WriteOptions};
use onnxport_core::{Conversion, ConvertOptions, Host, PrecisionOptions, WeightSet};

use super::{Exported, LlmRequest, LlmTarget, bind, card, files, genai};
use crate::progress::Progress;

impl LlmRequest {
    /// Converts programs into one folder.
    pub(super) fn convert_parts(
        &self,
        host: &Host,
        captured: Captured,
        weights: &WeightSet,
        progress: &mut dyn Progress,
    ) -> Result<Exported, Report> {
        let Captured { decoder, parts, settings, files: further, .. } = captured;
        let context = self.context(&decoder)?;
        let config = match self.target {
            LlmTarget::Genai if !settings.is_empty() => {
                let context = genai::check(&decoder, context)?;
                Some(genai::config_of_parts(&settings, &decoder, context, self.provider))
            }
            _ => None,
        };
        let mut report = Report::default();
        let mut models = Vec::with_capacity(parts.len());
        for part in &parts {
            progress.go_on()?;
            progress.stage(&format!("converting {}", part.name));
            models.push((part.name.clone(), self.convert_part(host, part, &decoder, weights, &mut report)?));
        }
        let nodes = models.iter().map(|(_, model)| model.graph.node_count()).sum();
        let initializers = models.iter().map(|(_, model)| model.graph.initializers.len()).sum();
        let writing = stage("write");
        let options = WriteOptions { progress: progress.bytes("writing"), ..WriteOptions::default() };
        let mut staged = write::stage_package(models, &self.output, &options)?;
        drop(writing);
        let mut verification: Option<Verification> = None;
        let paths: Vec<_> = staged.models().collect();
        for (path, part) in paths.iter().zip(&parts).filter(|_| !self.no_verify) {
            let found =
                self.execute(host, path, &part.program, &decoder, progress, &mut report.diagnostics)?;
            let Some(mut found) = found else { break };
            for case in &mut found.cases {
                case.name = format!("{}/{}", part.name, case.name);
            }
            match &mut verification {
                Some(all) => {
                    all.cases.extend(found.cases);
                    all.seconds += found.seconds;
                }
                None => verification = Some(found),
            }
        }
        for (name, contents) in files::read(&self.checkpoint)? {
            staged.add(name, &contents)?;
        }
        for (name, contents) in &further {
            // A value always serializes.
            let text = serde_json::to_string_pretty(contents).unwrap_or_default() + "\n";
            staged.add(name, text.as_bytes())?;
        }
        if let Some(config) = &config {
            staged.add(genai::FILE, config.as_bytes())?;
        }
        let text = self.card_of_parts(&decoder, &parts, config.is_some(), verification.as_ref());
        staged.add(card::FILE, text.as_bytes())?;
        progress.go_on()?;
        let PackageReport { models, data, data_bytes, added, .. } = staged.publish()?;
        let model_bytes = models.iter().map(|(_, bytes)| bytes).sum();
        let files = models.into_iter().map(|(path, _)| path).chain(data).chain(added).collect();
        Ok(Exported {
            decoder,
            context,
            files,
            model_bytes,
            data_bytes,
            initializers,
            nodes,
            verification,
            report,
        })
    }

    fn convert_part(
        &self,
        host: &Host,
        part: &Part,
        decoder: &Decoder,
        weights: &WeightSet,
        report: &mut Report,
    ) -> Result<Model, Report> {
        let mut conversion = Conversion::open(&part.program)?;
        bind(&mut conversion, weights, decoder, true)?;
        let dims = part.dims.iter().map(|dim| DimName {
            input: dim.input.clone(),
            axis: dim.axis,
            name: dim.name.clone(),
        });
        let options = self.options(LowerOptions {
            input_names: Names::InOrder(part.inputs.clone()),
            output_names: Names::InOrder(part.outputs.clone()),
            dims: dims.collect(),
            ..LowerOptions::default()
        })?;
        let options = ConvertOptions {
            // A weight that several models take is shared only if it is the same in all.
            separate: true,
            optimise: OptimiseOptions { separate: true, ..options.optimise },
            precision: PrecisionOptions { several: true, ..options.precision },
            ..options
        };
        let converted = conversion.options(options).unverified().run(host)?.converted;
        for mut found in converted.diagnostics {
            // Another model takes the weights that this one does not.
            if found.code == Code::WEIGHTS_EXTRA {
                continue;
            }
            found.origin =
                found.origin.map(|id| report.origins.push(converted.model.origins.get(id).clone()));
            found.notes.push(format!("in `{}`", part.name));
            report.diagnostics.push(found);
        }
        Ok(converted.model)
    }

    /// Returns the card of the folder.
    fn card_of_parts(
        &self,
        decoder: &Decoder,
        parts: &[Part],
        is_served: bool,
        verification: Option<&Verification>,
    ) -> String {
        let mut text = format!("# {} as ONNX\n\n| | |\n|---|---|\n", decoder.architecture);
        let has_caches = !decoder.layers.is_empty();
        let target = match self.target {
            LlmTarget::Genai if !is_served => LlmTarget::Onnxruntime,
            other => other,
        };
        let rows = [
            ("written by", format!("onnxport {}, {}", env!("CARGO_PKG_VERSION"), decoder.python)),
            ("target", target.name().to_owned()),
            ("element type", decoder.dtype.clone()),
            ("quantization", self.quantizing.text().unwrap_or_else(|| "none".to_owned())),
            ("vocabulary", decoder.vocabulary.to_string()),
        ];
        // Writing to a String cannot fail.
        for (name, value) in rows {
            let _ = writeln!(text, "| {name} | {value} |");
        }
        if let Some(tokens) = decoder.limit.filter(|_| !has_caches) {
            let _ = writeln!(text, "| context | {tokens} tokens |");
        }
        let is_of_optimum = parts.iter().any(|part| part.name == "encoder_model");
        text.push_str(if has_caches && is_of_optimum {
            "\nThe models have the names of optimum and share their weights:\n\n"
        } else if has_caches {
            "\nThe models have the names of onnxruntime-genai and share their weights:\n\n"
        } else {
            "\nBatch and sequence are dynamic, with padding on either side:\n\n"
        });
        for part in parts {
            let outputs = part.outputs.iter().filter(|_| !has_caches).map(String::as_str);
            let outputs: Vec<_> = outputs.collect();
            let gives =
                if outputs.is_empty() { String::new() } else { format!(" to {}", outputs.join(", ")) };
            let _ = writeln!(text, "- `{}.onnx`: {}{gives}", part.name, part.inputs.join(", "));
        }
        if is_served {
            let _ = writeln!(text, "\n`{}` describes them for onnxruntime-genai.", genai::FILE);
        }
        if let Some(pooling) = pooling(decoder) {
            let _ = writeln!(text, "\n`sentence_embedding` is {pooling}.");
        }
        text.push_str("\n## Checks\n\n");
        match verification {
            Some(found) => {
                // Without the location of its library.
                let executor = found.executor.split(", ").next().unwrap_or_default();
                let cases: Vec<&str> = found.cases.iter().map(|case| case.name.as_str()).collect();
                let _ = writeln!(text, "- {executor} ran the models ({}).", cases.join(", "));
                let _ = match &decoder.uncompared {
                    _ if found.measured => {
                        writeln!(text, "- Values differ from those of PyTorch, since weights were changed.")
                    }
                    _ if found.values_compared => {
                        writeln!(text, "- Values are those of PyTorch, within the tolerance of f32.")
                    }
                    Some(reason) => writeln!(text, "- Values were not compared with PyTorch: {reason}."),
                    None => writeln!(text, "- Values were not compared with PyTorch."),
                };
            }
            None => text.push_str("- The models were not run.\n"),
        }
        text
    }
}

/// Describes the pooling of an embedding model.
fn pooling(decoder: &Decoder) -> Option<String> {
    let kinds: Vec<String> = decoder.pooling.iter().map(|kind| format!("`{kind}`")).collect();
    let dense = match decoder.dense {
        0 => String::new(),
        1 => ", and a dense layer".to_owned(),
        several => format!(", and {several} dense layers"),
    };
    let normalized = if decoder.normalized { ", normalized" } else { "" };
    (!kinds.is_empty()).then(|| {
        format!("the pooling {} of the states of all tokens{dense}{normalized}", kinds.join(" and "))
    })
}
