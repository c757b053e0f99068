//! The search engine: Tantivy, embedded, behind [`crate::plan::Engine`].
//!
//! # On disk
//! An [`Index`] is a directory with a lock and generations (`place`); a [`Generation`] is two Tantivy indexes, one
//! of companies and one of people (`half`), written by a feed and searched by everyone. It is derived: what is
//! damaged or of another format is told by [`Opened::Unusable`] and built anew.
//!
//! # What can go wrong, and what holds then
//! - **A crash at any point.** A commit of a half carries the position of the change feed in its payload, in the same
//!   atomic replacement of `meta.json` as its segments. The position of the index is the earlier of its halves'; changes
//!   replace documents by id, so that writing again what one half had already changes nothing.
//! - **A write or commit that fails** (disk full, a worker that died) drops the writers, and with them everything since
//!   the last commit; the next write opens new ones and goes on from [`Generation::position`].
//! - **A second writer** on the directory is refused by the lock, whether in this process or another.
//! - **A search beside a commit** has one searcher for all it does and sees the state before or after it.
//! - **A rebuild** writes a generation of its own that can follow the feed; [`Index::switch`] renames one small file.
//!   Before, the old one is what a crash leaves; behind it, the new one.
//! - **A search that takes too long** looks at the clock each few hundred documents that are dear, and each window of
//!   documents otherwise, and gives up.
//!
//! # How a plan is answered
//! For each segment, the largest first, the filter becomes a set of documents (`segment`) that is worked through in
//! windows of 4096 as bit sets (`docs`, `window`). While other threads are free (`threads`) and there is much to look at,
//! large segments are cut into ranges of windows, which the threads take one after the other. Matches are counted by bits.
//! Of what matches, only what can still be among the first `skip + limit` is looked at closer: its key (`order`) is
//! compared with the worst one kept (`top`), and its id is looked at only on a tie (`id_order`). Words within one value are
//! checked by their positions (`words`), and only where the words are there at all; a score (`score`) is computed as
//! [`crate::plan::Ranking`] says it, in integers, only when ordered by it. The sets of frequent terms and of clauses that are
//! asked for again are kept (`kept`), as bits or lists (`bits`), and combined as a whole where they have little in common.
//!
//! People have their company's number, and nothing else of it: what a search for people asks of their companies is
//! asked of the companies first, once for all segments, and becomes a set of numbers (`employers`, `numbers`); where the
//! people's own conditions leave few of them, of their companies alone (`company_docs`). Both halves are therefore shown to
//! searches together, as one commit has left them.
//!
//! Segments are sorted by `infoUpdatedAt`, the newest first, since that is the order of every search that has no words
//! to rank by: such a page is complete after the first few matches, a range of it is a range of documents, and where the
//! number of matches is known beforehand (everything, one term) the rest is not even counted.
//!
//! Rows are read from the document store and unpacked (`rows`), for the hits alone.
//!
//! A document is found by its id through a term that it shares with others, and its columns (`ids`); what is written together
//! removes what it replaces in one piece (`removal`).
//!
//! Beside the searches, the records' texts as their sources write them can be gone through (`sources`), for suggestions.
//!
//! Conditions are walked by recursion, to the depth that the planner gives them, which does not depend on what a
//! caller sends. There is no query text, no automaton and no floating point anywhere.

mod bits;
mod company_docs;
mod deadline;
mod docs;
mod employers;
mod error;
mod generation;
mod half;
mod id_order;
mod ids;
mod index;
mod kept;
mod merges;
mod numbers;
mod order;
mod place;
mod removal;
mod rows;
mod schema;
mod score;
mod search;
mod segment;
mod settings;
mod sources;
mod threads;
mod tokens;
mod top;
mod window;
mod words;

pub use error::{IndexError, Unreadable};
pub use generation::{Generation, IndexStatus, KindStatus};
pub use index::{Committed, Index, Opened, Rebuild, Unusable};
pub use merges::Merging;
pub use settings::IndexSettings;
pub use sources::{RecordSources, Snapshot, Sources};
