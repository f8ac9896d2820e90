//! Repairs that are interrupted, fail, or find no space.

use super::*;

/// Opens the folder that an interrupted repair left, if a store opens it, or repairs again.
fn check_left(source: &Path, output: &Output, expected: &StoredPoints, context: &str) {
    let target = output.target();
    if manifest::path(&target).exists() {
        assert!(
            output.losses().exists(),
            "{context}: nothing says what was lost"
        );
        assert_eq!(state(&open(&target).unwrap()), *expected, "{context}");
        return;
    }
    if marker_path(&target).exists() {
        let refused = open(&target).map(drop).unwrap_err().to_string();
        assert!(refused.contains("a repair into"), "{context}: {refused}");
    } else {
        assert!(!output.losses().exists(), "{context}");
    }
    run(&TestDisk::default(), source, output).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(state(&open(&target).unwrap()), *expected, "{context}");
}

fn damaged() -> (tempfile::TempDir, StoredPoints) {
    let source = written(End::Closed);
    overwrite(&log(source.path(), 1), PAGE as u64 + 20, &[0xFF; 9]);
    let (expected, ..) = repaired(source.path(), "damaged");
    (source, expected)
}

#[test]
fn after_a_power_cut_at_any_call_a_repair_can_be_run_again_and_nothing_opens_with_less() {
    let (source, expected) = damaged();
    let output = Output::new();
    let disk = TestDisk::default();
    run(&disk, source.path(), &output).unwrap();
    let calls = disk.calls();
    let target = output.target();
    assert!(calls.len() > 20, "{} calls", calls.len());
    for (cut, loss) in cases(0..=calls.len()) {
        let left = after_power_cut(&Files::new(), &calls[..cut], loss);
        let (in_target, beside): (Files, Files) = left
            .into_iter()
            .partition(|(path, _)| path.starts_with(&target));
        restore(&target, &in_target);
        drop(fs_err::remove_file(output.losses()));
        for (path, bytes) in beside {
            fs_err::write(path, bytes).unwrap();
        }
        check_left(
            source.path(),
            &output,
            &expected,
            &format!("cut {cut}, {loss:?}"),
        );
    }
}

#[test]
fn a_failed_call_is_told_or_costs_only_what_is_listed_and_a_second_run_completes() {
    let (source, expected) = damaged();
    for failing in failing_calls() {
        let output = Output::new();
        let disk = TestDisk::default();
        disk.fail_after(failing);
        let mut told = Vec::new();
        let done = repair_on(&disk, source.path(), &output.target(), &mut |event| {
            if let Event::Damage(damage) = event {
                told.push(damage.reason);
            }
        });
        let context = format!("call {failing}: {:?}", disk.failed());
        let is_named = told
            .iter()
            .any(|reason| reason.contains("lets this call fail"));
        match done {
            Ok(_) if !is_named => check_left(source.path(), &output, &expected, &context),
            Ok(report) => assert!(report.damages > 0, "{context}"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("lets this call fail"), "{context}: {text}");
                check_left(source.path(), &output, &expected, &context);
            }
        }
        if disk.fail_no_more() {
            assert!(failing > 50, "{failing} calls");
            return;
        }
    }
}

#[test]
fn a_full_disk_ends_a_repair_which_completes_once_there_is_space() {
    let (source, expected) = damaged();
    let mut refused = 0;
    for space in (0..20_000).step_by(700) {
        let output = Output::new();
        let disk = TestDisk::default();
        disk.set_space(Some(space));
        match run(&disk, source.path(), &output) {
            Err(Error::Io(_) | Error::StorageFull) => refused += 1,
            other => drop(other.unwrap()),
        }
        check_left(source.path(), &output, &expected, &format!("{space} bytes"));
    }
    assert!(refused > 5, "{refused} refused");
}
