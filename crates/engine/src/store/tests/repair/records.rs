//! Damaged records, and sound records behind damaged headers.

use super::*;

/// Flips bits of each file: all eight of each byte at the start of a file, else one of each byte,
/// and only some in long runs of equal bytes.
fn flip_bits(folder: &Path, mut check: impl FnMut(&str)) -> usize {
    let sound = files(folder);
    let mut cases = 0;
    for (path, bytes) in &sound {
        let used = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        for at in 0..(used + BLOCK).min(bytes.len()) {
            let around = &bytes[at.saturating_sub(8)..(at + 8).min(bytes.len())];
            let is_run = around.iter().all(|&byte| byte == bytes[at]);
            if is_run && !at.is_multiple_of(97) {
                continue;
            }
            let bits = if at < 100 { 0..8 } else { at % 8..at % 8 + 1 };
            for bit in bits {
                overwrite(path, at as u64, &[bytes[at] ^ 1 << bit]);
                check(&format!("{} byte {at} bit {bit}", path.display()));
                overwrite(path, at as u64, &[bytes[at]]);
                cases += 1;
            }
        }
    }
    cases
}

#[test]
fn whatever_bit_is_flipped_all_other_points_are_saved() {
    for end in [End::Closed, End::Killed] {
        let folder = written(end);
        let truth = Truth::of(folder.path());
        let unproven = truth.records.len() as u64 - 1;
        let mut losing = 0;
        let cases = flip_bits(folder.path(), |context| {
            let (found, report, _) = repaired(folder.path(), context);
            let now = files(folder.path());
            // A last group that nothing proves is a write that was not acknowledged.
            let is_torn = end == End::Killed
                && report.damages == 0
                && found == state_after(&groups()[..groups().len() - 1]);
            if is_torn {
                let last = truth.records.iter().rev().take(2);
                let is_last_intact = last.clone().all(|record| truth.is_intact(record, &now));
                let header_at = truth.records[unproven as usize - 1].parts[0].start - BLOCK;
                let file = &truth.records[unproven as usize - 1].file;
                let header = header_at..header_at + BLOCK;
                let is_header_flipped = now[file][header.clone()] != truth.files[file][header];
                assert!(!is_last_intact || is_header_flipped, "{context}");
                return;
            }
            truth.compare(&now, &found, &report, context);
            // A flip costs at most one record, and none if it is in a header of many records.
            let lost = truth.live.len().saturating_sub(found.len());
            assert!(lost <= 1, "{context}: {lost} lost");
            losing += lost;
        });
        assert!(
            cases > 2_000 && losing > 50,
            "{cases} cases, {losing} losing"
        );
    }
}

#[test]
fn a_record_is_saved_without_the_headers_that_lead_to_it() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let insert = |number: u32| Step::Insert(number, vec![number as u8; 30]);
    let groups = [
        (0..40).map(insert).collect::<Vec<_>>(),
        vec![Step::Delete(3), insert(50)],
        vec![insert(51)],
    ];
    for group in &groups {
        commit(&mut opened.store, group).unwrap();
    }
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    let sound = files(folder.path());
    let path = log(folder.path(), 1);
    let second = truth.records[40].parts[0].start - BLOCK;
    // The headers of groups, the page of the segment, and both a group's header and the page.
    let zeros = [0; PAGE];
    let cases: [&[(u64, usize)]; 5] = [
        &[(PAGE as u64, BLOCK)],
        &[(second as u64, BLOCK)],
        &[(PAGE as u64, BLOCK), (second as u64, BLOCK)],
        &[(0, PAGE)],
        &[(0, 48), (64, 4032)],
    ];
    for case in cases {
        for &(at, length) in case {
            overwrite(&path, at, &zeros[..length]);
        }
        let context = format!("{case:?}");
        let report = truth.check(folder.path(), &context);
        assert_eq!(report.points, truth.live.len() as u64, "{context}");
        restore(folder.path(), &sound);
    }
}

#[test]
fn a_record_without_its_group_is_saved_only_where_its_checksum_matches() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let insert = |number: u32| Step::Insert(number, vec![number as u8; 30]);
    commit(&mut opened.store, &[1, 2, 3].map(insert)).unwrap();
    commit(&mut opened.store, &[Step::Delete(2), insert(4)]).unwrap();
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    let sound = files(folder.path());
    let path = log(folder.path(), 1);
    for group in [&truth.records[..3], &truth.records[3..5]] {
        let group_header = group[0].parts[0].start - BLOCK;
        for record in group {
            for at in record.parts.iter().cloned().flatten() {
                overwrite(&path, group_header as u64, &[0; BLOCK]);
                overwrite(&path, at as u64, &[sound[&path][at] ^ 1 << (at % 8)]);
                let report = truth.check(folder.path(), &format!("byte {at}"));
                assert_eq!(report.lost_records + report.lost_points, 1, "byte {at}");
                restore(folder.path(), &sound);
            }
        }
    }
}

#[test]
fn points_before_a_lost_range_are_saved_and_counted_as_possibly_outdated() {
    let folder = written(End::Closed);
    let truth = Truth::of(folder.path());
    // The delete of the second point, which is the first record of the second group.
    let delete = &truth.records[2];
    assert_eq!((delete.header.op, delete.header.sequence), (Op::Delete, 3));
    overwrite(&delete.file, delete.parts[0].start as u64 + 9, &[0x55; 3]);
    let (found, report, losses) = repaired(folder.path(), "a lost delete");
    assert!(
        found.contains_key(&id(2)),
        "nothing says that it was deleted"
    );
    assert_eq!(
        (report.outdated, report.lost_records, report.lost_points),
        (2, 1, 0)
    );
    assert!(losses.contains(r#"{"from": 3, "to": 3}"#), "{losses}");
    let newest = r#""possiblyOutdated": {"count": 2, "below": 3, "newest": "02000000-a5a5-"#;
    assert!(losses.contains(newest), "{losses}");
}

#[test]
fn a_point_of_which_the_content_is_lost_is_named_by_its_id() {
    let folder = written(End::Closed);
    let truth = Truth::of(folder.path());
    let record = &truth.records[0];
    overwrite(&record.file, record.parts[2].start as u64 + 3, &[0x55]);
    let (_, report, losses) = repaired(folder.path(), "a lost content");
    assert_eq!(
        (report.lost_points, report.lost_records, report.outdated),
        (1, 0, 0)
    );
    let named = r#"{"id": "01000000-a5a5-a5a5-a5a5-a5a5a5a5a5a5", "sequence": 1, "#;
    assert!(losses.contains(named), "{losses}");
    // A point that was deleted anyway is not listed.
    restore(folder.path(), &truth.files);
    overwrite(
        &truth.records[1].file,
        truth.records[1].parts[1].start as u64,
        &[0x55],
    );
    let (_, report, _) = repaired(folder.path(), "a lost dead vector");
    assert_eq!(
        (report.damages, report.lost_points, report.lost_records),
        (1, 0, 0)
    );
}

#[test]
fn an_older_record_of_an_id_does_not_come_back_where_the_newer_is_lost() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let groups = [
        vec![Step::Insert(1, vec![1; 20])],
        vec![Step::Delete(1)],
        vec![Step::Insert(1, vec![2; 20])],
        vec![Step::Insert(2, vec![3; 20])],
    ];
    for group in &groups {
        commit(&mut opened.store, group).unwrap();
    }
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    let damage = |record: usize, part: usize| {
        let record = &truth.records[record];
        overwrite(
            &record.file,
            record.parts[part].start as u64 + 9,
            &[0x55; 2],
        );
    };
    // The delete is lost, but the newer record proves it.
    damage(1, 0);
    assert_eq!(repaired(folder.path(), "the delete").0, truth.live);
    // The content of the newer one is lost, too.
    damage(2, 2);
    let (found, report, _) = repaired(folder.path(), "the delete and the newer");
    assert_eq!((found.len(), report.lost_points), (1, 1));
}
