//! How long a restart takes: `restart [--points N] [--dimension D] [--json FILE]`.
//!
//! It opens a folder of synthetic points with one graph in three ways, again and again: with its
//! snapshot and all files in the page cache; without a snapshot, so that the graph is built in the
//! background while exact scans answer; and with its snapshot but an empty page cache. Each time it
//! compares the first answer with that before the restart.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::mpsc::channel,
    thread,
    time::{Duration, Instant},
};

use vectord_bench::{
    report::{Bound, Cell, Report, Row, Table, Verdict},
    rounds::Samples,
    synthetic::Family,
};
use vectord_engine::{Batch, DEFAULT_SEGMENT_BYTES, Engine, Metric, Options, Params, Query};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROUNDS: usize = 7;
/// A start without anything in the cache reads the whole folder each time.
const COLD_ROUNDS: usize = 3;
/// The points of one insert request.
const BATCH: usize = 1_000;
const CONTENT: &[u8] = b"a content of some bytes";
const LIMIT: usize = 10;
const EF: usize = 100;
/// Searches right after a start, and as many later.
const FIRST: usize = 200;
/// Seconds for each million points of 384 dimensions.
const MOST_SECONDS: f64 = 1.0;
/// With fewer points the constant part of the time counts too much.
const LEAST_POINTS: usize = 100_000;

struct Asked {
    points: usize,
    dimension: u32,
    json: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let asked = asked()?;
    let folder = tempfile::tempdir()?;
    let family = Family::new(asked.dimension as usize);
    let queries = family.queries(FIRST);
    let queries: Vec<&[f32]> = queries.chunks_exact(asked.dimension as usize).collect();
    let bench = Bench {
        folder: folder.path(),
        asked: &asked,
        queries: &queries,
    };
    let (build, answers) = bench.prepare(&family)?;
    println!("built in {build:.1} s");

    let found = bench.rounds(&answers)?;
    let millions = asked.points as f64 / 1e6;
    let each = |samples: &Samples| Cell::Number(f64::from(samples.median()) / millions, 2);
    let start = |how: &'static str, samples: &Samples| -> Row {
        vec![
            ("start", how.into()),
            ("seconds to the first answer", samples.cell(2)),
            ("for a million points", each(samples)),
        ]
    };
    let starts = vec![
        start("snapshot, files in the cache", &found.warm),
        start("no snapshot, files in the cache, exact scan", &found.bare),
        start("snapshot, nothing in the cache", &found.cold),
        vec![
            ("start", "graph built anew".into()),
            ("seconds to the first answer", Cell::Number(build, 1)),
            ("for a million points", Cell::Number(build / millions, 1)),
        ],
    ];
    let searches = vec![
        search("later, in the same process", &found.later),
        search("the first after a start, files in the cache", &found.first),
        search(
            "the first after a start with nothing in the cache",
            &found.cold_first,
        ),
    ];
    for row in starts.iter().chain(&searches) {
        let cells = row.iter().map(|(name, cell)| format!("{name}: {cell}"));
        println!("  {}", cells.collect::<Vec<_>>().join(", "));
    }
    println!(
        "  megabytes read a second with nothing in the cache: {}",
        found.read.cell(0)
    );
    println!("  first searches / later: {}", found.slower.cell(2));
    let verdicts = vec![Verdict {
        what: "seconds for a million points, snapshot, files cached".into(),
        found: each(&found.warm),
        bound: Bound::AtMost(MOST_SECONDS),
    }];
    for verdict in &verdicts {
        verdict.print();
    }
    let report = Report {
        settings: vec![
            ("points", asked.points.to_string()),
            ("dimension", asked.dimension.to_string()),
            (
                "graphs",
                "1, Euclidean, M = 16, ef_construction = 200".into(),
            ),
            (
                "searches",
                format!("{FIRST}, limit {LIMIT}, ef {EF}, one thread"),
            ),
            (
                "rounds",
                format!("{ROUNDS}, {COLD_ROUNDS} with nothing in the cache, of which the median"),
            ),
        ],
        tables: vec![
            Table {
                title: "From the start to the first answer, which is right".into(),
                rows: starts,
            },
            Table {
                title: "Searches after a start".into(),
                rows: searches,
            },
        ],
        verdicts,
        decides: asked.points >= LEAST_POINTS && asked.dimension == 384,
    };
    Ok(report.end(asked.json.as_deref())?)
}

fn search(when: &'static str, samples: &Samples) -> Row {
    vec![
        ("searches", when.into()),
        ("microseconds each", samples.cell(0)),
    ]
}

fn asked() -> Result<Asked> {
    let usage = "restart [--points N] [--dimension D] [--json FILE]";
    let mut asked = Asked {
        points: 1_000_000,
        dimension: 384,
        json: None,
    };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(usage)?;
        match argument.as_str() {
            "--points" => asked.points = value.parse()?,
            "--dimension" => asked.dimension = value.parse()?,
            "--json" => asked.json = Some(value.into()),
            _ => return Err(usage.into()),
        }
    }
    Ok(asked)
}

/// Ids as random as those of the service.
fn id(number: u128) -> [u8; 16] {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    (mixed ^ (mixed >> 67)).to_be_bytes()
}

/// The ids of an answer.
type Answer = Vec<[u8; 16]>;

struct Bench<'a> {
    folder: &'a Path,
    asked: &'a Asked,
    queries: &'a [&'a [f32]],
}

/// The measurements of the rounds: seconds for starts, microseconds for searches.
struct Measured {
    warm: Samples,
    /// Without snapshot.
    bare: Samples,
    cold: Samples,
    /// The first searches after a warm start, and the same once more.
    first: Samples,
    later: Samples,
    /// By how much the first ones are slower.
    slower: Samples,
    cold_first: Samples,
    /// Megabytes a second that a cold start reads.
    read: Samples,
}

impl Bench<'_> {
    fn options(&self, warm_metrics: Vec<Metric>) -> Options {
        Options {
            path: self.folder.to_owned(),
            dimension: Some(self.asked.dimension),
            graph: Params::default(),
            warm_metrics,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            max_queued_bytes: 1 << 30,
            max_column_bytes: 256 << 20,
        }
    }

    /// Fills the folder and builds the graph. Returns the seconds that building took, and the
    /// answers.
    fn prepare(&self, family: &Family) -> Result<(f64, Vec<Answer>)> {
        let engine = Engine::open(&self.options(Vec::new()))?;
        for first in (0..self.asked.points).step_by(BATCH) {
            let count = BATCH.min(self.asked.points - first);
            let numbers = first as u128..(first + count) as u128;
            let (done, outcome) = channel();
            let batch = Batch {
                ids: numbers.map(id).collect(),
                vectors: family.points(first as u64, count),
                content_types: vec![1; count],
                contents: CONTENT.repeat(count),
                content_ends: (1..=count).map(|point| point * CONTENT.len()).collect(),
                ..Batch::default()
            };
            // The receiver lives until the result has come.
            engine.insert(batch, Box::new(move |result| drop(done.send(result))));
            outcome.recv()??;
        }
        engine.close()?;
        let start = Instant::now();
        let engine = Engine::open(&self.options(vec![Metric::Euclidean]))?;
        while engine
            .status()
            .graphs
            .iter()
            .any(|graph| graph.linked < graph.slots)
        {
            thread::sleep(Duration::from_millis(20));
        }
        let build = start.elapsed().as_secs_f64();
        let answers = self.queries.iter().map(|query| answer(&engine, query));
        let answers = answers.collect::<Result<_>>()?;
        engine.close()?;
        Ok((build, answers))
    }

    fn rounds(&self, answers: &[Answer]) -> Result<Measured> {
        let [warm, bare, cold, first, later, slower, cold_first, read] =
            [const { Samples::new() }; 8];
        let mut measured = Measured {
            warm,
            bare,
            cold,
            first,
            later,
            slower,
            cold_first,
            read,
        };
        for round in 0..=ROUNDS {
            let (time, engine) = self.open(&answers[0])?;
            let first = self.searches(&engine, answers)?;
            let later = self.searches(&engine, answers)?;
            engine.close()?;
            let bare = self.without_snapshots()?;
            // The first round brings everything into the cache.
            if round > 0 {
                measured.warm.add(time);
                measured.bare.add(bare);
                measured.first.add(first);
                measured.later.add(later);
                measured.slower.add(first / later);
            }
        }
        for _ in 0..COLD_ROUNDS {
            let bytes = self.forget_cache()?;
            let (time, engine) = self.open(&answers[0])?;
            measured.cold.add(time);
            measured.read.add((bytes / 1e6) as f32 / time);
            measured.cold_first.add(self.searches(&engine, answers)?);
            engine.close()?;
        }
        Ok(measured)
    }

    /// Opens the folder; returns the seconds until the first answer, which is compared.
    fn open(&self, expected: &Answer) -> Result<(f32, Engine)> {
        let start = Instant::now();
        let engine = Engine::open(&self.options(Vec::new()))?;
        let found = answer(&engine, self.queries[0])?;
        let time = start.elapsed().as_secs_f32();
        compare(&found, expected)?;
        Ok((time, engine))
    }

    /// Microseconds for each of the searches.
    fn searches(&self, engine: &Engine, answers: &[Answer]) -> Result<f32> {
        let start = Instant::now();
        let found = self.queries.iter().map(|query| answer(engine, query));
        let found = found.collect::<Result<Vec<_>>>()?;
        let time = start.elapsed().as_secs_f32();
        for (found, expected) in found.iter().zip(answers) {
            compare(found, expected)?;
        }
        Ok(time * 1e6 / self.queries.len() as f32)
    }

    /// Seconds to the first answer where there is no snapshot.
    fn without_snapshots(&self) -> Result<f32> {
        let aside = tempfile::tempdir_in(self.folder.parent().ok_or("a folder has a parent")?)?;
        let mut moved = Vec::new();
        for path in self.files()? {
            if path
                .extension()
                .is_some_and(|extension| extension == "snapshot")
            {
                let to = aside
                    .path()
                    .join(path.file_name().ok_or("a file has a name")?);
                fs::rename(&path, &to)?;
                moved.push((path, to));
            }
        }
        let start = Instant::now();
        let engine = Engine::open(&self.options(Vec::new()))?;
        answer(&engine, self.queries[0])?;
        let time = start.elapsed().as_secs_f32();
        engine.close()?;
        for path in self.files()? {
            if path
                .extension()
                .is_some_and(|extension| extension == "snapshot")
            {
                fs::remove_file(path)?;
            }
        }
        for (path, from) in moved {
            fs::rename(from, path)?;
        }
        Ok(time)
    }

    /// Takes the files out of the page cache; returns how many bytes of them are in use.
    fn forget_cache(&self) -> Result<f64> {
        let mut bytes = 0.0;
        for path in self.files()? {
            let file = fs::File::open(&path)?;
            file.sync_all()?;
            #[cfg(target_os = "linux")]
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
            bytes += std::os::unix::fs::MetadataExt::blocks(&file.metadata()?) as f64 * 512.0;
        }
        Ok(bytes)
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.folder)?;
        Ok(entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?)
    }
}

fn answer(engine: &Engine, query: &[f32]) -> Result<Answer> {
    let (done, outcome) = channel();
    let asked = Query {
        metric: Metric::Euclidean,
        limit: LIMIT,
        ef: EF,
    };
    if let Some(hits) = engine.search(query, &asked)? {
        return Ok(hits.into_iter().map(|hit| hit.id).collect());
    }
    // The receiver lives until the result has come.
    let answered = Box::new(move |result| drop(done.send(result)));
    engine.search_batch(query.to_vec(), vec![asked], answered);
    let hits: Vec<Vec<_>> = outcome.recv()??;
    Ok(hits.concat().into_iter().map(|hit| hit.id).collect())
}

/// Walks that begin elsewhere may find another tenth point; the nearest must be the same.
fn compare(found: &Answer, expected: &Answer) -> Result<()> {
    let shared = expected.iter().filter(|id| found.contains(id)).count();
    if found.first() == expected.first() && shared * 10 >= expected.len() * 8 {
        return Ok(());
    }
    Err(format!("{found:?}, expected {expected:?}").into())
}
