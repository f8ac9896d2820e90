//! What upkeep removes: segments that compaction has replaced, once nobody may read them, and
//! snapshots on a full disk.

use std::{
    io::Write,
    thread,
    time::{Duration, Instant},
};

use crate::{
    Error, Result,
    engine::{
        stats::Counters,
        tests::writer::Writing,
        upkeep::{GiveBack, Upkeep},
    },
    index::Linker,
    store::tests::{damage::log, id, new_folder},
};

const POINTS: u32 = 1_000;
/// One point in this number stays.
const STAYS: u32 = 10;

/// Without waiting for readers, the engine would have unmapped a segment and removed its file in
/// much less time.
const LONG: Duration = Duration::from_secs(2);

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begun_at = Instant::now();
    while !is_so() {
        assert!(begun_at.elapsed() < Duration::from_mins(1));
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_segment_that_was_replaced_is_unmapped_once_every_reader_from_before_has_gone() -> Result<()> {
    let folder = new_folder();
    let writing = Writing::start(folder.path());
    let (index, writer) = (&writing.index, &writing.writer);
    (0..POINTS).try_for_each(|number| writing.insert(number))?;
    for number in (0..POINTS).filter(|number| number % STAYS != 0) {
        assert!(writing.delete(number).recv().unwrap()?);
    }
    // The slots of the deleted points must be reclaimed first: a reader would delay that, and
    // compaction waits for it.
    let linker = Linker::start(index, 1)?;
    wait_until(|| {
        index.clear(&[1]);
        index.dead() == 0
    });
    let before = index.find(&id(0)).unwrap().location;
    let pin = index.epochs().pin();
    let (segments, snapshots) = writer.run(|store| (store.segments(), store.snapshots()))?;
    let upkeep = Upkeep::start(
        index.clone(),
        writer.clone(),
        snapshots,
        Counters::new(),
        GiveBack::default(),
    )?;

    wait_until(|| index.find(&id(0)).unwrap().location.segment != before.segment);
    let path = log(folder.path(), before.segment);
    let replaced_at = Instant::now();
    while replaced_at.elapsed() < LONG {
        assert!(path.exists(), "it is gone before its reader");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(segments.read(before)?.id, id(0));
    drop(pin);
    wait_until(|| !path.exists());
    assert!(segments.read(before).is_err());

    linker.stop();
    upkeep.stop();
    writer.close()
}

#[test]
fn on_a_full_disk_own_snapshots_are_removed_though_an_older_file_is_none_of_them() -> Result<()> {
    let folder = new_folder();
    let writing = Writing::start(folder.path());
    let (index, writer) = (&writing.index, &writing.writer);
    // Less than the reserves take.
    writing.disk.set_space(Some(48 << 10));
    let foreign = folder.path().join("00000001.snapshot");
    fs_err::write(&foreign, "of another program")?;
    (0..60).try_for_each(|number| writing.insert(number))?;
    for number in 0..30 {
        assert!(writing.delete(number).recv().unwrap()?);
    }
    writing.disk.set_space(None);
    let (own, snapshots) = writer.run(|store| {
        let snapshots = store.snapshots();
        snapshots.write(store.last_sequence(), |out| out.write_all(&[7; 2_000]))?;
        Ok::<_, Error>((snapshots.list()?.remove(0), snapshots))
    })??;
    assert_ne!(own, foreign);
    writing.disk.set_space(Some(0));
    let refused = (60..).find_map(|number| writing.insert(number).err());
    assert!(matches!(refused, Some(Error::StorageFull)), "{refused:?}");
    let refused = (30..60).find_map(|number| writing.delete(number).recv().unwrap().err());
    assert!(matches!(refused, Some(Error::StorageFull)), "{refused:?}");
    let upkeep = Upkeep::start(
        index.clone(),
        writer.clone(),
        snapshots,
        Counters::new(),
        GiveBack::default(),
    )?;

    wait_until(|| !own.exists());
    upkeep.stop();
    assert!(foreign.exists());
    writer.close()
}
