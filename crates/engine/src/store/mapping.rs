//! Maps segment files into memory, so that vectors and contents are read in place.
#![allow(
    unsafe_code,
    reason = "reading a mapping in place needs a slice over raw memory"
)]

use std::{
    fs::File,
    io, slice,
    sync::atomic::{AtomicU64, Ordering},
};

use memmap2::{MmapOptions, MmapRaw, UncheckedAdvice};
use rustix::param::page_size;

/// Fewer bytes than this are not released: they are not worth a system call.
const LEAST_LET_GO: u64 = 16 * 1024;

/// The pages of a range that are asked for whether they are in the cache.
#[cfg(target_os = "linux")]
const SAMPLED_PAGES: usize = 4;

/// A whole segment file mapped read-only and shared: what is appended to the file appears in the
/// mapping. Only bytes before the published end can be seen through it.
pub struct Mapping {
    memory: MmapRaw,
    /// The offset up to which bytes can be seen.
    published: AtomicU64,
}

impl Mapping {
    /// Maps a file of its full and final size. Nothing is published yet.
    pub fn new(file: &File) -> io::Result<Mapping> {
        let memory = MmapOptions::new().map_raw_read_only(file)?;
        Ok(Mapping {
            memory,
            published: AtomicU64::new(0),
        })
    }

    /// From now on, to read a page reads no others around it. So a folder that is larger than the memory
    /// can be searched: of a few vectors here and there, nothing but their pages is read. Who reads
    /// much in order [asks ahead](Self::ask_ahead). Where the system cannot do this, nothing changes.
    pub fn read_at_random(&self) {
        #[cfg(target_os = "linux")]
        drop(self.memory.advise(memmap2::Advice::Random));
    }

    /// Asks the system to read a range, without waiting for it, unless it seems to be in its cache.
    pub fn ask_ahead(&self, from: u64, to: u64) {
        #[cfg(target_os = "linux")]
        {
            let (offset, length) = self.pages(from, to);
            // A single page is read in one piece anyway.
            if length <= page_size() {
                return;
            }
            // To ask of every page would take a sixth of the time of a scan.
            let step = length.div_ceil(SAMPLED_PAGES).max(page_size());
            let mut some = (offset..offset + length).step_by(step);
            if !some.all(|offset| self.is_cached(offset)) {
                let need = memmap2::Advice::WillNeed;
                drop(self.memory.advise_range(need, offset, length));
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (from, to);
    }

    /// Whether the page that holds this offset is in the cache of the system.
    #[cfg(target_os = "linux")]
    fn is_cached(&self, offset: usize) -> bool {
        let page = page_size();
        let offset = offset / page * page;
        let mut state = 0_u8;
        // SAFETY: the page lies in the mapping, and its state is one byte.
        let asked = unsafe {
            let start = self.memory.as_mut_ptr().add(offset);
            libc::mincore(start.cast(), page, &raw mut state)
        };
        asked == 0 && state & 1 == 1
    }

    /// The offset of the page in which a range begins, and the length from there to the end of the
    /// range, within the mapping.
    #[cfg(target_os = "linux")]
    fn pages(&self, from: u64, to: u64) -> (usize, usize) {
        let page = page_size() as u64;
        let from = from / page * page;
        let length = to.min(self.memory.len() as u64).saturating_sub(from);
        (from as usize, length as usize)
    }

    /// Makes the bytes before `end` visible. The caller promises never to write to them again:
    /// the store publishes a group after its fsync, and appends only behind it.
    pub fn publish(&self, end: u64) {
        assert!(
            end <= self.memory.len() as u64,
            "a segment is published within its mapping"
        );
        self.published.fetch_max(end, Ordering::Release);
    }

    /// The bytes in `offset..offset + length`, or none if they are not all published.
    #[inline]
    pub fn bytes(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let end = offset.checked_add(length)?;
        if end > self.published.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: `publish` keeps the published end within the mapping, so the range lies in one
        // live allocation that is unmapped only when `self` is dropped. The bytes before that end
        // are initialised and never written again: by this process as `publish` demands, by
        // others because of the lock on the data folder.
        Some(unsafe {
            slice::from_raw_parts(self.memory.as_ptr().add(offset as usize), length as usize)
        })
    }

    /// All bytes that are published.
    pub fn published(&self) -> &[u8] {
        let end = self.published.load(Ordering::Acquire);
        self.bytes(0, end).unwrap_or_default()
    }

    /// Reads the range between two offsets into the memory of this process ahead of use. False if
    /// the system cannot do that, or cannot read the file there.
    pub fn read_ahead(&self, from: u64, to: u64) -> bool {
        #[cfg(target_os = "linux")]
        return self.populate(from, to).is_ok();
        #[cfg(not(target_os = "linux"))]
        return to.min(self.memory.len() as u64) <= from;
    }

    /// Whether the bytes in `offset..offset + length` can be read. Touching bytes that cannot be
    /// read would end this process by a signal. Readable bytes are in its memory afterwards. If the
    /// system cannot tell, all of them count as readable.
    pub fn can_read(&self, offset: u64, length: u64) -> bool {
        #[cfg(target_os = "linux")]
        if length > 0
            && let Err(error) = self.populate(offset, offset.saturating_add(length))
        {
            return !matches!(error.raw_os_error(), Some(libc::EFAULT | libc::EHWPOISON));
        }
        offset.saturating_add(length) <= self.memory.len() as u64
    }

    /// Makes the system read the pages of a range, or say that it cannot.
    #[cfg(target_os = "linux")]
    fn populate(&self, from: u64, to: u64) -> io::Result<()> {
        self.ask_ahead(from, to);
        let (offset, length) = self.pages(from, to);
        let populate = memmap2::Advice::PopulateRead;
        self.memory.advise_range(populate, offset, length)
    }

    /// Releases the whole pages between two offsets from the memory of this process, since reading
    /// a page also reads in the pages around it. A later read gets them back from the page cache,
    /// or from the file.
    pub fn evict(&self, from: u64, to: u64) {
        let page = page_size() as u64;
        let from = from.next_multiple_of(page);
        let to = to.min(self.memory.len() as u64) / page * page;
        if to < from.saturating_add(LEAST_LET_GO) {
            return;
        }
        let (offset, length) = (from as usize, (to - from) as usize);
        // SAFETY: the range lies in the mapping, a shared one of a file. A thread that
        // reads it, now or later, finds the bytes of the file, as before.
        let advised = unsafe {
            self.memory
                .unchecked_advise_range(UncheckedAdvice::DontNeed, offset, length)
        };
        // If the system does not release the pages, they stay in memory, which is no error.
        drop(advised);
    }
}

#[cfg(test)]
mod tests {
    use super::{Mapping, page_size};

    #[test]
    fn bytes_can_be_seen_only_before_the_published_end() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let mapping = Mapping::new(&file).unwrap();
        assert_eq!(mapping.bytes(0, 1), None);
        std::os::unix::fs::FileExt::write_all_at(&file, b"point", 100).unwrap();
        mapping.publish(105);
        assert_eq!(mapping.bytes(100, 5), Some(b"point".as_slice()));
        assert_eq!(mapping.bytes(100, 6), None);
        assert_eq!(mapping.bytes(105, 0), Some(b"".as_slice()));
        assert_eq!(mapping.bytes(u64::MAX, 2), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_file_has_lost_cannot_be_read() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 * 4096).unwrap();
        let mapping = Mapping::new(&file).unwrap();
        assert!(mapping.can_read(0, 3 * 4096));
        assert!(mapping.can_read(3 * 4096, 0));
        assert!(!mapping.can_read(2 * 4096, 4097));
        file.set_len(2 * 4096).unwrap();
        assert!(mapping.can_read(4096, 4096));
        assert!(!mapping.can_read(4096, 4097));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_page_read_at_random_comes_alone_and_what_is_asked_for_comes_ahead() {
        const PAGES: usize = 256;
        let file = tempfile::tempfile().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &vec![1; PAGES * page_size()], 0).unwrap();
        file.sync_all().unwrap();
        let mapping = Mapping::new(&file).unwrap();
        mapping.publish((PAGES * page_size()) as u64);
        mapping.read_at_random();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let cached = || {
            let pages = (0..PAGES).filter(|page| mapping.is_cached(page * page_size()));
            pages.count()
        };
        if cached() > 0 {
            // This file system lies in memory.
            return;
        }
        assert_eq!(mapping.published()[9 * 4096], 1);
        assert_eq!(cached(), 1);
        let (from, to) = (100 * page_size() + 7, PAGES * page_size());
        mapping.ask_ahead(from as u64, to as u64);
        for _ in 0..1_000 {
            if cached() > PAGES - 100 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("{} pages were read ahead", cached());
    }

    #[test]
    fn what_is_let_go_reads_as_before() {
        const BYTES: u64 = 1 << 20;
        let file = tempfile::tempfile().unwrap();
        let written: Vec<u8> = (0..BYTES).map(|at| (at / 4096) as u8).collect();
        std::os::unix::fs::FileExt::write_all_at(&file, &written, 0).unwrap();
        let mapping = Mapping::new(&file).unwrap();
        mapping.publish(BYTES);
        let bytes = mapping.bytes(0, BYTES).unwrap();
        assert_eq!(bytes, written);
        mapping.evict(5_000, BYTES - 5_000);
        #[cfg(target_os = "linux")]
        assert_eq!(resident(bytes), 4 * 4096, "two pages at each end");
        assert_eq!(bytes, written);
        mapping.evict(0, 4096);
        mapping.evict(BYTES, u64::MAX);
        mapping.evict(8192, 4096);
        #[cfg(target_os = "linux")]
        assert_eq!(
            resident(bytes) as u64,
            BYTES,
            "there was too little to let go"
        );
    }

    #[cfg(target_os = "linux")]
    fn resident(mapped: &[u8]) -> usize {
        let start = mapped.as_ptr().addr();
        crate::sync::memory::resident(&(start..start + mapped.len()))
    }

    #[test]
    fn the_published_end_never_moves_back() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let mapping = Mapping::new(&file).unwrap();
        mapping.publish(64);
        mapping.publish(32);
        assert!(mapping.bytes(0, 64).is_some());
    }

    #[test]
    #[should_panic(expected = "within its mapping")]
    fn nothing_behind_the_mapping_can_be_published() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        Mapping::new(&file).unwrap().publish(4097);
    }
}
