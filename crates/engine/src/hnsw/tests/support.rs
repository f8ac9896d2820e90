//! Checks for tests that a graph is sound.

use crate::hnsw::{Graph, levels::draw_level};

impl Graph {
    /// The highest layer that the point in `slot` gets when it is inserted.
    pub fn level_of(&self, slot: u32) -> u8 {
        draw_level(slot, self.params.m)
    }

    /// Checks a graph that no thread changes meanwhile.
    ///
    /// # Panics
    /// Panics unless every link leads to a point of its layer, and tree links lead in both
    /// directions and to all points.
    pub fn assert_sound(&self) {
        let standing = |slot: u32| {
            let level =
                ((slot as usize) < self.links.capacity()).then(|| self.links.staying_level(slot));
            level.flatten()
        };
        let points: Vec<u32> = (0..self.slots())
            .filter(|&slot| standing(slot).is_some())
            .collect();
        for &slot in &points {
            for layer in 0..=standing(slot).unwrap_or(0) {
                for linked in self.links.of(slot, layer) {
                    let level = standing(linked);
                    assert!(
                        level >= Some(layer),
                        "{slot} links to {linked}, {level:?}, in {layer}"
                    );
                }
            }
            for linked in self.links.tree_neighbors(slot) {
                let is_mutual = self.links.tree_neighbors(linked).any(|back| back == slot);
                assert!(is_mutual, "{linked} does not keep {slot}");
            }
        }
        let mut reached: Vec<u32> = points.first().copied().into_iter().collect();
        let mut next = 0;
        while let Some(&slot) = reached.get(next) {
            for linked in self.links.tree_neighbors(slot) {
                if !reached.contains(&linked) {
                    reached.push(linked);
                }
            }
            next += 1;
        }
        assert_eq!(reached.len(), points.len(), "the tree leaves points out");
    }
}
