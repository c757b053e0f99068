//! Reads the sources on a thread of its own and makes batches of what they hold.
//!
//! The thread waits where the batches are taken slower than they are made. It ends when all is read, or when nobody
//! takes batches any more; a thread that hangs on standard input ends with the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use proto::search::v1::{ImportRecord, ImportRequest};
use tokio::sync::mpsc;

use super::line;
use super::progress::Progress;
use crate::source::Source;

/// Most records of a batch; the service takes 5,000.
const BATCH_RECORDS: usize = 1_000;
/// A batch is full when its lines have so many bytes: with one line more it stays below what gRPC carries.
const BATCH_BYTES: usize = 1024 * 1024;

/// Records that are stored together.
pub(super) struct Batch {
    /// Where they come from.
    pub(super) source: Arc<str>,
    /// The records.
    pub(super) request: ImportRequest,
    /// Bytes of all sources read when it was full, as stored.
    pub(super) bytes_read: u64,
}

/// What the reader met.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// Lines that are no records.
    pub(super) bad_lines: u64,
    /// Sources that could not be read to their end.
    pub(super) broken_sources: u64,
}

/// Starts to read; the batches come out of the receiver, the outcome out of the handle once they have ended.
pub(super) fn start(
    sources: Vec<Source>,
    progress: Progress,
) -> (mpsc::Receiver<Batch>, thread::JoinHandle<Read>) {
    let (sender, receiver) = mpsc::channel(2);
    let handle = thread::spawn(move || {
        let mut reader = Reader {
            sender,
            progress,
            counter: Arc::default(),
            read: Read::default(),
        };
        for source in sources {
            let name: Arc<str> = if source.name == "-" {
                "stdin".into()
            } else {
                source.name.as_str().into()
            };
            match reader.read(source, &name) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    reader.read.broken_sources += 1;
                    reader
                        .progress
                        .tell(&format!("{name}: can't be read further: {error}"));
                }
            }
        }
        reader.read
    });
    (receiver, handle)
}

struct Reader {
    sender: mpsc::Sender<Batch>,
    progress: Progress,
    counter: Arc<AtomicU64>,
    read: Read,
}

impl Reader {
    /// Whether there is anybody to read on for. What was read before an error has been passed on.
    fn read(&mut self, source: Source, name: &Arc<str>) -> std::io::Result<bool> {
        let mut lines = source.lines(self.counter.clone())?;
        let (mut records, mut bytes) = (Vec::new(), 0);
        loop {
            let line = match lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(self.pass_on(name, records)),
                Err(error) => {
                    self.pass_on(name, records);
                    return Err(error);
                }
            };
            match line::parse(line.number, line.bytes) {
                Ok(None) => {}
                Ok(Some(record)) => {
                    records.push(record);
                    bytes += line.bytes.map_or(0, <[u8]>::len);
                }
                Err(reason) => {
                    self.read.bad_lines += 1;
                    self.progress.tell(&format!("{name}:{}: {reason}", line.number));
                }
            }
            if records.len() >= BATCH_RECORDS || bytes >= BATCH_BYTES {
                if !self.pass_on(name, std::mem::take(&mut records)) {
                    return Ok(false);
                }
                bytes = 0;
            }
        }
    }

    fn pass_on(&self, source: &Arc<str>, records: Vec<ImportRecord>) -> bool {
        if records.is_empty() {
            return !self.sender.is_closed();
        }
        let batch = Batch {
            source: source.clone(),
            request: ImportRequest { records },
            bytes_read: self.counter.load(Ordering::Relaxed),
        };
        self.sender.blocking_send(batch).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file(content: &[u8]) -> (tempfile::NamedTempFile, Source) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let source = Source::open(file.path().to_str().unwrap()).unwrap();
        (file, source)
    }

    fn batches(sources: Vec<Source>) -> (Vec<Batch>, Read) {
        let (mut receiver, handle) = start(sources, Progress::quiet());
        let mut batches = Vec::new();
        while let Some(batch) = receiver.blocking_recv() {
            batches.push(batch);
        }
        (batches, handle.join().unwrap())
    }

    fn company(number: usize, description: &str) -> String {
        format!(
            "{{\"type\":\"company\",\"externalId\":\"{number}\",\"name\":\"A\",\"description\":\"{description}\"}}\n"
        )
    }

    #[test]
    fn batches_are_bounded_and_bad_lines_are_counted_and_left_out() {
        let mut content: String = (0..2_500).map(|number| company(number, "")).collect();
        content.push_str("\nbad\n");
        let (kept, source) = file(content.as_bytes());
        let (batches, read) = batches(vec![source]);
        let sizes: Vec<_> = batches.iter().map(|batch| batch.request.records.len()).collect();
        assert_eq!(sizes, [1_000, 1_000, 500]);
        assert_eq!(
            read,
            Read {
                bad_lines: 1,
                broken_sources: 0
            }
        );
        assert_eq!(batches[2].request.records[0].line, 2_001);
        assert_eq!(batches[2].bytes_read, kept.as_file().metadata().unwrap().len());
    }

    #[test]
    fn large_records_make_small_batches() {
        let description = "x".repeat(9_000);
        let content: String = (0..300).map(|number| company(number, &description)).collect();
        let (_kept, source) = file(content.as_bytes());
        let (batches, _) = batches(vec![source]);
        assert_eq!(
            batches
                .iter()
                .map(|batch| batch.request.records.len())
                .sum::<usize>(),
            300
        );
        assert!(
            batches.iter().all(|batch| batch.request.records.len() <= 130),
            "about a mebibyte each"
        );
    }

    #[test]
    fn a_broken_source_is_told_and_the_next_is_read() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        packed.write_all(company(1, "").repeat(3_000).as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        let (_first, broken) = file(&packed[..packed.len() / 2]);
        let (_second, whole) = file(company(2, "").as_bytes());
        let (batches, read) = batches(vec![broken, whole]);
        assert_eq!(read.broken_sources, 1);
        assert!(
            batches
                .iter()
                .map(|batch| batch.request.records.len())
                .sum::<usize>()
                > 1_000
        );
        assert_eq!(batches.last().unwrap().request.records.len(), 1);
    }

    #[test]
    fn reading_ends_when_nobody_takes_the_batches() {
        let content: String = (0..50_000).map(|number| company(number, "")).collect();
        let (_kept, source) = file(content.as_bytes());
        let (receiver, handle) = start(vec![source], Progress::quiet());
        drop(receiver);
        handle.join().unwrap();
    }
}
