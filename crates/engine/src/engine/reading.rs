//! Reads records on the search threads, where no event loop waits for the disk.

use std::sync::{Arc, Mutex};

use vectord_filter::Filter;

use crate::{
    Error, Result,
    engine::{
        budget::{Budget, Reservation},
        workers::{Job, Turn},
        writer::Done,
    },
    hnsw::Scratch,
    index::{Direction, Include, Index, Matches, PointId, Records, View},
    store::ReadAhead,
    sync::lock,
};

/// Points that were asked for by their ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathered {
    /// Those that are there, in the order of the ids.
    pub records: Records,
    /// Whether there is such a point, for each id.
    pub found: Vec<bool>,
}

/// A part of all points, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The points.
    pub records: Records,
    /// The sequence behind which the next page begins; None if this is the last one.
    pub next: Option<u64>,
}

/// A part of all points that is asked for.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The sequence that [`Page::next`] named; None for the first page.
    pub after: Option<u64>,
    /// The greatest number of points, at least 1.
    pub limit: usize,
    /// The order of the points.
    pub direction: Direction,
    /// What the points have to pass.
    pub filter: Option<Arc<Filter>>,
    /// The parts of their records that are wanted.
    pub include: Include,
    /// The page ends before the point with which these parts would take more bytes than this, unless
    /// that is its first.
    pub max_bytes: usize,
}

impl View<'_> {
    /// Reads the points with these ids. `reserve` is called with the bytes that they take, before
    /// they are read.
    ///
    /// # Errors
    /// The points take more than `max_bytes`, `reserve` refuses, or a record is damaged.
    fn gather(
        &self,
        ids: &[PointId],
        include: Include,
        max_bytes: usize,
        reserve: impl FnOnce(usize) -> Result<()>,
    ) -> Result<Gathered> {
        let slots = self.slots_of(ids);
        let found = slots.iter().map(Option::is_some).collect();
        let slots: Vec<u32> = slots.into_iter().flatten().collect();
        let mut ahead = ReadAhead::default();
        let bytes = slots
            .iter()
            .map(|&slot| self.bytes_in_answer(slot, include, &mut ahead));
        let bytes = bytes.sum();
        if bytes > max_bytes {
            return Err(Error::AnswerTooLarge { max_bytes });
        }
        reserve(bytes)?;
        let records = self.records(&slots, include)?;
        Ok(Gathered { records, found })
    }

    /// Reads a page. `reserve` is called with the bytes that it takes, before it is read.
    ///
    /// # Errors
    /// `reserve` refuses, a record is damaged, or `goes_on` has answered no meanwhile.
    fn read_page(
        &self,
        request: &PageRequest,
        reserve: impl FnOnce(usize) -> Result<()>,
        goes_on: impl Fn() -> bool,
    ) -> Result<Page> {
        let PageRequest { limit, include, .. } = *request;
        let limit = limit.max(1);
        let filter = request.filter.as_deref();
        let probe = filter.map(|filter| self.probe(filter, &goes_on));
        let probe = probe.transpose()?;
        let at_once = match probe {
            Some(_) => FILTERED_AT_ONCE,
            None => limit.saturating_add(1),
        };
        let (mut slots, mut bytes, mut last) = (Vec::new(), 0, request.after);
        let mut ahead = ReadAhead::default();
        let mut has_more = false;
        while !has_more {
            if !goes_on() {
                return Err(Error::Abandoned);
            }
            let points = self.page(last, at_once, request.direction);
            for &(sequence, slot) in &points {
                if probe.as_ref().is_none_or(|probe| probe.passes_now(slot)) {
                    let more = self.bytes_in_answer(slot, include, &mut ahead);
                    let is_too_large = !slots.is_empty() && bytes + more > request.max_bytes;
                    has_more = slots.len() == limit || is_too_large;
                    if has_more {
                        break;
                    }
                    slots.push(slot);
                    bytes += more;
                }
                last = Some(sequence);
            }
            if points.len() < at_once {
                break;
            }
        }
        reserve(bytes)?;
        Ok(Page {
            next: last.filter(|_| has_more),
            records: self.records(&slots, include)?,
        })
    }
}

/// The number of points that are asked for their sequences at once, to be filtered.
const FILTERED_AT_ONCE: usize = 1024;

/// The work of a [`Reading`]. It takes views, takes the memory of its answer by the first function,
/// and ends if the second answers no.
type Work<T> = dyn Fn(&Index, &mut dyn FnMut(usize) -> Result<()>, &dyn Fn() -> bool) -> Result<T>
    + Send
    + Sync;

/// Work that reads records, as a [`Job`] of one part.
pub struct Reading<T> {
    index: Arc<Index>,
    budget: Arc<Budget>,
    /// The greatest number of points that are read; None where a filter is asked about all of them.
    points: Option<usize>,
    is_write: bool,
    work: Box<Work<T>>,
    /// The memory that is reserved for the answer.
    memory: Mutex<Vec<Reservation>>,
    answer: Mutex<Option<Result<T>>>,
    done: Mutex<Option<Done<T>>>,
}

impl<T: Send + 'static> Reading<T> {
    fn new(
        index: &Arc<Index>,
        budget: &Arc<Budget>,
        points: Option<usize>,
        done: Done<T>,
        work: Box<Work<T>>,
    ) -> Self {
        Reading {
            index: Arc::clone(index),
            budget: Arc::clone(budget),
            points,
            is_write: false,
            work,
            memory: Mutex::default(),
            answer: Mutex::new(None),
            done: Mutex::new(Some(done)),
        }
    }
}

impl Reading<Gathered> {
    /// Reads the points with these ids, which take at most `max_bytes`.
    pub fn of_ids(
        index: &Arc<Index>,
        budget: &Arc<Budget>,
        ids: Vec<PointId>,
        include: Include,
        max_bytes: usize,
        done: Done<Gathered>,
    ) -> Self {
        let points = Some(ids.len());
        let work: Box<Work<Gathered>> = Box::new(move |index, reserve, _| {
            let view = index.view();
            view.gather(&ids, include, max_bytes, reserve)
        });
        Reading::new(index, budget, points, done, work)
    }
}

impl Reading<Page> {
    /// Reads a page.
    pub fn of_page(
        index: &Arc<Index>,
        budget: &Arc<Budget>,
        request: PageRequest,
        done: Done<Page>,
    ) -> Self {
        let points = match request.filter {
            Some(_) => None,
            None => Some(request.limit),
        };
        let work: Box<Work<Page>> = Box::new(move |index, reserve, goes_on| {
            let view = index.view();
            view.read_page(&request, reserve, goes_on)
        });
        Reading::new(index, budget, points, done, work)
    }
}

impl Reading<u64> {
    /// Counts the points that pass a filter.
    pub fn of_count(
        index: &Arc<Index>,
        budget: &Arc<Budget>,
        filter: Arc<Filter>,
        done: Done<u64>,
    ) -> Self {
        let work: Box<Work<u64>> = Box::new(move |index, _, goes_on| {
            let matching = index.view().matching(&filter, goes_on)?.count();
            Ok(matching as u64)
        });
        Reading::new(index, budget, None, done, work)
    }
}

impl Reading<Matches> {
    /// Finds the points that pass a filter, for a delete.
    pub fn of_matches(
        index: &Arc<Index>,
        budget: &Arc<Budget>,
        filter: Arc<Filter>,
        done: Done<Matches>,
    ) -> Self {
        let work: Box<Work<Matches>> =
            Box::new(move |index, _, goes_on| Matches::find(index, &filter, goes_on));
        Reading {
            is_write: true,
            ..Reading::new(index, budget, None, done, work)
        }
    }
}

impl<T> Reading<T> {
    /// The points that are read at most, among the present ones.
    fn reads(&self) -> usize {
        let live = self.index.live() as usize;
        self.points.map_or(live, |points| points.min(live))
    }
}

impl<T: Send + 'static> Job for Reading<T> {
    fn parts(&self) -> usize {
        1
    }

    fn work_left(&self) -> u64 {
        self.reads() as u64
    }

    fn gives_way(&self) -> bool {
        self.points.is_none()
    }

    fn is_write(&self) -> bool {
        self.is_write
    }

    fn bytes(&self) -> usize {
        match self.points {
            Some(_) => self.reads() * size_of::<PointId>(),
            // A bit for each point in each of some sets.
            None => self.reads() / 2,
        }
    }

    fn run(&self, _part: usize, _scratch: &mut Scratch, turn: &Turn) -> bool {
        let mut reserve = |bytes| {
            let memory = self.budget.reserve(bytes)?;
            lock(&self.memory).push(memory);
            Ok(())
        };
        let goes_on = || turn.goes_on_in_slices();
        let answer = (self.work)(&self.index, &mut reserve, &goes_on);
        *lock(&self.answer) = Some(answer);
        true
    }

    fn finish(&self, outcome: Result<()>) {
        let (done, answer) = (lock(&self.done).take(), lock(&self.answer).take());
        if let Some(done) = done {
            done(outcome.and_then(|()| answer.unwrap_or(Err(Error::Abandoned))));
        }
    }
}
