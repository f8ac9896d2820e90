//! Memory of this process that is resident, as Linux tells it in `/proc/self/smaps`.

use std::path::Path;

use crate::Result;

/// Bytes resident at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resident {
    /// Belonging to no file: allocations, tables, stacks.
    pub anonymous: u64,
    /// Pages of the files in one folder.
    pub files: u64,
}

impl Resident {
    /// What is resident now, with the files in `folder`.
    pub fn now(folder: &Path) -> Result<Self> {
        Ok(Resident::parse(
            &fs_err::read_to_string("/proc/self/smaps")?,
            folder,
        ))
    }

    /// What has been added since an earlier moment.
    pub fn since(self, earlier: Resident) -> Self {
        Resident {
            anonymous: self.anonymous.saturating_sub(earlier.anonymous),
            files: self.files.saturating_sub(earlier.files),
        }
    }

    pub fn sum(self) -> u64 {
        self.anonymous + self.files
    }

    /// Every mapping is a line that ends with its path, if it has one, and lines of sizes.
    fn parse(smaps: &str, folder: &Path) -> Self {
        let mut resident = Resident::default();
        let mut in_folder = false;
        for line in smaps.lines() {
            let Some((key, value)) = line.split_once(": ") else {
                let path = line.find('/').map(|at| Path::new(&line[at..]));
                in_folder = path.is_some_and(|path| path.starts_with(folder));
                continue;
            };
            let kilobytes = value.trim().strip_suffix(" kB");
            let bytes = kilobytes
                .and_then(|number| number.parse::<u64>().ok())
                .map(|number| number << 10);
            match (key, bytes) {
                ("Anonymous", Some(bytes)) => resident.anonymous += bytes,
                ("Rss", Some(bytes)) if in_folder => resident.files += bytes,
                _ => {}
            }
        }
        resident
    }
}
