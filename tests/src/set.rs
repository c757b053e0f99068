//! Records that one test alone sees.

use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, PersonRecord};
use serde_json::{Value, json};

use crate::account::Account;
use crate::world::world;

/// Companies with a tag that nobody else's have, their people, and an account to ask with.
pub struct Set {
    /// An account.
    pub account: Account,
    /// The tag.
    pub tag: String,
}

impl Set {
    /// Imports the records; a person is seen if their company is one of these.
    pub fn of(
        companies: impl IntoIterator<Item = CompanyRecord>,
        people: impl IntoIterator<Item = PersonRecord>,
    ) -> Self {
        let tag = world().word();
        let own = |id: &str| format!("{tag}-{id}");
        let companies = companies.into_iter().map(|mut record| {
            record.external_id = own(&record.external_id);
            record.tags.push(tag.clone());
            Change::Company(record)
        });
        let people = people.into_iter().map(|mut record| {
            record.external_id = own(&record.external_id);
            record.company_external_id = record.company_external_id.map(|id| own(&id));
            Change::Person(record)
        });
        let answer = world()
            .operator
            .import(companies.chain(people).collect::<Vec<_>>());
        assert!(answer.rejected.is_empty(), "{:?}", answer.rejected);
        Self {
            account: world().account(),
            tag,
        }
    }

    /// The query, narrowed to these records.
    #[must_use]
    pub fn narrow(&self, mut query: Value) -> Value {
        let tags = query.get("searchTags").cloned();
        assert!(tags.is_none(), "the tag tells this test's records");
        query["searchTags"] = json!([self.tag]);
        query
    }

    /// Names of all companies found.
    #[must_use]
    pub fn companies(&self, query: Value) -> Vec<String> {
        self.all("companies", query)
    }

    /// Names of all people found.
    #[must_use]
    pub fn people(&self, query: Value) -> Vec<String> {
        self.all("people", query)
    }

    fn all(&self, kind: &str, mut query: Value) -> Vec<String> {
        query["limit"] = json!(250);
        let answer = self.account.search(kind, &self.narrow(query));
        let names = answer.names();
        assert_eq!(usize::try_from(answer.total()), Ok(names.len()));
        names
    }
}
