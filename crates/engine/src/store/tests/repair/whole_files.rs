//! Files that are missing, damaged as a whole, older, or of another folder.

use super::*;

#[test]
fn each_file_may_be_missing_emptied_cut_or_full_of_zeros() {
    for folder in [written(End::Closed), workload_folder()] {
        let truth = Truth::of(folder.path());
        let segments = || {
            truth
                .files
                .keys()
                .filter(|path| segment::number(path).is_some())
        };
        assert!(segments().count() >= 2);
        for path in segments() {
            let bytes = &truth.files[path];
            for kept in [
                None,
                Some(0),
                Some(100),
                Some(PAGE),
                Some((PAGE + 700).min(bytes.len() - 1)),
                Some(bytes.len() - 9),
            ] {
                match kept {
                    None => fs_err::remove_file(path).unwrap(),
                    Some(kept) => fs_err::write(path, &bytes[..kept]).unwrap(),
                }
                let context = format!("{} cut to {kept:?}", path.display());
                truth.check(folder.path(), &context);
                restore(folder.path(), &truth.files);
            }
            fs_err::write(path, vec![0; bytes.len()]).unwrap();
            truth.check(folder.path(), &format!("{} zeros", path.display()));
            restore(folder.path(), &truth.files);
        }
    }
}

#[test]
fn a_manifest_that_is_missing_emptied_or_damaged_costs_no_point() {
    for folder in [written(End::Closed), workload_folder()] {
        let truth = Truth::of(folder.path());
        let path = manifest::path(folder.path());
        for content in [None, Some(&b""[..]), Some(b"VECDMANI"), Some(&[7; 200])] {
            match content {
                None => fs_err::remove_file(&path).unwrap(),
                Some(content) => fs_err::write(&path, content).unwrap(),
            }
            let context = format!("manifest {content:?}");
            let report = truth.check(folder.path(), &context);
            assert_eq!(report.points, truth.live.len() as u64, "{context}");
            assert!(
                report.is_end_lost,
                "{context}: nothing says where the log ends"
            );
            assert_eq!(report.outdated, report.points, "{context}");
            restore(folder.path(), &truth.files);
        }
    }
}

#[test]
fn an_older_manifest_costs_no_point() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let path = manifest::path(folder.path());
    let mut manifests = Vec::new();
    for group in workload() {
        commit(&mut opened.store, &group).unwrap();
        opened.store.note_end().unwrap();
        manifests.push(fs_err::read(&path).unwrap());
    }
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    for (number, manifest) in manifests.iter().enumerate() {
        fs_err::write(&path, manifest).unwrap();
        let report = truth_with_manifest(&truth, folder.path(), &format!("manifest {number}"));
        assert_eq!(report.points, truth.live.len() as u64, "manifest {number}");
    }
}

/// As [`Truth::check`], for a folder in which only the manifest may have changed.
fn truth_with_manifest(truth: &Truth, folder: &Path, context: &str) -> RepairReport {
    let (found, report, _) = repaired(folder, context);
    assert_eq!(found, truth.live, "{context}");
    report
}

#[test]
fn segments_that_were_swapped_or_copied_over_each_other_are_read_for_what_they_are() {
    let folder = workload_folder();
    let truth = Truth::of(folder.path());
    let paths: Vec<&PathBuf> = truth
        .files
        .keys()
        .filter(|path| segment::number(path).is_some())
        .collect();
    let (first, second) = (paths[0], paths[1]);
    fs_err::write(first, &truth.files[second]).unwrap();
    fs_err::write(second, &truth.files[first]).unwrap();
    let (found, report, _) = repaired(folder.path(), "swapped");
    assert_eq!((found, report.lost_records), (truth.live.clone(), 0));
    // The second copy is read, too, if the first is damaged.
    restore(folder.path(), &truth.files);
    fs_err::write(folder.path().join("00000900.log"), &truth.files[first]).unwrap();
    overwrite(first, PAGE as u64 + 64 + 3, &[0xFF; 9]);
    let (found, report, _) = repaired(folder.path(), "a second copy");
    assert_eq!((found, report.lost_records), (truth.live.clone(), 0));
    assert!(report.damages > 0);
}

#[test]
fn a_segment_of_another_store_or_of_a_copy_that_went_on_is_not_read() {
    let insert = |number: u32| vec![Step::Insert(number, vec![number as u8; 40])];
    let first = new_folder();
    let mut opened = open(first.path()).unwrap();
    commit(&mut opened.store, &insert(1)).unwrap();
    opened.store.close().unwrap();
    let fork = copy(first.path());
    for (folder, numbers) in [(&first, 2..40), (&fork, 40..80)] {
        let mut opened = open(folder.path()).unwrap();
        for number in numbers {
            commit(&mut opened.store, &insert(number)).unwrap();
        }
        opened.store.close().unwrap();
    }
    let stranger = written(End::Closed);
    let truth = Truth::of(first.path());
    for other in [&fork, &stranger] {
        fs_err::copy(log(other.path(), 1), log(first.path(), 1)).unwrap();
        let (found, report, _) = repaired(first.path(), "another's segment");
        // The groups that both have in common are not read either: nothing distinguishes them.
        assert!(
            found
                .iter()
                .all(|(id, point)| truth.live.get(id) == Some(point))
        );
        assert!(!found.is_empty() && found.len() < truth.live.len());
        assert!(report.damages > 0 && report.lost_records > 0, "{report:?}");
        restore(first.path(), &truth.files);
    }
    // Without a manifest, the store is the one to which most segments belong.
    fs_err::remove_file(manifest::path(first.path())).unwrap();
    fs_err::copy(log(stranger.path(), 1), log(first.path(), 900)).unwrap();
    assert_eq!(
        truth.check(first.path(), "a stranger").points,
        truth.live.len() as u64
    );
    for path in files(first.path())
        .keys()
        .filter(|path| !path.ends_with("00000900.log"))
    {
        if !path.ends_with("00000001.log") {
            fs_err::remove_file(path).unwrap();
        }
    }
    let refused = run(&TestDisk::default(), first.path(), &Output::new());
    assert!(refused.unwrap_err().to_string().contains("several stores"));
}

#[test]
fn what_compaction_left_out_stays_deleted_where_the_old_segments_are_there_too() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    for group in workload() {
        commit(&mut opened.store, &group).unwrap();
    }
    opened.store.note_end().unwrap();
    let before = files(folder.path());
    assert!(compact_all(&mut opened.store).unwrap() > 0);
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    for (path, bytes) in &before {
        if !path.exists() {
            fs_err::write(path, bytes).unwrap();
        }
    }
    assert_eq!(repaired(folder.path(), "with rests").0, truth.live);
    fs_err::remove_file(manifest::path(folder.path())).unwrap();
    // The repair may not rely on any file that holds the deletes that compaction dropped.
    assert_eq!(repaired(folder.path(), "without a manifest").0, truth.live);
}

#[test]
fn what_compaction_left_out_stays_deleted_where_no_delete_of_it_is_left() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let mut segments: Vec<(u32, Vec<u32>)> = Vec::new();
    for number in 0..100 {
        let group = [Step::Insert(number, vec![1; 300])];
        let segment = commit(&mut opened.store, &group).unwrap()[0].segment;
        match segments.last_mut() {
            Some((last, numbers)) if *last == segment => numbers.push(number),
            _ => segments.push((segment, vec![number])),
        }
    }
    // The first and the last point of each segment stay, so that the compacted segment covers all
    // sequences of the old one, including those of the deleted points between them.
    for (_, numbers) in &segments {
        for &number in &numbers[1..numbers.len() - 1] {
            commit(&mut opened.store, &[Step::Delete(number)]).unwrap();
        }
    }
    opened.store.note_end().unwrap();
    let before = files(folder.path());
    assert!(compact_all(&mut opened.store).unwrap() > 0);
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    fs_err::remove_file(manifest::path(folder.path())).unwrap();
    let mut rests = 0;
    for (segment, _) in &segments {
        let path = log(folder.path(), *segment);
        if !path.exists() {
            fs_err::write(&path, &before[&path]).unwrap();
            let context = path.display().to_string();
            assert_eq!(repaired(folder.path(), &context).0, truth.live, "{context}");
            fs_err::remove_file(&path).unwrap();
            rests += 1;
        }
    }
    assert!(rests > 3, "{rests} of {} segments", segments.len());
}

#[test]
fn a_folder_that_a_crash_left_is_repaired_into_what_a_start_finds() {
    let folder = new_folder();
    let run_of = crash::run(folder.path());
    let mut compared = 0;
    for (cut, loss) in cases(0..=run_of.calls.len()).into_iter().step_by(3) {
        let left = after_power_cut(&Files::new(), &run_of.calls[..cut], loss);
        restore(folder.path(), &left);
        let opened = copy(folder.path());
        let opened = open(opened.path()).unwrap();
        let (expected, last) = (state(&opened), opened.last_sequence);
        if last == 0
            || !left
                .keys()
                .any(|path| path == &manifest::path(folder.path()))
        {
            continue;
        }
        let context = format!("cut {cut}, {loss:?}");
        let (found, report, _) = repaired(folder.path(), &context);
        assert_eq!((found, report.damages), (expected, 0), "{context}");
        compared += 1;
    }
    assert!(compared > 100, "{compared} compared");
}

#[test]
fn segments_that_are_all_lost_or_newer_are_damage_or_refused() {
    let source = written(End::Closed);
    let sound = files(source.path());
    for number in [1, 2] {
        fs_err::write(log(source.path(), number), "").unwrap();
    }
    let refused = run(&TestDisk::default(), source.path(), &Output::new());
    assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
    restore(source.path(), &sound);
    make_newer(&log(source.path(), 1));
    let refused = run(&TestDisk::default(), source.path(), &Output::new()).unwrap_err();
    assert!(refused.to_string().contains("format version"), "{refused}");
}
