//! Parses PyTorch's records of the origin of a call: module paths and Python stacks.

use super::Frame;

/// Stacks deeper than this are cut at their outer end.
const MAX_FRAMES: usize = 64;

/// The path below the root module, with dots: `L['self'].layers[0].fc@1` is `layers.0.fc`.
pub fn module_path(path: &str) -> String {
    let path = ["L['self']", "L__self__"].iter().find_map(|root| path.strip_prefix(root)).unwrap_or(path);
    let plain = path.replace("._modules[", "[").replace("['", ".").replace("']", "");
    let plain = plain.replace('[', ".").replace(']', "");
    let parts: Vec<&str> = plain
        .split('.')
        // Repeated calls of one module are numbered, `fc@1`.
        .map(|part| part.split_once('@').map_or(part, |(name, _)| name))
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(".")
}

/// The frames of a Python stack trace, outermost first.
pub fn frames(trace: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for line in trace.lines() {
        let text = line.trim();
        if let Some(frame) = frame(text) {
            frames.push(frame);
        } else if let Some(last) = frames.last_mut()
            && last.code.is_empty()
            && !text.trim_matches(['^', '~']).is_empty()
        {
            text.clone_into(&mut last.code);
        }
    }
    let extra = frames.len().saturating_sub(MAX_FRAMES);
    frames.drain(..extra);
    frames
}

/// `File "model.py", line 7, in forward`.
fn frame(text: &str) -> Option<Frame> {
    let (file, rest) = text.strip_prefix("File \"")?.split_once("\", line ")?;
    let (line, function) = rest.split_once(", in ").unwrap_or((rest, ""));
    Some(Frame {
        file: file.to_owned(),
        line: line.trim().parse().ok()?,
        function: function.to_owned(),
        code: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_paths_lose_their_root() {
        for (path, plain) in [
            ("", ""),
            ("L['self']", ""),
            ("L['self'].layers[0].fc", "layers.0.fc"),
            ("L__self__.layers.0", "layers.0"),
            ("L['self'].blocks._modules['3'].attn", "blocks.3.attn"),
            ("blocks.1.attn@2.q", "blocks.1.attn.q"),
        ] {
            assert_eq!(module_path(path), plain, "{path}");
        }
    }

    #[test]
    fn stack_traces_give_frames_with_code() {
        let trace = "  File \"m.py\", line 7, in forward\n    z = f(x)\n        ^^^^\n  File \"n.py\", line 9, in f\n";
        let frames = frames(trace);
        assert_eq!(frames.len(), 2);
        assert_eq!((frames[0].line, frames[0].code.as_str()), (7, "z = f(x)"));
        assert_eq!((frames[1].function.as_str(), frames[1].code.as_str()), ("f", ""));
    }
}
