//! Where a call comes from.

use crate::lent::Lent;
use onnxport_abi::RStr;
use onnxport_abi::lowering::OriginView;

use crate::abi::status;
use crate::{Lower, Res};

/// Where the call that is being lowered comes from. Texts are empty, and the line is 0, where the program
/// does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The exported node, `conv2d_3`.
    pub node: String,
    /// The path of the module, `layer1.0.conv1`; empty for the root.
    pub module: String,
    /// The class of the module, `torch.nn.modules.conv.Conv2d`.
    pub class: String,
    /// The file of the user's code.
    pub file: String,
    /// The function in it.
    pub function: String,
    /// The text of the line.
    pub code: String,
    /// The line, from 1.
    pub line: u32,
}

impl Lower<'_> {
    /// The module and the line of the user's code that the call comes from.
    ///
    /// # Errors
    /// When the host does not know the call.
    pub fn origin(&self) -> Res<Origin> {
        let empty = RStr::from_str("");
        let mut view = OriginView {
            node: empty,
            module: empty,
            class: empty,
            file: empty,
            function: empty,
            code: empty,
            line: 0,
        };
        if (self.host().origin)(self.cx(), &mut view) != status::OK {
            return Err("the host does not know the origin of the call".into());
        }
        let text = |text: RStr<'_>| text.lent().to_owned();
        Ok(Origin {
            node: text(view.node),
            module: text(view.module),
            class: text(view.class),
            file: text(view.file),
            function: text(view.function),
            code: text(view.code),
            line: view.line,
        })
    }
}
