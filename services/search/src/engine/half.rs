//! One Tantivy index: the companies or the people of a generation.

use std::fs;
use std::path::{Path, PathBuf};

use tantivy::directory::MmapDirectory;
use tantivy::index::{IndexBuilder, IndexSettings as TantivySettings, IndexSortByField, Order};
use tantivy::indexer::IndexWriterOptions;
use tantivy::store::Compressor;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument};

use super::error::{IndexError, Unreadable};
use super::merges::{Merges, Merging};
use super::removal::Removal;
use super::schema::{Fields, number_name};
use super::settings::IndexSettings;
use super::tokens::{SlotTokenizer, TOKENIZER};
use crate::document::{Change, Document};
use crate::plan::NumberField;

/// Bytes of packed rows in a block, which is copied as a whole for each hit. Of the sample, 1 KiB takes half a percent more
/// room than 4 KiB; less spares no more time.
const ROW_BLOCK: usize = 1024;

/// An index of one kind.
pub(super) struct Half {
    dir: PathBuf,
    index: Index,
    reader: IndexReader,
    merges: Merges,
}

impl Half {
    /// Makes an empty index in a directory that must not be there yet.
    pub(super) fn create(dir: &Path, fields: &Fields) -> Result<Self, IndexError> {
        fs::create_dir(dir).map_err(|error| IndexError::io(dir, error))?;
        let settings = TantivySettings {
            sort_by_field: Some(IndexSortByField {
                field: number_name(NumberField::InfoUpdatedAt).to_owned(),
                order: Order::Desc,
            }),
            // Rows are packed already.
            docstore_compression: Compressor::None,
            docstore_blocksize: ROW_BLOCK,
            // Threads are counted in the settings; this one would not be.
            docstore_compress_dedicated_thread: false,
            ..TantivySettings::default()
        };
        let index = IndexBuilder::new()
            .schema(fields.schema.clone())
            .settings(settings)
            .create_in_dir(dir)?;
        Self::with_reader(dir, index).map_err(IndexError::from)
    }

    /// Opens an index, whose files are all read once if `verify`.
    pub(super) fn open(dir: &Path, fields: &Fields, verify: bool) -> Result<Self, Unreadable> {
        let directory = MmapDirectory::open(dir).map_err(|error| Unreadable::damaged(error.into()))?;
        let index = Index::open(directory).map_err(Unreadable::damaged)?;
        if index.schema() != fields.schema {
            return Err(Unreadable::OtherFormat);
        }
        if verify {
            let damaged = index.validate_checksum().map_err(Unreadable::damaged)?;
            if let Some(file) = damaged.into_iter().next() {
                return Err(Unreadable::Checksum { file });
            }
        }
        Self::with_reader(dir, index).map_err(Unreadable::damaged)
    }

    fn with_reader(dir: &Path, index: Index) -> tantivy::Result<Self> {
        index.tokenizers().register(TOKENIZER, SlotTokenizer::default());
        // Reloaded after each commit by the one who commits, so that a search behind a commit sees it.
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        Ok(Self {
            dir: dir.to_owned(),
            index,
            reader,
            merges: Merges::default(),
        })
    }

    pub(super) fn writer(&self, settings: &IndexSettings) -> tantivy::Result<IndexWriter> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(settings.writer_threads)
            .memory_budget_per_thread(settings.writer_memory_bytes / settings.writer_threads.max(1))
            .num_merge_threads(settings.merge_threads)
            .build();
        let writer = self.index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(self.merges.policy(&self.index, Merging::AsItGrows)));
        Ok(writer)
    }

    pub(super) fn searcher(&self) -> Searcher {
        self.reader.searcher()
    }

    /// The position of the last commit.
    pub(super) fn position(&self) -> tantivy::Result<Option<i64>> {
        Ok(self
            .index
            .load_metas()?
            .payload
            .and_then(|payload| payload.parse().ok()))
    }

    /// Commits what was written, with the position. [`Half::searcher`] sees it from then on.
    pub(super) fn commit(
        &self,
        writer: &mut IndexWriter,
        position: i64,
        merging: Merging,
    ) -> tantivy::Result<()> {
        writer.set_merge_policy(Box::new(self.merges.policy(&self.index, merging)));
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&position.to_string());
        commit.commit()?;
        self.reload()
    }

    /// Lets [`Half::searcher`] see the last commit, and what merges have made of it.
    pub(super) fn reload(&self) -> tantivy::Result<()> {
        self.reader.reload()
    }

    /// Whether a merge has ended since this was asked last.
    pub(super) fn has_merged(&self) -> bool {
        self.merges.have_ended()
    }

    /// How many merges of its segments are running.
    pub(super) fn merges(&self) -> u64 {
        self.merges.running()
    }

    /// Bytes of its files.
    pub(super) fn bytes(&self) -> Result<u64, IndexError> {
        let failed = |error| IndexError::io(&self.dir, error);
        let mut bytes = 0;
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            // Merges come to their end and remove files meanwhile.
            if let Ok(metadata) = entry.map_err(failed)?.metadata() {
                bytes += metadata.len();
            }
        }
        Ok(bytes)
    }
}

/// Documents of one half and what they replace, as Tantivy takes them.
pub(super) struct Prepared {
    removal: Option<Removal>,
    documents: Vec<TantivyDocument>,
}

impl Prepared {
    /// Changes of one kind, each of another record.
    pub(super) fn changes<'a>(fields: &Fields, changes: impl Iterator<Item = &'a Change>) -> Self {
        let mut ids = Vec::new();
        let mut documents = Vec::new();
        for change in changes {
            ids.push(change.id());
            if let Change::Put(document) = change {
                documents.push(fields.document(document));
            }
        }
        Self {
            removal: (!ids.is_empty()).then(|| fields.removal(ids)),
            documents,
        }
    }

    /// Documents of one kind that replace none.
    pub(super) fn first<'a>(fields: &Fields, documents: impl Iterator<Item = &'a Document>) -> Self {
        Self {
            removal: None,
            documents: documents.map(|document| fields.document(document)).collect(),
        }
    }

    pub(super) fn write(self, writer: &IndexWriter) -> tantivy::Result<()> {
        if let Some(removal) = self.removal {
            removal.write(writer)?;
        }
        for document in self.documents {
            writer.add_document(document)?;
        }
        Ok(())
    }
}
