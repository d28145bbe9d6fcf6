//! Where an entry stands, by its id: a table of hashes, because the ids themselves are in the index
//! already.
//!
//! A table of 100,000 ids would chase as many pointers each time it grows. The hash is seeded for
//! each session, so no file can make its ids collide on purpose; two that do anyway are told apart
//! by the ids themselves.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use super::index::Position;

/// Positions by id. The ids are asked for where they are kept.
#[derive(Debug, Default)]
pub(super) struct Ids<S = RandomState> {
    seed: S,
    first: HashMap<u64, Position, BuildHasherDefault<AsIs>>,
    /// Ids whose hash another one has.
    others: HashMap<Box<str>, Position>,
}

impl<S: BuildHasher> Ids<S> {
    /// The position of an id; `is_it` tells whether the entry there has it.
    pub(super) fn position(&self, id: &str, is_it: impl Fn(Position) -> bool) -> Option<Position> {
        let position = *self.first.get(&self.seed.hash_one(id))?;
        if is_it(position) { Some(position) } else { self.others.get(id).copied() }
    }

    /// Notes an id that is not there yet.
    pub(super) fn add(&mut self, id: &str, position: Position) {
        match self.first.entry(self.seed.hash_one(id)) {
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(position);
            }
            std::collections::hash_map::Entry::Occupied(_) => {
                self.others.insert(id.into(), position);
            }
        }
    }
}

/// Takes a hash as it is.
#[derive(Debug, Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything has the same hash.
    #[derive(Default)]
    struct Same;

    impl BuildHasher for Same {
        type Hasher = AsIs;

        fn build_hasher(&self) -> AsIs {
            AsIs(0)
        }

        fn hash_one<T: std::hash::Hash>(&self, _: T) -> u64 {
            7
        }
    }

    #[test]
    fn ids_with_the_same_hash_are_told_apart() {
        let known = ["a", "b", "c"];
        let mut ids: Ids<Same> = Ids::default();
        for (position, id) in (0..).zip(known) {
            ids.add(id, position);
        }
        let of = |id: &str| ids.position(id, |at| known.get(at as usize) == Some(&id));
        assert_eq!(known.map(of), [Some(0), Some(1), Some(2)]);
        assert_eq!(of("d"), None);
    }
}
