//! Which groups are open.

use super::scene::{ItemId, Kind, ROOT, Scene};

/// So many boxes are still seen at once, where nobody says how deep to look.
const SEEN: usize = 60;

/// Which groups of a scene are open.
#[derive(Clone, Debug)]
pub struct Folding {
    open: Vec<bool>,
}

impl Folding {
    /// Opens groups down to `depth`: at 1 the modules of the whole are closed boxes. Without a depth, so deep as the
    /// picture can still be read.
    pub fn depth(scene: &Scene, depth: Option<usize>) -> Self {
        let levels = levels(scene);
        let seen = |depth: usize| {
            let is_seen = |id: &ItemId| {
                let item = &scene.items[*id];
                levels[*id] <= depth && (levels[*id] == depth || !item.is_group())
            };
            scene.within(ROOT).iter().filter(|id| **id != ROOT && is_seen(id)).count()
        };
        let deepest = levels.iter().copied().max().unwrap_or(1);
        let depth = depth.unwrap_or_else(|| {
            let fits = (1..=deepest).take_while(|depth| *depth == 1 || seen(*depth) <= SEEN);
            fits.last().unwrap_or(1)
        });
        let open = scene.items.iter().enumerate().map(|(id, item)| {
            id == ROOT || item.is_group() && (levels[id] < depth || item.kind == Kind::Graph)
        });
        Self { open: open.collect() }
    }

    /// Opens the modules whose paths follow `pattern` as well, and those around them: `*` stands for any part of a name
    /// between dots, `**` for any part of a path. How many there are.
    pub fn open(&mut self, scene: &Scene, pattern: &str) -> usize {
        let mut count = 0;
        for id in scene.within(ROOT) {
            let item = &scene.items[id];
            if !item.path.is_empty() && matches(pattern, &item.path) {
                count += 1;
                self.open[id] = item.is_group();
                for around in scene.around(id) {
                    self.open[around] = true;
                }
            }
        }
        count
    }

    /// How many groups are closed boxes of the picture.
    pub fn closed(&self, scene: &Scene) -> usize {
        let is_seen = |id: ItemId| scene.around(id).all(|around| self.open[around]);
        let groups = scene.within(ROOT).into_iter().filter(|id| scene.items[*id].is_group());
        groups.filter(|id| !self.open[*id] && is_seen(*id)).count()
    }

    pub(super) fn is_open(&self, item: ItemId) -> bool {
        self.open.get(item).copied().unwrap_or(false)
    }
}

/// How many groups are around each item, graphs of holders left out.
fn levels(scene: &Scene) -> Vec<usize> {
    let mut levels = vec![0; scene.items.len()];
    for id in scene.within(ROOT).into_iter().skip(1) {
        let above = scene.items[id].above;
        levels[id] = levels[above] + usize::from(scene.items[above].kind != Kind::Graph);
    }
    levels
}

/// Whether a path follows a pattern.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    fn rest(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => path.is_empty(),
            [b'*', b'*', after @ ..] => (0..=path.len()).any(|at| rest(after, &path[at..])),
            [b'*', after @ ..] => {
                let end = path.iter().position(|b| *b == b'.').unwrap_or(path.len());
                (0..=end).any(|at| rest(after, &path[at..]))
            }
            [first, after @ ..] => path.first() == Some(first) && rest(after, &path[1..]),
        }
    }
    rest(pattern.as_bytes(), path.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_are_of_paths() {
        for (pattern, path, is) in [
            ("layers.0.*", "layers.0.attn", true),
            ("layers.0.*", "layers.0.attn.q", false),
            ("layers.0.**", "layers.0.attn.q", true),
            ("layers.*", "layers.0", true),
            ("layers.0", "layers.0", true),
            ("layers.0", "layers.01", false),
            ("*.attn", "layers.0.attn", false),
            ("**.attn", "layers.0.attn", true),
            ("l*s.?", "layers.0", false),
        ] {
            assert_eq!(matches(pattern, path), is, "{pattern} {path}");
        }
    }
}
