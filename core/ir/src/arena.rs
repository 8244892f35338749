//! Typed ids and the arenas that they index.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU32;

/// The index of a `T` in an [`Arena<T>`].
///
/// An id is only meaningful with the arena that made it. `Option<Id<T>>` takes no more room than the id.
pub struct Id<T> {
    /// The complement of the index.
    inverse: NonZeroU32,
    marker: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// Returns the id of the element at `index`. Arenas have no element at the two largest indices, which share an
    /// id.
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

/// How many elements a page of an [`Arena`] holds, as a power of two.
const PAGE_BITS: u32 = 12;
const PAGE: usize = 1 << PAGE_BITS;

/// A growing table whose elements are named by [`Id`] and are never removed.
///
/// It grows by pages: one long vector would be held twice whenever it is reallocated, and would keep capacity for
/// as many elements again.
#[derive(Clone, Debug)]
pub struct Arena<T> {
    /// All but the last are full; only the first one grows from nothing.
    pages: Vec<Vec<T>>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

/// Returns the page of an element, and its index in the page.
const fn place(index: usize) -> (usize, usize) {
    (index >> PAGE_BITS, index & (PAGE - 1))
}

impl<T> Arena<T> {
    /// Adds `item` and returns its id.
    pub fn push(&mut self, item: T) -> Id<T> {
        let id = Id::new(self.len() as u32);
        match self.pages.last_mut() {
            Some(page) if page.len() < PAGE => page.push(item),
            Some(_) => {
                let mut page = Vec::with_capacity(PAGE);
                page.push(item);
                self.pages.push(page);
            }
            None => self.pages.push(vec![item]),
        }
        id
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.pages.last().map_or(0, |last| (self.pages.len() - 1) * PAGE + last.len())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The element, or `None` for an id of another arena. It is not called `get`, so that the lint
    /// against indexing knows `arena[id]`, by a handle that the arena gave out, from `slice[number]`.
    pub fn find(&self, id: Id<T>) -> Option<&T> {
        let (page, place) = place(id.index());
        self.pages.get(page)?.get(place)
    }

    /// The id at `raw`, if it names an element; for ids that come back over the binary contract.
    pub fn check(&self, raw: u32) -> Option<Id<T>> {
        ((raw as usize) < self.len()).then(|| Id::new(raw))
    }

    /// Ids and elements in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (Id<T>, &T)> {
        self.pages.iter().flatten().enumerate().map(|(i, t)| (Id::new(i as u32), t))
    }

    /// Every id, in order.
    pub fn ids(&self) -> impl Iterator<Item = Id<T>> + use<T> {
        (0..self.len() as u32).map(Id::new)
    }
}

impl<T> std::ops::Index<Id<T>> for Arena<T> {
    type Output = T;
    #[expect(clippy::indexing_slicing, reason = "an arena gave out the id, and nothing is removed")]
    fn index(&self, id: Id<T>) -> &T {
        let (page, place) = place(id.index());
        &self.pages[page][place]
    }
}

impl<T> std::ops::IndexMut<Id<T>> for Arena<T> {
    #[expect(clippy::indexing_slicing, reason = "an arena gave out the id, and nothing is removed")]
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        let (page, place) = place(id.index());
        &mut self.pages[page][place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_ids_across_pages() {
        let mut arena = Arena::default();
        let count = 2 * PAGE + 3;
        let ids: Vec<_> = (0..count).map(|n| arena.push(n)).collect();
        assert_eq!(arena.len(), count);
        assert!(ids.iter().enumerate().all(|(n, id)| arena[*id] == n && id.index() == n));
        assert!(arena.iter().enumerate().all(|(n, (id, found))| id.index() == n && *found == n));
        assert_eq!(arena.ids().count(), count);
        arena[ids[PAGE]] = 7;
        assert_eq!(arena.find(ids[PAGE]), Some(&7));
        assert_eq!(arena.find(Id::new(count as u32)), None);
        assert_eq!(arena.check(count as u32), None);
        assert_eq!(arena.check(PAGE as u32), Some(ids[PAGE]));
    }
}
