//! Typed ids and the arenas that they index.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU32;

/// The index of a `T` in an [`Arena<T>`].
///
/// An id is only meaningful with the arena that made it. `Option<Id<T>>` takes no more room than the id.
pub struct Id<T> {
    /// The index with all bits turned round.
    inverse: NonZeroU32,
    marker: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// Makes the id of the element at `index`. No arena has one at the largest number, nor at the one before,
    /// which stands for both.
    pub const fn new(index: u32) -> Self {
        let inverse = match NonZeroU32::new(!index) {
            Some(inverse) => inverse,
            None => NonZeroU32::MIN,
        };
        Self { inverse, marker: PhantomData }
    }

    /// The position of the element in its arena.
    pub const fn index(self) -> usize {
        self.raw() as usize
    }

    /// The same position as a 32-bit number, for the binary contract.
    pub const fn raw(self) -> u32 {
        !self.inverse.get()
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.inverse == other.inverse
    }
}
impl<T> Eq for Id<T> {}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.raw().cmp(&other.raw())
    }
}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw().hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.raw())
    }
}

/// A growing table whose elements are named by [`Id`] and are never moved or removed.
#[derive(Clone, Debug)]
pub struct Arena<T> {
    items: Vec<T>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<T> Arena<T> {
    /// Adds `item` and returns its id.
    pub fn push(&mut self, item: T) -> Id<T> {
        let id = Id::new(self.items.len() as u32);
        self.items.push(item);
        id
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The element, or `None` for an id of another arena. It is not called `get`, so that the lint
    /// against indexing knows `arena[id]`, by a handle that the arena gave out, from `slice[number]`.
    pub fn find(&self, id: Id<T>) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The id at `raw`, if it names an element; for ids that come back over the binary contract.
    pub fn check(&self, raw: u32) -> Option<Id<T>> {
        ((raw as usize) < self.items.len()).then(|| Id::new(raw))
    }

    /// Ids and elements in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (Id<T>, &T)> {
        self.items.iter().enumerate().map(|(i, t)| (Id::new(i as u32), t))
    }

    /// Every id, in order.
    pub fn ids(&self) -> impl Iterator<Item = Id<T>> + use<T> {
        (0..self.items.len() as u32).map(Id::new)
    }
}

impl<T> std::ops::Index<Id<T>> for Arena<T> {
    type Output = T;
    #[expect(clippy::indexing_slicing, reason = "an arena gave out the id, and nothing is removed")]
    fn index(&self, id: Id<T>) -> &T {
        &self.items[id.index()]
    }
}

impl<T> std::ops::IndexMut<Id<T>> for Arena<T> {
    #[expect(clippy::indexing_slicing, reason = "an arena gave out the id, and nothing is removed")]
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.items[id.index()]
    }
}
