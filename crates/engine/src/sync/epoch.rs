//! Epoch-based reclamation (Fraser, 2004, "Practical lock-freedom", UCAM-CL-TR-579): it tells when
//! no reader is left that may still use something that was removed.
//!
//! A reader pins the present epoch while it looks for slots and uses the slots that it found. A
//! thread that wants to use a slot again first removes it from where readers find it, then begins
//! the next epoch, and waits until no pin from before is left.

use crate::sync::{
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        fence,
    },
    thread_number, yield_now,
};

/// The present epoch, and the pins of the readers.
#[derive(Debug)]
pub struct Epochs {
    /// The number of the present epoch, from 1.
    now: Padded,
    /// Places for pins: each holds the epoch that a reader pins, or 0 if it is free.
    places: Box<[Padded]>,
}

/// A number on a cache line of its own, so that readers do not disturb each other. Two lines,
/// because processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Padded(AtomicU64);

impl Epochs {
    /// Epochs for `readers` pins at one time. Further readers have to wait.
    #[must_use]
    pub fn new(readers: usize) -> Self {
        Epochs {
            now: Padded(AtomicU64::new(1)),
            places: (0..readers.max(1))
                .map(|_| Padded(AtomicU64::new(0)))
                .collect(),
        }
    }

    /// Pins the present epoch until the pin is dropped. A thread that holds a pin must not take
    /// another: if all places are taken, it would wait for itself.
    ///
    /// Why this is sound: the pin is stored before the fence, and everything that the reader reads
    /// afterwards is read after the fence. [`Epochs::has_passed`] has its fence between the removal
    /// and its look at the pins. One of the two fences comes first. If it is the reader's, the
    /// other thread sees the pin. If it is the other thread's, the reader finds nothing that was
    /// removed before. An epoch that is out of date when it is stored only makes others wait
    /// longer.
    pub fn pin(&self) -> Pin<'_> {
        let first = thread_number();
        loop {
            for step in 0..self.places.len() {
                let place = &self.places[(first + step) % self.places.len()].0;
                let now = self.now.0.load(Relaxed);
                if place.load(Relaxed) == 0
                    && place.compare_exchange(0, now, Relaxed, Relaxed).is_ok()
                {
                    fence(SeqCst);
                    return Pin { place };
                }
            }
            yield_now();
        }
    }

    /// Begins the next epoch and returns it. No reader uses anything that was removed before this
    /// call once that epoch [has passed](Epochs::has_passed).
    pub fn advance(&self) -> u64 {
        self.now.0.fetch_add(1, SeqCst) + 1
    }

    /// Whether no pin from before `epoch` is left. If so, all that the holders of such pins read
    /// and wrote has happened before.
    #[must_use]
    pub fn has_passed(&self, epoch: u64) -> bool {
        fence(SeqCst);
        self.places.iter().all(|place| {
            // Paired with the `Release` of the dropped pin: its holder's last read comes before
            // what follows here.
            let pinned = place.0.load(Acquire);
            pinned == 0 || pinned >= epoch
        })
    }
}

/// Keeps every later epoch from passing, until it is dropped: see [`Epochs::pin`].
#[derive(Debug)]
#[must_use]
pub struct Pin<'e> {
    place: &'e AtomicU64,
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        self.place.store(0, Release);
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_has_passed_once_every_pin_from_before_it_is_gone() {
        let epochs = Epochs::new(4);
        let before = epochs.pin();
        let epoch = epochs.advance();
        let after = epochs.pin();
        assert!(!epochs.has_passed(epoch));
        drop(before);
        assert!(epochs.has_passed(epoch), "a later pin holds nothing back");
        let next = epochs.advance();
        assert!(!epochs.has_passed(next));
        drop(after);
        assert!(epochs.has_passed(next));
    }

    #[test]
    fn more_readers_than_places_wait_for_each_other() {
        let epochs = Epochs::new(2);
        let reads = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        let _pin = epochs.pin();
                        reads.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        assert_eq!(reads.into_inner(), 8_000);
        assert!(epochs.has_passed(epochs.advance()));
    }

    #[test]
    fn what_is_taken_away_is_not_reused_under_a_reader() {
        // A value is taken away by an empty hand-over, and reused by changing it to the next.
        let epochs = Epochs::new(8);
        let values: Vec<_> = (0..2).map(|_| AtomicU64::new(0)).collect();
        let shown = AtomicU64::new(0);
        let rounds = 2_000;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    loop {
                        let _pin = epochs.pin();
                        let at = shown.load(Acquire);
                        let value = &values[at as usize % 2];
                        let first = value.load(Relaxed);
                        yield_now();
                        assert_eq!(value.load(Relaxed), first, "changed under a pin");
                        if at == rounds {
                            return;
                        }
                    }
                });
            }
            for round in 1..=rounds {
                let spare = &values[round as usize % 2];
                spare.store(round, Relaxed);
                shown.store(round, Release);
                let epoch = epochs.advance();
                while !epochs.has_passed(epoch) {
                    yield_now();
                }
            }
        });
    }
}
