//! A disk for tests. It records every call, so that a power cut after any of them can be simulated,
//! and it can become full or fail at a chosen call.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
};

use crate::store::{
    io::{Disk, Io, IoFile, IoFolder},
    log::format::BLOCK,
    mapping::Mapping,
};

/// A call that changes the disk.
#[derive(Clone, Debug)]
pub enum Call {
    Create(PathBuf),
    Write(PathBuf, u64, Vec<u8>),
    SetSize(PathBuf, u64),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Remove(PathBuf),
    SyncFolder(PathBuf),
    /// A sync that failed: the system regards the pending writes as written, but they are not.
    LostSync(PathBuf),
}

/// The real disk, observed. Syncs are recorded and not passed on, which saves minutes.
#[derive(Clone, Default)]
pub struct TestDisk(Arc<Mutex<Watch>>);

#[derive(Default)]
struct Watch {
    calls: Vec<Call>,
    /// The number of calls, calls that change nothing included.
    made: usize,
    /// The number of the call that is to fail, if any.
    failing_call: Option<usize>,
    /// The call that failed.
    failed: Option<String>,
    /// The number of files that the process may still open, if it is limited.
    files_left: Option<usize>,
    /// Whether hard links are refused.
    is_without_links: bool,
    /// The bytes of new space that are left, if they are limited.
    space: Option<u64>,
    /// The call from which on changes find no space, and which of the changes.
    want: Option<(usize, Want)>,
    /// The number of changes that found no space for that reason.
    wanted: u64,
    /// The end of the written part of each file: bytes before it take no new space.
    written: HashMap<PathBuf, u64>,
    /// The next sync of content sends to the first when it is requested, and then waits for the
    /// second.
    gate: Option<(Sender<()>, Receiver<()>)>,
}

/// Which changes find no space, whatever they change.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// The first one.
    Once,
    /// The given number of them, one after the other.
    Some(u64),
    /// About half of them, chosen by this seed.
    Often(u64),
    /// All of them.
    Always,
}

/// A sync that lasts until the test lets it go on.
pub struct HeldSync {
    asked: Receiver<()>,
    go_on: Sender<()>,
}

impl HeldSync {
    /// Waits until the sync is requested.
    pub fn is_asked(&self) {
        self.asked.recv().unwrap();
    }

    pub fn let_go_on(self) {
        self.go_on.send(()).unwrap();
    }
}

impl TestDisk {
    pub fn calls(&self) -> Vec<Call> {
        self.0.lock().unwrap().calls.clone()
    }

    pub fn call_count(&self) -> usize {
        self.0.lock().unwrap().calls.len()
    }

    /// Makes the call behind this number of further calls fail, of whatever kind it is.
    pub fn fail_after(&self, calls: usize) {
        let mut watch = self.0.lock().unwrap();
        watch.failing_call = Some(watch.made + calls);
    }

    /// Lets all calls succeed from now on. Returns whether the call that was to fail was not
    /// reached.
    pub fn fail_no_more(&self) -> bool {
        self.0.lock().unwrap().failing_call.take().is_some()
    }

    /// The call that has failed, if any.
    pub fn failed(&self) -> Option<String> {
        self.0.lock().unwrap().failed.clone()
    }

    /// Makes the next sync of the content of a file wait.
    pub fn hold_next_sync(&self) -> HeldSync {
        let (ask, asked) = channel();
        let (go_on, goes_on) = channel();
        self.0.lock().unwrap().gate = Some((ask, goes_on));
        HeldSync { asked, go_on }
    }

    fn wait_at_gate(&self) {
        let gate = self.0.lock().unwrap().gate.take();
        if let Some((ask, goes_on)) = gate {
            // If the test has failed meanwhile, neither side waits.
            let _ = ask.send(()).map(|()| goes_on.recv());
        }
    }

    /// Sets how many more files the process may open. A file that it closes does not count back:
    /// others take it.
    pub fn set_files_left(&self, files: Option<usize>) {
        self.0.lock().unwrap().files_left = files;
    }

    pub fn refuse_links(&self) {
        self.0.lock().unwrap().is_without_links = true;
    }

    fn take_file(&self) -> io::Result<()> {
        match &mut self.0.lock().unwrap().files_left {
            Some(0) => return Err(io::Error::from_raw_os_error(libc::EMFILE)),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(())
    }

    /// Makes changes find no space from now on, after `after` further calls.
    pub fn want_space(&self, after: usize, want: Want) {
        let mut watch = self.0.lock().unwrap();
        watch.want = Some((watch.made + after, want));
    }

    /// Whether any change has found no space for that reason.
    pub fn has_wanted_space(&self) -> bool {
        self.0.lock().unwrap().wanted > 0
    }

    pub fn set_space(&self, bytes: Option<u64>) {
        self.0.lock().unwrap().space = bytes;
    }

    fn note(&self, call: Call) -> io::Result<()> {
        let mut watch = self.0.lock().unwrap();
        if let Err(error) = watch.find_space().and_then(|()| watch.make(&call)) {
            if let Call::Sync(path) = call {
                watch.calls.push(Call::LostSync(path));
            }
            return Err(error);
        }
        watch.calls.push(call);
        Ok(())
    }

    /// Makes a call that changes nothing.
    fn ask(&self, name: &str, path: &Path) -> io::Result<()> {
        self.0.lock().unwrap().make(&(name, path))
    }

    /// Makes the space of a file available to others.
    fn give_back(&self, path: &Path) {
        let mut watch = self.0.lock().unwrap();
        let written = watch.written.remove(path).unwrap_or(0);
        watch.space = watch.space.map(|space| space + written);
    }

    /// Makes the space behind a new end of a file available to others.
    fn cut_off(&self, path: &Path, size: u64) {
        let mut watch = self.0.lock().unwrap();
        let written = watch.written.get(path).copied().unwrap_or(0);
        let cut_off = written.saturating_sub(size);
        watch.written.insert(path.to_owned(), written - cut_off);
        watch.space = watch.space.map(|space| space + cut_off);
    }

    /// The number of the bytes that find space.
    fn free_bytes(&self, path: &Path, offset: u64, length: u64) -> io::Result<u64> {
        let mut watch = self.0.lock().unwrap();
        // The rest of a block exists once its beginning is written.
        let before = watch.written.get(path).copied().unwrap_or(0);
        let before = before.next_multiple_of(BLOCK as u64);
        let old = before.saturating_sub(offset).min(length);
        let new = (length - old).min(watch.space.unwrap_or(u64::MAX));
        if old + new == 0 && length > 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        watch.space = watch.space.map(|space| space - new);
        watch
            .written
            .insert(path.to_owned(), before.max(offset + old + new));
        Ok(old + new)
    }
}

impl Watch {
    fn find_space(&mut self) -> io::Result<()> {
        let Some((from, want)) = self.want else {
            return Ok(());
        };
        let finds_none = self.made >= from
            && match want {
                Want::Once => self.wanted == 0,
                Want::Some(count) => self.wanted < count,
                Want::Often(seed) => !next(&mut (seed + self.made as u64)).is_multiple_of(2),
                Want::Always => true,
            };
        if finds_none {
            self.made += 1;
            self.wanted += 1;
            return Err(ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn make(&mut self, call: &dyn Debug) -> io::Result<()> {
        let fails = self.failing_call == Some(self.made);
        self.made += 1;
        if fails {
            self.failing_call = None;
            // The first characters of the call, not all the bytes of a write.
            self.failed = Some(format!("{call:?}").chars().take(120).collect());
            return Err(io::Error::other("the test lets this call fail"));
        }
        Ok(())
    }
}

impl Io for TestDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn IoFile>> {
        self.take_file()?;
        self.note(Call::Create(path.to_owned()))?;
        self.0.lock().unwrap().written.remove(path);
        let file = Disk.create(path)?;
        Ok(Box::new(TestFile {
            disk: self.clone(),
            path: path.to_owned(),
            file,
        }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn IoFile>> {
        self.take_file()?;
        self.ask("open", path)?;
        let file = Disk.open(path)?;
        if self.0.lock().unwrap().space.is_some() {
            let bytes = Disk.read(path)?;
            let last = bytes.iter().rposition(|&byte| byte != 0);
            let used = match last {
                // A file of a reserve.
                None => bytes.len() as u64,
                Some(last) => (last as u64 + 1).next_multiple_of(4096),
            };
            let mut watch = self.0.lock().unwrap();
            watch.written.entry(path.to_owned()).or_insert(used);
        }
        Ok(Box::new(TestFile {
            disk: self.clone(),
            path: path.to_owned(),
            file,
        }))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn IoFile>> {
        self.take_file()?;
        self.ask("open to read", path)?;
        let file = Disk.open_read(path)?;
        Ok(Box::new(TestFile {
            disk: self.clone(),
            path: path.to_owned(),
            file,
        }))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.0.lock().unwrap().is_without_links {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        Disk.link(from, to)?;
        self.note(Call::Link(from.to_owned(), to.to_owned()))
            .inspect_err(|_| drop(Disk.remove(to)))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.take_file()?;
        self.ask("read", path)?;
        Disk.read(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.take_file()?;
        self.ask("list", folder)?;
        Disk.list(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.note(Call::Rename(from.to_owned(), to.to_owned()))?;
        self.give_back(to);
        let mut watch = self.0.lock().unwrap();
        if let Some(written) = watch.written.remove(from) {
            watch.written.insert(to.to_owned(), written);
        }
        drop(watch);
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if !path.exists() {
            self.ask("remove", path)?;
            return Err(ErrorKind::NotFound.into());
        }
        self.note(Call::Remove(path.to_owned()))?;
        self.give_back(path);
        Disk.remove(path)
    }

    fn open_folder(&self, folder: &Path) -> io::Result<Box<dyn IoFolder>> {
        self.take_file()?;
        Ok(Box::new(TestFolder {
            disk: self.clone(),
            path: folder.to_owned(),
        }))
    }
}

struct TestFolder {
    disk: TestDisk,
    path: PathBuf,
}

impl IoFolder for TestFolder {
    fn sync(&self) -> io::Result<()> {
        self.disk.note(Call::SyncFolder(self.path.clone()))
    }
}

struct TestFile {
    disk: TestDisk,
    path: PathBuf,
    file: Box<dyn IoFile>,
}

impl IoFile for TestFile {
    fn size(&self) -> io::Result<u64> {
        self.disk.ask("size", &self.path)?;
        self.file.size()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.ask("read at", &self.path)?;
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let free = self
            .disk
            .free_bytes(&self.path, offset, bytes.len() as u64)?;
        let bytes = &bytes[..free as usize];
        self.disk
            .note(Call::Write(self.path.clone(), offset, bytes.to_vec()))?;
        self.file.write_at(bytes, offset)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.disk.note(Call::SetSize(self.path.clone(), size))?;
        self.disk.cut_off(&self.path, size);
        self.file.set_size(size)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.wait_at_gate();
        self.disk.note(Call::Sync(self.path.clone()))
    }

    fn sync_all(&self) -> io::Result<()> {
        self.disk.note(Call::Sync(self.path.clone()))
    }

    fn map(&self) -> io::Result<Mapping> {
        self.disk.ask("map", &self.path)?;
        self.file.map()
    }
}

/// Which unsynced changes a power cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Everything.
    All,
    /// Nothing: the process was killed, and the machine went on.
    Nothing,
    /// Any sectors of the files and any changes of names, chosen by this seed.
    Some(u64),
}

/// The files of a folder by their full path.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The files that are left after a power cut behind these calls.
pub fn after_power_cut(before: &Files, calls: &[Call], loss: Loss) -> Files {
    let mut cut = PowerCut::default();
    for (path, bytes) in before {
        cut.files.push(CachedFile {
            durable: bytes.clone(),
            pending: Vec::new(),
        });
        cut.names.insert(path.clone(), cut.files.len() - 1);
    }
    cut.durable_names = cut.names.clone();
    for call in calls {
        cut.play(call);
    }
    cut.lose(loss)
}

#[derive(Default)]
struct PowerCut {
    files: Vec<CachedFile>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    /// The changes of names that were not synced.
    pending_names: Vec<NameChange>,
}

#[derive(Default)]
struct NameChange {
    removed: Option<PathBuf>,
    added: Option<(PathBuf, usize)>,
}

impl NameChange {
    /// A path in the folder that changes: nothing is moved from one to another.
    fn path(&self) -> &Path {
        let added = self.added.as_ref().map(|(path, _)| path);
        added
            .or(self.removed.as_ref())
            .expect("a change has a path")
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        if let Some(path) = &self.removed {
            names.remove(path);
        }
        names.extend(self.added.clone());
    }
}

struct CachedFile {
    durable: Vec<u8>,
    pending: Vec<Call>,
}

impl PowerCut {
    fn play(&mut self, call: &Call) {
        match call {
            Call::Create(path) => {
                self.files.push(CachedFile {
                    durable: Vec::new(),
                    pending: Vec::new(),
                });
                let added = Some((path.clone(), self.files.len() - 1));
                self.change_names(NameChange {
                    removed: None,
                    added,
                });
            }
            Call::Rename(from, to) => {
                let added = Some((to.clone(), self.names[from]));
                self.change_names(NameChange {
                    removed: Some(from.clone()),
                    added,
                });
            }
            Call::Link(from, to) => {
                let added = Some((to.clone(), self.names[from]));
                self.change_names(NameChange {
                    removed: None,
                    added,
                });
            }
            Call::Remove(path) => {
                self.change_names(NameChange {
                    removed: Some(path.clone()),
                    added: None,
                });
            }
            Call::Write(path, ..) | Call::SetSize(path, _) => {
                self.files[self.names[path]].pending.push(call.clone());
            }
            Call::Sync(path) => {
                let file = &mut self.files[self.names[path]];
                for call in std::mem::take(&mut file.pending) {
                    apply(&call, &mut file.durable, || true);
                }
            }
            Call::LostSync(path) => self.files[self.names[path]].pending.clear(),
            Call::SyncFolder(folder) => {
                let changes = std::mem::take(&mut self.pending_names);
                let (synced, pending): (Vec<_>, Vec<_>) = changes
                    .into_iter()
                    .partition(|change| change.path().parent() == Some(folder));
                self.pending_names = pending;
                for change in synced {
                    change.apply(&mut self.durable_names);
                }
            }
        }
    }

    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending_names.push(change);
    }

    fn lose(mut self, loss: Loss) -> Files {
        let mut random = match loss {
            Loss::Some(seed) => seed,
            Loss::All | Loss::Nothing => 0,
        };
        let mut keep = || match loss {
            Loss::All => false,
            Loss::Nothing => true,
            Loss::Some(_) => next(&mut random).is_multiple_of(2),
        };
        for file in &mut self.files {
            for call in std::mem::take(&mut file.pending) {
                apply(&call, &mut file.durable, &mut keep);
            }
        }
        for change in self.pending_names.drain(..).filter(|_| keep()) {
            change.apply(&mut self.durable_names);
        }
        let files = &self.files;
        self.durable_names
            .iter()
            .map(|(p, &at)| (p.clone(), files[at].durable.clone()))
            .collect()
    }
}

/// Applies the sectors of a call that `keep` chooses.
fn apply(call: &Call, content: &mut Vec<u8>, mut keep: impl FnMut() -> bool) {
    const SECTOR: u64 = 512;
    match call {
        Call::SetSize(_, size) if keep() => content.resize(*size as usize, 0),
        Call::Write(_, offset, bytes) => {
            let end = offset + bytes.len() as u64;
            for sector in offset / SECTOR..end.div_ceil(SECTOR) {
                if !keep() {
                    continue;
                }
                let from = (sector * SECTOR).max(*offset);
                let to = ((sector + 1) * SECTOR).min(end);
                content.resize(content.len().max(to as usize), 0);
                content[from as usize..to as usize]
                    .copy_from_slice(&bytes[(from - offset) as usize..(to - offset) as usize]);
            }
        }
        _ => {}
    }
}

/// The next number of a splitmix64 sequence.
fn next(state: &mut u64) -> u64 {
    *state = (*state).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
