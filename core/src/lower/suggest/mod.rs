//! What a user can paste after a conversion that failed: the begin of a lowering, a module in the place of another, the
//! `dynamic_shapes` to export with.
//!
//! All of it is made of what a file says, and is meant to be run. So names that are no identifiers and texts with
//! quotes in them are left out, and the whole suggestion with them where it would mean nothing else.

mod shapes;
mod stub;

pub(super) use shapes::dynamic;
pub(super) use stub::lowerings;

use crate::diagnose::{Origin, Subject, Suggestion};
use crate::sym::is_name;

/// A module that does the same as the one that `origin` lies in, to be changed; nothing for the root.
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
