//! Settings of the index.

/// What the index may use. Threads and memory are not derived from the machine: the index writes beside searches
/// that need the cores more, and in containers whose memory the number of cores says nothing about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    /// Threads that turn documents into segments, for each kind. At least 1, at most 8.
    pub writer_threads: usize,
    /// Bytes of memory in which documents are gathered before a segment is written, for each kind, all its threads
    /// together. At least 15 MB a thread. A rebuild beside a serving index has the same once more.
    pub writer_memory_bytes: usize,
    /// Threads that merge segments, for each kind. At least 1.
    pub merge_threads: usize,
    /// Whether every file's checksum is checked on open. It reads the whole index, which warms the cache that the
    /// searches will use; without it only missing, truncated and unreadable files are noticed.
    pub verify_on_open: bool,
    /// Threads that searches run on. A search that has much to look at takes more than one while others are free.
    pub search_threads: usize,
    /// That is worth it from so many looks on at documents of the largest segment: a word is looked up with one, where it
    /// stands with twenty, and to combine what is known takes none.
    pub shared_from: u64,
    /// Of segments of so many documents on, the documents of frequent terms and of clauses that are asked again and again are
    /// kept in memory, 32 MiB of all segments at most, and two tables of at most 16 MiB each: about where each document's id
    /// stands (11 bits a document), and where companies stand by their numbers (4 bytes a number
    /// between a segment's least and its greatest one).
    pub kept_from: u64,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self {
            writer_threads: 1,
            writer_memory_bytes: 64 << 20,
            merge_threads: 1,
            verify_on_open: true,
            search_threads: 1,
            shared_from: 200_000,
            kept_from: 65_536,
        }
    }
}
