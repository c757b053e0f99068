//! A record as the index knows it: what is its own. What is asked of a person's company is asked of the company.
//!
//! Made from the record by [`crate::documents`], read by no one but an engine.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use uuid::Uuid;

use crate::plan::{KeyField, Kind, NumberField, OrderField, SourceField, TextField};
use crate::record::CompanyNumber;
use crate::values::Values;

/// A record, normalised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Companies or people.
    pub kind: Kind,
    /// Id of the record.
    pub id: Uuid,
    /// A company's number; a person's company's. None for a person whose company is not known.
    pub company: Option<CompanyNumber>,
    /// Each text field's values. They are different from each other and have at most
    /// [`MAX_SLOTS`](crate::values::MAX_SLOTS) slots where the field has many values.
    pub texts: BTreeMap<TextField, Values>,
    /// Each key field's terms.
    pub keys: BTreeMap<KeyField, Vec<String>>,
    /// Numbers that are there.
    pub numbers: BTreeMap<NumberField, i64>,
    /// Texts to order by that are there.
    pub orders: BTreeMap<OrderField, String>,
    /// Each source field's texts, different from each other. They may be of no words.
    pub sources: BTreeMap<SourceField, BTreeSet<String>>,
    /// The row as protobuf (`search.v1.Company` or `search.v1.Person`): all that is returned of the record, but its
    /// id, which a hit has beside it, and what depends on the request or the day. Never an e-mail address of a person.
    pub row: Bytes,
}

/// A change of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Add the document, in place of the one with its kind and id.
    Put(Box<Document>),
    /// Remove the document, if it is there.
    Delete(Kind, Uuid),
}

impl Change {
    /// The kind of the record that it is of.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Put(document) => document.kind,
            Self::Delete(kind, _) => *kind,
        }
    }

    /// The id of the record that it is of.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        match self {
            Self::Put(document) => document.id,
            Self::Delete(_, id) => *id,
        }
    }
}
