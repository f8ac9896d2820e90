//! Several kinds of damage at once, chosen at random.

use super::*;

/// One kind of harm to the files of a folder.
#[derive(Clone, Debug)]
enum Harm {
    Flip(usize, usize),
    Zeros(usize, usize, usize),
    Cut(usize, usize),
    Remove(usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    let (file, at) = (0..100_usize, any::<usize>());
    prop_oneof![
        6 => (file.clone(), at).prop_map(|(file, at)| Harm::Flip(file, at)),
        3 => (file.clone(), at, 1..600_usize)
            .prop_map(|(file, at, length)| Harm::Zeros(file, at, length)),
        1 => (file.clone(), at).prop_map(|(file, at)| Harm::Cut(file, at)),
        1 => file.prop_map(Harm::Remove),
    ]
}

impl Harm {
    fn happen(&self, files: &mut Files) {
        let (Harm::Flip(file, _) | Harm::Zeros(file, ..) | Harm::Cut(file, _) | Harm::Remove(file)) =
            *self;
        let paths: Vec<PathBuf> = files.keys().cloned().collect();
        let Some(path) = paths.get(file % paths.len().max(1)) else {
            return;
        };
        let bytes = files.get_mut(path).unwrap();
        let used = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        let used = used.max(1).min(bytes.len());
        if used == 0 {
            return;
        }
        match *self {
            Harm::Flip(_, at) => bytes[at / 8 % used] ^= 1 << (at % 8),
            Harm::Zeros(_, at, length) => {
                let at = at % used;
                let end = (at + length).min(used);
                bytes[at..end].fill(0);
            }
            Harm::Cut(_, at) => bytes.truncate(at % used),
            Harm::Remove(_) => drop(files.remove(path)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_to_several_places_nothing_is_wrong_and_all_that_is_sound_is_saved(
        harms in proptest::collection::vec(harm(), 1..6),
        is_workload in any::<bool>(),
    ) {
        let folder = if is_workload { workload_folder() } else { written(End::Closed) };
        let truth = Truth::of(folder.path());
        let mut now = truth.files.clone();
        for harm in &harms {
            harm.happen(&mut now);
        }
        restore(folder.path(), &now);
        let output = Output::new();
        let context = format!("{harms:?}");
        // If a segment's page and the header of its first group are both lost, the segment is lost.
        let readable: Files = now
            .iter()
            .filter(|(path, bytes)| has_headers(&truth.files[*path], bytes))
            .map(|(path, bytes)| (path.clone(), bytes.clone()))
            .collect();
        match run(&TestDisk::default(), folder.path(), &output) {
            Ok(report) => {
                let found = state(&open(&output.target()).unwrap());
                truth.compare(&readable, &found, &report, &context);
            }
            // A version that rots together with something else looks like that of a later vectord.
            Err(error) if error.to_string().contains("has format version") => {}
            Err(error) => {
                let is_lost = matches!(error, Error::Damaged { .. } | Error::InvalidArgument(_));
                prop_assert!(is_lost, "{context}: {error}");
                let mut records = truth.records.iter();
                let is_any_sound = records.any(|record| truth.is_intact(record, &readable));
                prop_assert!(!is_any_sound, "{context}: {error}");
            }
        }
    }
}

/// Whether the page of a segment is unchanged.
fn has_headers(before: &[u8], now: &[u8]) -> bool {
    now.len() >= PAGE && before[..PAGE] == now[..PAGE]
}
