//! What Tantivy keeps of a [`Document`].
//!
//! Both kinds have one schema; a field that a kind does not use costs nothing. Nothing is kept that is not asked
//! for: positions for text alone, no norms, no statistics beyond what comes with the postings.

use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{TantivyDocument, Term};
use uuid::Uuid;

use super::ids::{ID_HIGH, ID_LOW, bucket};
use super::removal::Removal;
use super::rows;
use super::tokens::TOKENIZER;
use crate::document::Document;
use crate::plan::{KeyField, Kind, NumberField, OrderField, SourceField, TextField};

/// The company's number, as a column and as a term: a company's own, that of a person's company, 0 where there is none.
pub(super) const COMPANY: &str = "company";

const TEXTS: [TextField; 8] = [
    TextField::CompanyName,
    TextField::CompanyFullName,
    TextField::BusinessTypes,
    TextField::Tags,
    TextField::Description,
    TextField::JobTitles,
    TextField::Place,
    TextField::PeoplePlaces,
];
const KEYS: [KeyField; 6] = [
    KeyField::Website,
    KeyField::Domain,
    KeyField::BusinessEmail,
    KeyField::Phone,
    KeyField::WholeTag,
    KeyField::Flag,
];
const NUMBERS: [NumberField; 3] = [
    NumberField::InfoUpdatedAt,
    NumberField::FoundedDate,
    NumberField::EmployeeCount,
];
const ORDERS: [OrderField; 3] = [OrderField::Name, OrderField::JobTitle, OrderField::CompanyName];
const SOURCES: [SourceField; 4] = [
    SourceField::BusinessTypes,
    SourceField::Tags,
    SourceField::JobTitles,
    SourceField::Places,
];

// Fields are looked up by the place of their names in the enumerations.
const _: () = {
    let mut index = 0;
    while index < TEXTS.len() {
        assert!(TEXTS[index] as usize == index);
        index += 1;
    }
    index = 0;
    while index < KEYS.len() {
        assert!(KEYS[index] as usize == index);
        index += 1;
    }
    index = 0;
    while index < NUMBERS.len() {
        assert!(NUMBERS[index] as usize == index);
        index += 1;
    }
    index = 0;
    while index < ORDERS.len() {
        assert!(ORDERS[index] as usize == index);
        index += 1;
    }
    index = 0;
    while index < SOURCES.len() {
        assert!(SOURCES[index] as usize == index);
        index += 1;
    }
};

const fn text_name(field: TextField) -> &'static str {
    match field {
        TextField::CompanyName => "text_company_name",
        TextField::CompanyFullName => "text_company_full_name",
        TextField::BusinessTypes => "text_business_types",
        TextField::Tags => "text_tags",
        TextField::Description => "text_description",
        TextField::JobTitles => "text_job_titles",
        TextField::Place => "text_place",
        TextField::PeoplePlaces => "text_people_places",
    }
}

const fn key_name(field: KeyField) -> &'static str {
    match field {
        KeyField::Website => "key_website",
        KeyField::Domain => "key_domain",
        KeyField::BusinessEmail => "key_business_email",
        KeyField::Phone => "key_phone",
        KeyField::WholeTag => "key_whole_tag",
        KeyField::Flag => "key_flag",
    }
}

/// Column of a number.
pub(super) const fn number_name(field: NumberField) -> &'static str {
    match field {
        NumberField::InfoUpdatedAt => "number_info_updated_at",
        NumberField::FoundedDate => "number_founded_date",
        NumberField::EmployeeCount => "number_employee_count",
    }
}

/// Column of a text to order by.
pub(super) const fn order_name(field: OrderField) -> &'static str {
    match field {
        OrderField::Name => "order_name",
        OrderField::JobTitle => "order_job_title",
        OrderField::CompanyName => "order_company_name",
    }
}

/// Column of texts as sources write them.
pub(super) const fn source_name(field: SourceField) -> &'static str {
    match field {
        SourceField::BusinessTypes => "source_business_types",
        SourceField::Tags => "source_tags",
        SourceField::JobTitles => "source_job_titles",
        SourceField::Places => "source_places",
    }
}

/// Whether the field of a document of this kind has many values. Where it has one, its words may stand beyond
/// [`MAX_SLOTS`](crate::values::MAX_SLOTS), and positions tell no values.
pub(super) const fn has_many_values(kind: Kind, field: TextField) -> bool {
    match field {
        TextField::BusinessTypes | TextField::Tags | TextField::PeoplePlaces => true,
        TextField::JobTitles => matches!(kind, Kind::Company),
        TextField::CompanyName | TextField::CompanyFullName | TextField::Description | TextField::Place => {
            false
        }
    }
}

/// The schema and its fields.
#[derive(Clone)]
pub(super) struct Fields {
    pub(super) schema: Schema,
    /// Of the buckets of ids.
    pub(super) bucket: Field,
    pub(super) row: Field,
    id_high: Field,
    id_low: Field,
    company: Field,
    texts: [Field; TEXTS.len()],
    keys: [Field; KEYS.len()],
    numbers: [Field; NUMBERS.len()],
    orders: [Field; ORDERS.len()],
    sources: [Field; SOURCES.len()],
}

impl Fields {
    pub(super) fn new() -> Self {
        let indexed = |tokenizer, option| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(tokenizer)
                .set_index_option(option)
                .set_fieldnorms(false);
            TextOptions::default().set_indexing_options(indexing)
        };
        let text = indexed(TOKENIZER, IndexRecordOption::WithFreqsAndPositions);
        let key = indexed("raw", IndexRecordOption::Basic);
        let number = NumericOptions::default().set_fast();
        let mut schema = Schema::builder();
        let bucket = schema.add_bytes_field("id_bucket", BytesOptions::default().set_indexed());
        let id_high = schema.add_u64_field(ID_HIGH, number.clone());
        let id_low = schema.add_u64_field(ID_LOW, number.clone());
        let company = schema.add_u64_field(COMPANY, number.clone().set_indexed());
        let row = schema.add_bytes_field("row", BytesOptions::default().set_stored());
        let texts = TEXTS.map(|field| schema.add_text_field(text_name(field), text.clone()));
        let keys = KEYS.map(|field| schema.add_text_field(key_name(field), key.clone()));
        let numbers = NUMBERS.map(|field| schema.add_i64_field(number_name(field), number.clone()));
        let column = || TextOptions::default().set_fast("raw");
        let orders = ORDERS.map(|field| schema.add_text_field(order_name(field), column()));
        let sources = SOURCES.map(|field| schema.add_text_field(source_name(field), column()));
        Self {
            schema: schema.build(),
            bucket,
            row,
            id_high,
            id_low,
            company,
            texts,
            keys,
            numbers,
            orders,
            sources,
        }
    }

    pub(super) const fn text(&self, field: TextField) -> Field {
        self.texts[field as usize]
    }

    pub(super) const fn key(&self, field: KeyField) -> Field {
        self.keys[field as usize]
    }

    /// The removal of the documents with one of these ids.
    pub(super) fn removal(&self, ids: Vec<Uuid>) -> Removal {
        Removal::of(self.bucket, ids)
    }

    /// The term of the company with this number, and of the people who work there.
    pub(super) fn company_term(&self, number: u64) -> Term {
        Term::from_field_u64(self.company, number)
    }

    /// What Tantivy is given of a document.
    pub(super) fn document(&self, document: &Document) -> TantivyDocument {
        let mut out = TantivyDocument::new();
        let (high, low) = document.id.as_u64_pair();
        out.add_bytes(self.bucket, &bucket(document.id));
        out.add_u64(self.id_high, high);
        out.add_u64(self.id_low, low);
        out.add_u64(self.company, document.company.map_or(0, |number| number.0));
        out.add_bytes(self.row, &rows::pack(document.kind, &document.row));
        for (field, values) in &document.texts {
            out.add_text(self.text(*field), values.as_str());
        }
        for (field, terms) in &document.keys {
            for term in terms {
                out.add_text(self.key(*field), term);
            }
        }
        for (field, number) in &document.numbers {
            out.add_i64(self.numbers[*field as usize], *number);
        }
        for (field, text) in &document.orders {
            out.add_text(self.orders[*field as usize], text);
        }
        for (field, texts) in &document.sources {
            for text in texts {
                out.add_text(self.sources[*field as usize], text);
            }
        }
        out
    }
}
