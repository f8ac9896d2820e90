// Mistakes in the store and beside it. Each replaces text that is in a file exactly once, and names
// the arguments of `cargo test` that must notice it.

const STORE = 'crates/engine/src/store';
const INDEX = 'crates/engine/src/index';
const GRAPH = 'crates/engine/src/hnsw';

const CRATE = 'crates/engine/src';

const DAMAGE_TESTS = ['--test', 'quick', 'damage::'];
const STORE_TESTS = ['--lib', 'store::'];
const REPAIR_TESTS = ['--lib', 'tests::repair'];
const WRITER_TESTS = ['--lib', 'synced'];
const WRITER_UNIT_TESTS = ['--lib', 'engine::tests::writer'];
const MATCHING_TESTS = ['--lib', 'engine::tests::matching'];
const UPSERT_TESTS = ['--test', 'quick', 'upsert::'];
const SNAPSHOT_TESTS = ['--test', 'quick', 'snapshots::'];
const COMPACTION_TESTS = ['--test', 'quick', 'swapped'];
const MEMORY_TESTS = ['--test', 'fuzz', 'free_slots'];
const CHECK_TESTS = ['--lib', 'store::tests::check'];
const COMPACTION_UNIT_TESTS = ['--lib', 'store::tests::compaction'];
const VERIFY_TESTS = ['--lib', 'index::verify'];
const FUZZ_TESTS = ['--test', 'fuzz', 'word_of_a_snapshot'];

const WRITE_OF_GROUP = [
  '        if let Err((written, error)) = write_all(&*self.file, group, self.end) {',
  '            if is_full(&error) {',
  '                self.erase(self.end, self.end + written).map_err(fatal)?;',
  '                self.written = self.end + written;',
  '            }',
  '            return Err(error);',
  '        }',
];
const SYNC_OF_GROUP = [
  '        let written_at = Instant::now();',
  '        self.file.sync_data().map_err(fatal)?;',
];

export const STORE_MUTANTS = [
  // What reaches the disk, and when.
  mutant('fdatasync does nothing', `${STORE}/io.rs`, 'self.0.sync_data()', 'Ok(())'),
  mutant('fsync does nothing', `${STORE}/io.rs`, 'self.0.sync_all()', 'Ok(())'),
  mutant(
    'the sync of a folder does nothing',
    `${STORE}/io.rs`,
    'folder.sync_all()',
    'folder.metadata().map(drop)',
  ),
  mutant(
    'a group is not synced',
    `${STORE}/log/segment.rs`,
    'self.file.sync_data().map_err(fatal)?;\n        self.end',
    'self.end',
  ),
  mutant(
    'a group is synced when the next one is about to be written',
    `${STORE}/log/segment.rs`,
    lines(...WRITE_OF_GROUP, ...SYNC_OF_GROUP),
    lines(...SYNC_OF_GROUP, ...WRITE_OF_GROUP),
    WRITER_TESTS,
  ),
  mutant(
    'a group is acknowledged before it is synced',
    `${CRATE}/engine/writer/group_commit.rs`,
    'let result = catch_unwind(AssertUnwindSafe(|| self.commit(&group)))',
    lines(
      'let mut group = group;',
      'for request in &mut group {',
      '    if request.change.stores() {',
      '        let done = std::mem::replace(&mut request.done, super::request::Waiting(None));',
      '        done.answer(Ok(Outcome::default()));',
      '    }',
      '}',
      'let result = catch_unwind(AssertUnwindSafe(|| self.commit(&group)))',
    ),
    WRITER_TESTS,
  ),
  mutant(
    'a delete is visible before it is synced',
    `${CRATE}/engine/writer/group_commit.rs`,
    'let begun_at = Instant::now();',
    lines(
      'let begun_at = Instant::now();',
      'for (write, sequence) in writes.iter().zip(self.store.last_sequence() + 1..) {',
      '    if let Write::Delete { id, .. } = write {',
      '        self.index.delete(id, sequence);',
      '        self.index.publish(sequence);',
      '    }',
      '}',
    ),
    WRITER_TESTS,
  ),
  mutant(
    'a write whose commit failed is answered with success',
    `${CRATE}/engine/writer/group_commit.rs`,
    'request.refuse(&error);',
    'request.answer(Ok(Outcome { found: vec![true], ..Outcome::default() }));',
    WRITER_UNIT_TESTS,
  ),
  mutant(
    'a sync that fails is passed over',
    `${STORE}/log/segment.rs`,
    'self.file.sync_data().map_err(fatal)?;\n        self.end',
    'drop(self.file.sync_data());\n        self.end',
  ),
  mutant(
    'a new segment is not synced',
    `${STORE}/log/segment.rs`,
    'file.sync_all().map_err(fatal)?;',
    '',
  ),
  mutant(
    'the name of a new segment is not synced',
    `${STORE}/log/segment.rs`,
    'io.sync_folder(folder).map_err(fatal)?;',
    '',
  ),
  mutant(
    'the manifest is not synced before it is renamed',
    `${STORE}/log/manifest.rs`,
    'file.sync_all().map_err(fatal)',
    'Ok(())',
  ),
  mutant(
    'the folder is not synced after the manifest is renamed',
    `${STORE}/log/manifest.rs`,
    'names.sync().map_err(fatal)',
    'Ok(())',
  ),
  mutant(
    'the folder is opened when the manifest has been renamed',
    `${STORE}/log/manifest.rs`,
    lines('        let names = io.open_folder(folder)?;', '        io.rename(&temporary, &path)?;'),
    lines('        io.rename(&temporary, &path)?;', '        let names = io.open_folder(folder)?;'),
  ),
  mutant(
    'a write for which no file can be opened ends all writing',
    `${CRATE}/engine/writer/group_commit.rs`,
    'Error::StorageFull | Error::Overloaded(_)) {',
    'Error::StorageFull) {',
  ),
  mutant(
    'the last commit is not proven',
    `${STORE}/mod.rs`,
    'self.append(&[Record::noop(self.last_sequence + 1)], self.stream)?;',
    '',
  ),
  mutant(
    'the half of a group that found space on a full disk stays',
    `${STORE}/log/segment.rs`,
    'self.erase(self.end, self.end + written).map_err(fatal)?;',
    '',
  ),
  mutant(
    'an undo that finds no space is passed over',
    `${STORE}/log/segment.rs`,
    'self.erase(self.end, self.end + written).map_err(fatal)?;',
    'drop(self.erase(self.end, self.end + written));',
    ['--lib', 'store::tests::copy_on_write'],
  ),
  mutant(
    'a manifest whose name finds no space is taken for one that was not written',
    `${STORE}/log/manifest.rs`,
    'names.sync().map_err(fatal)',
    'names.sync()',
    ['--lib', 'store::tests::copy_on_write'],
  ),

  // What is verified.
  mutant(
    'the checksum of a record is not looked at',
    `${STORE}/log/format.rs`,
    'u32_at(bytes, 0) == Self::crc(bytes, salt, parts)',
    'u32_at(bytes, 0) == Self::crc(bytes, salt, parts) || true',
  ),
  mutant(
    "the checksum of a group's records is not looked at",
    `${STORE}/log/group.rs`,
    'if body.finalize() != group.body_crc {',
    'if body.finalize() != group.body_crc && false {',
  ),
  mutant(
    "the checksum of a group's header is not looked at",
    `${STORE}/log/format.rs`,
    '|| u32_at(bytes, 8) != Self::crc(bytes, salt)',
    '|| u32_at(bytes, 8) != Self::crc(bytes, salt) && false',
  ),
  mutant(
    "the checksum of a segment's header is not looked at",
    `${STORE}/log/format.rs`,
    'if u32_at(page, PAGE_CRC_AT) != crc32fast::hash(&page[..PAGE_CRC_AT]) {',
    'if u32_at(page, PAGE_CRC_AT) != crc32fast::hash(&page[..PAGE_CRC_AT]) && false {',
  ),
  mutant(
    'the checksum of the manifest is not looked at',
    `${STORE}/log/manifest.rs`,
    'if u32_at(crc, 0) != crc32fast::hash(content) {',
    'if u32_at(crc, 0) != crc32fast::hash(content) && false {',
  ),
  mutant('the salt is in no checksum', `${STORE}/log/format.rs`, 'hasher.update(&self.0);', ''),
  mutant(
    'a group may start with any mark',
    `${STORE}/log/format.rs`,
    'if array_at(bytes, 0) != salt.mark()\n            || ',
    'if ',
  ),
  mutant(
    'a group may be at any position',
    `${STORE}/log/format.rs`,
    '|| u64_at(bytes, 16) != position',
    '',
  ),
  mutant(
    'the size of a segment is not compared',
    `${STORE}/log/segment.rs`,
    'if size != header.capacity {',
    'if size != header.capacity && false {',
  ),
  mutant(
    'the id of a segment is not compared',
    `${STORE}/log/manifest.rs`,
    'if header.id != self.id',
    'if header.id != self.id && false',
  ),
  mutant(
    'a segment of a copy that went its own way is not told from the own one',
    `${STORE}/log/manifest.rs`,
    'if self.groups == 0 || ',
    'if true || ',
  ),
  mutant(
    'the end of a sealed segment is not compared',
    `${STORE}/log/manifest.rs`,
    'if !is_short && !is_long {',
    'if true {',
  ),

  // How the log is read back.
  mutant(
    'deletes are not replayed',
    `${STORE}/recovery.rs`,
    '.extend(walked.tombstones.into_iter().map(numbered));',
    '.extend(walked.tombstones.into_iter().map(numbered).take(0));',
  ),
  mutant('a torn tail is not cut', `${STORE}/recovery.rs`, 'last.erase(last.end, torn)?;', ''),
  mutant(
    'what a later group proves is ignored',
    `${STORE}/log/tail.rs`,
    '.find(|group| group.durable >= sequence)',
    '.find(|group| group.durable >= sequence && false)',
  ),
  mutant(
    'what the manifest proves is ignored',
    `${STORE}/log/tail.rs`,
    'if end < known_end {',
    'if end < known_end && false {',
  ),
  mutant(
    'what a killed process wrote is shown without being made durable',
    `${STORE}/recovery.rs`,
    'last.rewrite(found.replay.last_group)?;',
    '',
  ),
  mutant(
    'the names that a killed process left are not made durable',
    `${STORE}/recovery.rs`,
    'io.sync_folder(folder)?;\n    remove_if_there(io, &manifest::temporary_path(folder))?;',
    'remove_if_there(io, &manifest::temporary_path(folder))?;',
  ),
  mutant(
    'a recovery removes segments before the names that it relies on are durable',
    `${STORE}/recovery.rs`,
    'io.sync_folder(folder)?;\n    remove_if_there(io, &manifest::temporary_path(folder))?;\n' +
      '    for path in found.unnamed.drain(..) {\n        io.remove(&path)?;',
    'remove_if_there(io, &manifest::temporary_path(folder))?;\n' +
      '    for path in found.unnamed.drain(..) {\n        io.remove(&path)?;\n' +
      '        io.sync_folder(folder)?;',
  ),
  mutant(
    'a segment with data that no manifest names is removed',
    `${STORE}/log/segment.rs`,
    'if let Some(index) = piece.iter().position(|&byte| byte != 0) {',
    'if let Some(index) = piece.iter().position(|&byte| byte != 0 && false) {',
  ),
  mutant(
    'the lock is not taken',
    `${STORE}/lock.rs`,
    'if let Err(error) = file.try_lock() {',
    'if let Err(error) = Ok::<(), TryLockError>(()) {',
  ),
  mutant(
    'the folder itself is not locked',
    `${STORE}/lock.rs`,
    'match try_lock(&opened) {',
    'match Ok::<(), TryLockError>(()) {',
  ),
  mutant(
    'a backup does not look at the records of sealed segments',
    `${STORE}/tools/backup.rs`,
    'self.flaws.heed(found, &segment.path, Some(entry))',
    'Ok::<(), Error>(drop(found))',
  ),

  mutant(
    'what a backup copies is not synced',
    `${STORE}/tools/copy.rs`,
    'file.sync_all().map_err(fatal)?;',
    'let _ = fatal;',
  ),
  mutant(
    'a backup does not compare its copy with what it has verified',
    `${STORE}/tools/backup.rs`,
    'if crc != crc32fast::hash(&self.buffer[..entry.end as usize]) {',
    'if crc != crc32fast::hash(&self.buffer[..entry.end as usize]) && false {',
  ),
  mutant(
    'a restore does not compare its copy with what it has verified',
    `${STORE}/tools/restore.rs`,
    'if crc != segment.crc {',
    'if crc != segment.crc && false {',
  ),
  mutant(
    'a manifest is not gone for good before its segments are',
    `${STORE}/recovery.rs`,
    'io.remove(&manifest::path(folder))?;\n        io.sync_folder(folder)?;',
    'io.remove(&manifest::path(folder))?;',
  ),
  mutant(
    'two deletes in one group both find their point',
    `${CRATE}/engine/writer/request.rs`,
    'Change::Delete(ids) => ids.iter().all(is_new),',
    'Change::Delete(ids) => ids.iter().all(is_new) || true,',
    WRITER_UNIT_TESTS,
  ),
  mutant(
    'a change does not see what one of its group has stored',
    `${CRATE}/engine/writer/request.rs`,
    'Change::Store(batch, _) => batch.ids.iter().all(is_new),',
    'Change::Store(batch, _) => batch.ids.iter().all(is_new) || true,',
    UPSERT_TESTS,
  ),
  mutant(
    'a point that is to be kept is replaced',
    `${CRATE}/engine/writer/plan.rs`,
    'existing == Existing::Keep',
    'existing == Existing::Impossible',
    UPSERT_TESTS,
  ),
  mutant(
    'an update forgets the metadata that it does not change',
    `${CRATE}/engine/writer/plan.rs`,
    'update.metadata.as_deref().unwrap_or(stored.metadata)',
    'update.metadata.as_deref().unwrap_or_default()',
    UPSERT_TESTS,
  ),
  mutant(
    'a delete by a filter deletes a point that was replaced since it passed',
    `${INDEX}/matches.rs`,
    '(stored.inserted == inserted)',
    '(stored.inserted >= inserted)',
    MATCHING_TESTS,
  ),
  mutant(
    'a delete by a filter spares what was written while its points were looked for',
    `${CRATE}/engine/writer/plan.rs`,
    'found.live(index).chain(later.live(index))',
    'found.live(index).chain(later.live(index).take(0))',
    MATCHING_TESTS,
  ),
  mutant(
    'what is written into a slot that is used again is not found as later',
    `${INDEX}/lives.rs`,
    '        self.note_newest(slot, sequence);\n        let life',
    '        let life',
    ['--lib', 'index::lives'],
  ),
  mutant(
    'what the writer does while the points are listed in their order is forgotten',
    `${INDEX}/order.rs`,
    'State::Making(changes) => changes.push(change),',
    'State::Making(_) => {}',
    ['--lib', 'index::order'],
  ),
  mutant(
    'all points are deleted though there are more than expected',
    `${CRATE}/engine/writer/plan.rs`,
    'if points != expected {',
    'if points > expected {',
    UPSERT_TESTS,
  ),

  // Points that replace others.
  mutant(
    'a replaced point is back after a start',
    `${STORE}/log/usage.rs`,
    'Op::Insert => (record.undone > 0).then(one),',
    'Op::Insert => (record.undone > u64::MAX - 1).then(one),',
    UPSERT_TESTS,
  ),
  mutant(
    'a delete of all spares the first point after a start',
    `${STORE}/log/usage.rs`,
    'first: 0,',
    'first: deleted.saturating_sub(1),',
    UPSERT_TESTS,
  ),
  mutant(
    'compaction forgets what a replaced point has replaced',
    `${STORE}/space/compaction.rs`,
    'header.op = Op::Delete;',
    'return None;',
    COMPACTION_UNIT_TESTS,
  ),
  mutant(
    'a point that is replaced is missing meanwhile',
    `${INDEX}/mod.rs`,
    'let Some(old) = self.ids.replace(slot, &self.arena) else {',
    lines(
      'let old = self.ids.remove(&id, &self.arena);',
      'std::thread::yield_now();',
      'self.ids.insert(slot, &self.arena)?;',
      'let Some(old) = old else {',
    ),
    UPSERT_TESTS,
  ),
  mutant(
    'a page is followed by one that begins with its last point',
    `${INDEX}/order.rs`,
    'after.map_or(Bound::Unbounded, Bound::Excluded)',
    'after.map_or(Bound::Unbounded, Bound::Included)',
    UPSERT_TESTS,
  ),
  mutant(
    'a replaced point is read again from its old place',
    `${INDEX}/order.rs`,
    'order.remove(&old);',
    '',
    UPSERT_TESTS,
  ),

  // Compaction.
  mutant(
    'compaction drops a delete that is needed',
    `${STORE}/space/compaction.rs`,
    'self.manifest.needs(&one, &self.going)',
    'self.manifest.needs(&one, &self.going) && false',
  ),
  mutant(
    'compaction claims to have heeded later deletes',
    `${STORE}/space/compaction.rs`,
    'through: self.last_sequence,',
    'through: u64::MAX,',
  ),
  mutant(
    'compaction keeps deleted points',
    `${STORE}/space/compaction.rs`,
    'if is_live(&header.id, location) {',
    'if is_live(&header.id, location) || true {',
  ),
  mutant(
    'compaction removes the old segments before the manifest is durable',
    `${STORE}/space/compaction.rs`,
    'manifest\n            .save(',
    'for number in replacements.iter().flat_map(Replacement::going) {\n' +
      'drop(self.io.remove(&segment::path(&self.folder, number)));\n}\nmanifest\n            .save(',
  ),
  mutant(
    'the compacted segment is not synced',
    `${STORE}/space/compaction.rs`,
    'segment.sync().map_err(fatal)?;',
    '',
  ),
  mutant(
    'a compacted record is copied without being verified',
    `${STORE}/log/reader.rs`,
    '|| !RecordHeader::verify(header, self.header.salt, [vector, payload])',
    '',
  ),
  mutant(
    'replaced segments are unmapped while somebody reads them',
    `${CRATE}/engine/upkeep.rs`,
    'while !self.wait_until(ROUND, |index| index.epochs().has_passed(epoch))? {}',
    'let _ = epoch;',
  ),
  mutant(
    'points are not read from where compaction has put them',
    `${INDEX}/mod.rs`,
    'self.arena.relocate(slot, to);',
    'let _ = to;',
    COMPACTION_TESTS,
  ),
  mutant(
    'inserts take the space that compaction has freed',
    `${STORE}/reserves.rs`,
    'Ok(!self.is_freeing && self.regain(io)?)',
    'self.regain(io)',
  ),
  mutant(
    'deletes take the space that compaction was given',
    `${STORE}/reserves.rs`,
    'Ok(!self.for_deletes.is_given() || self.for_deletes.has(bytes))',
    'Ok(true)',
  ),
  mutant(
    'deletes use up a reserve that does not hold them',
    `${STORE}/reserves.rs`,
    'self.for_deletes.holds(bytes) && self.for_deletes.give_up(io)?',
    'self.for_deletes.give_up(io)?',
  ),
  mutant(
    'compaction has no space of its own on a full disk',
    `${STORE}/reserves.rs`,
    'self.for_compaction.give_up(io)?;',
    '',
  ),
  mutant(
    'compaction waits for much to give back when deletes run out of space',
    `${STORE}/space/full_disk.rs`,
    'const SHARE_WHEN_LOW: u64 = 256;',
    'const SHARE_WHEN_LOW: u64 = 8;',
  ),
  mutant(
    'compaction waits on a full disk until a segment is full',
    `${STORE}/space/full_disk.rs`,
    'self.usage.is_last_worth(&self.manifest, end, terms)',
    'self.usage.is_last_worth(&self.manifest, end, terms) && false',
  ),

  // Snapshots.
  mutant(
    'the checksum of a frame is not looked at',
    `${STORE}/snapshot.rs`,
    'if u32_at(&header, 8) != frame_crc(self.id, &self.frame)',
    'if u32_at(&header, 8) != frame_crc(self.id, &self.frame) && false',
    SNAPSHOT_TESTS,
  ),
  mutant(
    'a snapshot proves nothing of the log',
    `${STORE}/snapshot.rs`,
    'if known > log.sequence {',
    'if known > log.sequence.max(known) {',
    DAMAGE_TESTS,
  ),
  mutant(
    'the manifest does not follow the end of the log',
    `${CRATE}/engine/writer/group_commit.rs`,
    'self.store.note_end()',
    'self.store.prove()',
    DAMAGE_TESTS,
  ),
  mutant(
    'under writes without a pause nothing is proven',
    `${CRATE}/engine/writer/group_commit.rs`,
    'self.store.note_groups()',
    'Ok::<(), Error>(())',
    DAMAGE_TESTS,
  ),
  mutant(
    'a damaged record ends all compaction',
    `${CRATE}/engine/upkeep.rs`,
    'Err(error @ Error::Damaged { .. }) => self.spare(error),',
    'Err(error @ Error::Damaged { .. }) => return Err(error),',
    DAMAGE_TESTS,
  ),
  mutant(
    'contents do not count in a step of the search for damage',
    `${INDEX}/verify.rs`,
    'done.bytes += length;',
    'done.bytes += length.min(SLOT_BYTES);',
    VERIFY_TESTS,
  ),
  mutant(
    'a stop waits for a step of the search for damage',
    `${INDEX}/verify.rs`,
    ' && !is_stopped()',
    '',
    VERIFY_TESTS,
  ),
  mutant(
    'what is left of a deleted point is damage to a check',
    `${STORE}/tools/flaws.rs`,
    'self.harmless.extend(undone.map(|(_, place)| place));',
    'undone.for_each(drop);',
    CHECK_TESTS,
  ),
  mutant(
    'what a start compares is harmless once its point is deleted',
    `${STORE}/tools/flaws.rs`,
    'damage.offset < entry.end',
    'damage.offset < u64::MAX',
    CHECK_TESTS,
  ),
  mutant(
    'a start trusts what the manifest does not prove',
    `${STORE}/recovery.rs`,
    'if position < entry.end {',
    'if position < u64::MAX {',
    CHECK_TESTS,
  ),
  mutant(
    'the search for damage passes over headers of groups',
    `${STORE}/log/headers.rs`,
    'group::verify_headers(&self.header, published, &group)?;',
    '',
    CHECK_TESTS,
  ),
  mutant(
    'damaged headers stay in the segment that is being written',
    `${STORE}/space/compaction.rs`,
    'if active.is_some_and(|number| damaged.contains(&number)) {',
    'if false {',
    DAMAGE_TESTS,
  ),
  mutant(
    'compaction of a segment with damaged headers loses a delete',
    `${STORE}/space/compaction.rs`,
    ' || !self.has_deletes(&needed, entry)',
    '',
    COMPACTION_UNIT_TESTS,
  ),
  mutant(
    'compaction of a segment with damaged headers loses a point',
    `${STORE}/space/compaction.rs`,
    '!is_ours || !is_whole',
    '!is_ours',
    COMPACTION_UNIT_TESTS,
  ),
  mutant(
    'a segment stays spared when its damaged point is deleted',
    `${CRATE}/engine/upkeep.rs`,
    'self.uncopyable.clear();',
    '',
    DAMAGE_TESTS,
  ),
  mutant(
    'damage is told though its point is deleted',
    `${INDEX}/damage.rs`,
    'place.point.as_ref().is_none_or(lives)',
    'place.point.as_ref().is_none_or(lives) || true',
    DAMAGE_TESTS,
  ),
  mutant(
    'damaged headers are told though their file is gone',
    `${CRATE}/engine/upkeep.rs`,
    'self.index.forget_damage(&going);',
    '',
    DAMAGE_TESTS,
  ),
  mutant(
    'a snapshot of another store is taken',
    `${STORE}/snapshot.rs`,
    'if array_at(&header, STORE_ID_AT) != store {',
    'if array_at(&header, STORE_ID_AT) != store && false {',
    SNAPSHOT_TESTS,
  ),
  mutant(
    'a snapshot is not synced before it is renamed',
    `${STORE}/snapshot.rs`,
    'self.file.sync_all()',
    'Ok(())',
  ),
  mutant(
    'the ids of a snapshot are not compared',
    `${INDEX}/snapshot/mod.rs`,
    'if point.id != id {',
    'if point.id != id && false {',
    SNAPSHOT_TESTS,
  ),
  mutant(
    'a snapshot may link a slot without a point',
    `${INDEX}/snapshot/mod.rs`,
    'slots[slot as usize].0 == 0)',
    'slots[slot as usize].0 == 0 && false)',
    FUZZ_TESTS,
  ),
  mutant(
    'memory is taken for more slots than a snapshot has bytes for',
    `${INDEX}/snapshot/mod.rs`,
    'if u64::from(count) * SLOT_BYTES as u64 > rest || ',
    'if u64::from(count) * SLOT_BYTES as u64 > rest && false || ',
    MEMORY_TESTS,
  ),
  mutant(
    'a link may be a mark alone',
    `${GRAPH}/save.rs`,
    'if stored != 0 && !linked.is_some_and(|slot| saved.has_row(slot, layer)) {',
    'if !linked.is_none_or(|slot| saved.has_row(slot, layer)) {',
    FUZZ_TESTS,
  ),

  mutant(
    'a repair brings deleted points back',
    `${STORE}/tools/repair/plan.rs`,
    ' && deletes.spare(sequence, id)',
    ' && (true || deletes.spare(sequence, id))',
    REPAIR_TESTS,
  ),
  mutant(
    'a repair brings back the older record of an id',
    `${STORE}/tools/repair/plan.rs`,
    'newest.get(id) == Some(&sequence)',
    'newest.contains_key(id)',
    REPAIR_TESTS,
  ),
  mutant(
    'a repair brings back what compaction has left out',
    `${STORE}/tools/repair/plan.rs`,
    '&& compacted.lacks(sequence)',
    '&& compacted.lacks(sequence) && false',
    REPAIR_TESTS,
  ),
  mutant(
    'a record without its group is taken whatever its checksum says',
    `${STORE}/log/group.rs`,
    'let is_sound = is_placed && RecordHeader::verify(',
    'let is_sound = is_placed || RecordHeader::verify(',
    REPAIR_TESTS,
  ),
  mutant(
    'a repair saves no record without the header of its group',
    `${STORE}/log/verify.rs`,
    'tell(Found::Stray(record, *offset));',
    'let _ = (record, offset);',
    REPAIR_TESTS,
  ),
  mutant(
    'a repair reads segments of a copy that went its own way',
    `${STORE}/tools/repair/survey.rs`,
    'if extent.is_other {',
    'if extent.is_other && false {',
    REPAIR_TESTS,
  ),
  mutant(
    'a repair writes its pid to the lock of the source',
    `${STORE}/tools/repair/mod.rs`,
    'Lock::share(source)?',
    'Lock::acquire(source)?',
    REPAIR_TESTS,
  ),
  mutant(
    'a new folder is complete before the list of what is lost',
    `${STORE}/tools/repair/losses.rs`,
    'io.sync_folder(above.unwrap_or(Path::new(".")))',
    'Ok(drop((io, above)))',
    REPAIR_TESTS,
  ),
];

function lines(...text) {
  return text.join('\n');
}

function mutant(name, file, from, to, tests = STORE_TESTS) {
  return { name, file, from, to, tests };
}
