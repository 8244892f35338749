//! The kinds of plugins that a project can be begun with.

macro_rules! files {
    ($kind:literal: $($path:literal),* $(,)?) => {
        &[
            // Under other names: cargo packs no folder with a manifest into a crate.
            (".gitignore", include_str!("../template/gitignore")),
            ("Cargo.toml", include_str!("../template/manifest.toml")),
            $(($path, include_str!(concat!("../template/", $kind, "/", $path)))),*
        ]
    };
}

/// The kind of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It lowers operators.
    Lowerings,
    /// It rewrites parts of models.
    Rules,
    /// It takes parts of models for hardware.
    Backend,
    /// It makes or changes weights.
    Weights,
    /// It runs models.
    Executor,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Lowerings, Self::Rules, Self::Backend, Self::Weights, Self::Executor];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lowerings => "lowerings",
            Self::Rules => "rules",
            Self::Backend => "backend",
            Self::Weights => "weights",
            Self::Executor => "executor",
        }
    }

    /// The subject of the tests of such a project.
    pub fn tested(self) -> &'static str {
        match self {
            Self::Lowerings => "the lowerings, in the host",
            Self::Rules => "the conditions, without onnxport",
            Self::Backend => "the program format, without onnxport",
            Self::Weights => "the transform, without onnxport",
            Self::Executor => "what needs no runtime",
        }
    }

    /// The files of its template: paths and texts.
    pub(super) fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Lowerings => {
                files!["lowerings": "README.md", "export.py", "schemas.txt", "src/lib.rs", "src/tests.rs"]
            }
            Self::Rules => files!["rules": "README.md", "src/lib.rs", "src/tests.rs"],
            Self::Backend => files!["backend": "README.md", "src/lib.rs", "src/tests.rs"],
            Self::Weights => files!["weights": "README.md", "src/lib.rs", "src/tests.rs"],
            Self::Executor => files!["executor": "README.md", "src/lib.rs", "src/tests.rs"],
        }
    }
}
