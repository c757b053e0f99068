//! What the search service tells by metrics, by name. Counters are there from the start, so that their first step is seen.

pub(crate) const COMPANIES_CUT: &str = "search_feed_companies_cut_total";
pub(crate) const DISK_FREE: &str = "search_index_disk_free_bytes";
pub(crate) const ENGINE_SECONDS: &str = "search_engine_duration_seconds";
pub(crate) const FEED_DOCUMENTS: &str = "search_feed_documents_total";
pub(crate) const FEED_ERRORS: &str = "search_feed_errors_total";
pub(crate) const FEED_LAST_CONTACT: &str = "search_feed_last_contact_timestamp_seconds";
pub(crate) const FEED_LAG_CHANGES: &str = "search_feed_lag_changes";
pub(crate) const FEED_LAG_SECONDS: &str = "search_feed_lag_seconds";
pub(crate) const FEED_POSITION: &str = "search_feed_position";
pub(crate) const INDEX_BYTES: &str = "search_index_bytes";
pub(crate) const INDEX_DOCUMENTS: &str = "search_index_documents";
pub(crate) const INDEX_MERGES: &str = "search_index_merges";
pub(crate) const INDEX_SEGMENTS: &str = "search_index_segments";
pub(crate) const SUGGESTIONS_SECONDS: &str = "search_suggestions_duration_seconds";

/// Describes them all, and begins to count.
pub fn describe() {
    metrics::describe_counter!(
        COMPANIES_CUT,
        "Documents of companies that tell of fewer of their people's titles or places than there are."
    );
    metrics::describe_counter!(FEED_DOCUMENTS, "Documents written to the index, by kind.");
    metrics::describe_counter!(
        FEED_ERRORS,
        "Times that the index could not follow the records; it tries again."
    );
    metrics::counter!(FEED_ERRORS).increment(0);
    for (name, meaning) in [
        (DISK_FREE, "Room that is left on the disk of the index."),
        (
            FEED_LAG_CHANGES,
            "Changes of records that the index has not followed yet.",
        ),
        (
            FEED_LAG_SECONDS,
            "Age of the oldest of these changes; 0 if there is none.",
        ),
        (
            FEED_LAST_CONTACT,
            "When the index last knew how far behind it was.",
        ),
        (
            FEED_POSITION,
            "The number of the last change that the index has followed.",
        ),
        (INDEX_BYTES, "Size of the index on disk."),
        (INDEX_DOCUMENTS, "Documents in the index."),
        (INDEX_MERGES, "Merges of segments that run."),
        (INDEX_SEGMENTS, "Segments of the index."),
    ] {
        metrics::describe_gauge!(name, meaning);
    }
    metrics::describe_histogram!(
        ENGINE_SECONDS,
        "Searches in the index, without what is around them."
    );
    metrics::describe_histogram!(
        SUGGESTIONS_SECONDS,
        "Countings of what is suggested; a tenth of the time at most is spent on them."
    );
}
