//! Suggestions that a user can paste after a failed conversion: the skeleton of a lowering, a replacement for a module,
//! the `dynamic_shapes` for the export.
//!
//! All of it is derived from the contents of a file, and is meant to be run. So names that are not identifiers and
//! texts with quotes in them are left out, and the whole suggestion too if it would mean something else without them.

mod shapes;
mod stub;

pub(super) use shapes::dynamic;
pub(super) use stub::lowerings;

use crate::diagnose::{Origin, Subject, Suggestion};
use crate::sym::is_name;

/// Returns a module equivalent to the one that `origin` is in, as a starting point; `None` for the root.
pub(super) fn module(origin: &Origin) -> Option<Suggestion> {
    let path = origin.module.as_str();
    let class = origin.class.rsplit('.').next().filter(|class| is_name(class))?;
    // `set_submodule` takes indices of lists as names.
    let is_path = path.split('.').all(|part| is_name(part) || part.parse::<u32>().is_ok());
    if !is_path {
        return None;
    }
    let title = format!("a module to replace `{path}` ({class}) before the export");
    let text = format!(
        "import torch\n\n\n\
         class Own{class}(torch.nn.Module):\n    \
             def __init__(self, old):\n        \
                 super().__init__()\n        \
                 self.old = old\n\n    \
             def forward(self, *args, **kwargs):\n        \
                 # Compute here what `{class}.forward` computes, by other operators.\n        \
                 return self.old(*args, **kwargs)\n\n\n\
         model.set_submodule(\"{path}\", Own{class}(model.get_submodule(\"{path}\")))"
    );
    Some(Suggestion::new(Subject::Module, title, text))
}
