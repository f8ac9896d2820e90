//! Works on many items on all cores.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

/// Calls `work` with each item, on as many threads as there are cores, and returns the results in
/// the order of the items. A panic in one of them is passed on.
pub fn map<T: Sync, R: Send + Sync>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let done: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some((item, done)) = {
            let index = next.fetch_add(1, Relaxed);
            items.get(index).zip(done.get(index))
        } {
            done.get_or_init(|| work(item));
        }
    };
    thread::scope(|scope| {
        for _ in 1..cores.min(items.len()) {
            scope.spawn(run);
        }
        run();
    });
    let taken = done.into_iter().map(OnceLock::into_inner);
    taken
        .map(|result| result.expect("every item was worked on"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1_000).collect();
        let doubled = map(&items, |item| item * 2);
        assert!(
            doubled
                .iter()
                .enumerate()
                .all(|(index, &result)| result == index * 2)
        );
        assert!(map(&[], |item: &usize| *item).is_empty());
    }

    #[test]
    #[should_panic(expected = "panicked")]
    fn a_panic_is_passed_on() {
        map(&[0; 100], |_| panic!("the work panicked"));
    }
}
