//! Reading the records for an index: everything from one state of the database, that of the first read.

use std::collections::HashMap;
use std::time::Duration;

use futures::{Stream, TryStreamExt as _};
use runtime::database::go_through_tables;
use runtime::statement::{Statement as _, begin_with};
use sqlx::{AssertSqlSafe, FromRow, Postgres, Transaction};
use uuid::Uuid;

use super::companies::CompanyRow;
use super::people::PersonRow;
use super::{Store, StoreError, changes};
use crate::plan::Kind;
use crate::record::{Company, Employee, Person, PlaceText};
use crate::workforce::Workforce;

/// Longest that a snapshot waits between two reads, and one read takes.
const PATIENCE: Duration = Duration::from_mins(15);

/// One state of the database.
#[derive(Debug)]
pub struct Snapshot {
    transaction: Transaction<'static, Postgres>,
}

/// A change of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedChange {
    /// Its number.
    pub seq: i64,
    /// Kind of the record.
    pub kind: Kind,
    /// The record; it may be gone.
    pub record_id: Uuid,
    /// External ids. A company's change: its own. A person's: those of the companies before and after.
    pub companies: Vec<String>,
}

#[derive(FromRow)]
struct ChangeRow {
    seq: i64,
    kind: String,
    record_id: Uuid,
    companies: Vec<String>,
}

/// Columns of [`CompanyRow`], by name: a later version's migration may add some while this one runs, and a prepared statement
/// whose result has changed fails on its connection for ever.
const COMPANY_COLUMNS: &str = "number, id, external_id, name, domain, website, business_types, description, tags, business_email, \
     business_phone, city, region, country, employee_count, founded_on, founded_year, info_updated_at";

/// Columns of [`PersonRow`].
const PERSON_COLUMNS: &str = "id, external_id, company_external_id, full_name, first_name, last_name, job_title, email, city, region, \
     country, info_updated_at";

/// Companies, as far as this says.
fn select_companies(which: &'static str) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!("SELECT {COMPANY_COLUMNS} FROM companies {which}"))
}

/// People, as far as this says.
fn select_people(which: &'static str) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!("SELECT {PERSON_COLUMNS} FROM people {which}"))
}

/// What a company's document may tell of one of its people.
type EmployeeRow = (
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
);

impl Store {
    /// Opens a snapshot. It holds a connection until it is dropped.
    pub async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let state_of_now = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let mut transaction = begin_with(&self.pool, state_of_now).await?;
        // The reader stops for as long as the index takes to write what it has read.
        sqlx::query("SELECT set_config('statement_timeout', $1, true), set_config($2, $1, true)")
            .bind(PATIENCE.as_millis().to_string())
            .bind("idle_in_transaction_session_timeout")
            .execute(&mut *transaction)
            .told("SELECT set_config")
            .await?;
        Ok(Snapshot { transaction })
    }
}

impl Snapshot {
    /// The feed in this state.
    pub async fn feed(&mut self) -> Result<changes::Feed, StoreError> {
        Ok(changes::feed(&mut self.transaction).await?)
    }

    /// The first changes after this position, in their order.
    pub async fn changes_after(&mut self, position: i64, limit: i64) -> Result<Vec<FeedChange>, StoreError> {
        let rows: Vec<ChangeRow> = sqlx::query_as(
            "SELECT seq, kind, record_id, companies FROM changes WHERE seq > $1 ORDER BY seq LIMIT $2",
        )
        .bind(position)
        .bind(limit)
        .fetch_all(&mut *self.transaction)
        .told("SELECT changes")
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| FeedChange {
                seq: row.seq,
                // There are two kinds, by constraint.
                kind: if row.kind == changes::kind_name(Kind::Company) {
                    Kind::Company
                } else {
                    Kind::Person
                },
                record_id: row.record_id,
                companies: row.companies,
            })
            .collect())
    }

    /// The companies with these external ids.
    pub async fn companies(&mut self, external_ids: &[&str]) -> Result<Vec<Company>, StoreError> {
        let rows: Vec<CompanyRow> = sqlx::query_as(select_companies("WHERE external_id = ANY($1)"))
            .bind(external_ids)
            .fetch_all(&mut *self.transaction)
            .told("SELECT companies")
            .await?;
        Ok(rows.into_iter().map(Company::from).collect())
    }

    /// The first companies behind this id, by their ids; none begins.
    pub async fn companies_page(
        &mut self,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<Company>, StoreError> {
        let rows: Vec<CompanyRow> = sqlx::query_as(select_companies("WHERE id > $1 ORDER BY id LIMIT $2"))
            .bind(after.unwrap_or(Uuid::nil()))
            .bind(limit)
            .fetch_all(&mut *self.transaction)
            .told("SELECT companies")
            .await?;
        Ok(rows.into_iter().map(Company::from).collect())
    }

    /// The people with these ids.
    pub async fn people(&mut self, ids: &[Uuid]) -> Result<Vec<Person>, StoreError> {
        let rows: Vec<PersonRow> = sqlx::query_as(select_people("WHERE id = ANY($1)"))
            .bind(ids)
            .fetch_all(&mut *self.transaction)
            .told("SELECT people")
            .await?;
        Ok(rows.into_iter().map(Person::from).collect())
    }

    /// All people of these companies, company by company, read as fast as they are taken: they may be many.
    pub fn people_of<'a>(
        &'a mut self,
        companies: &'a [&'a str],
    ) -> impl Stream<Item = Result<Person, StoreError>> + 'a {
        sqlx::query_as::<_, PersonRow>(select_people(
            "WHERE company_external_id = ANY($1) ORDER BY company_external_id",
        ))
        .bind(companies)
        .fetch(&mut *self.transaction)
        .map_ok(Person::from)
        .map_err(StoreError::from)
    }

    /// Goes to the people who have no company, or none that is there: [`Snapshot::next_people_alone`] reads them. Once
    /// in a snapshot.
    pub async fn find_people_alone(&mut self) -> Result<(), StoreError> {
        // All people and all companies are gone through.
        go_through_tables(&mut self.transaction).await?;
        // A cursor: a page by id would have to pass by all who have a company.
        sqlx::query(AssertSqlSafe(format!(
            "DECLARE people_alone NO SCROLL CURSOR FOR SELECT {PERSON_COLUMNS} FROM people
             WHERE NOT EXISTS (SELECT FROM companies WHERE companies.external_id = people.company_external_id)"
        )))
        .execute(&mut *self.transaction)
        .told("DECLARE people")
        .await?;
        Ok(())
    }

    /// The next of those people, at most so many; none at the end.
    pub async fn next_people_alone(&mut self, limit: usize) -> Result<Vec<Person>, StoreError> {
        // The number can't be bound.
        let fetch = AssertSqlSafe(format!("FETCH FORWARD {limit} FROM people_alone"));
        let rows: Vec<PersonRow> = sqlx::query_as(fetch)
            .fetch_all(&mut *self.transaction)
            .told("FETCH people")
            .await?;
        Ok(rows.into_iter().map(Person::from).collect())
    }

    /// What the documents of these companies tell of their people; nothing of a company that has none.
    pub async fn employees(
        &mut self,
        companies: &[&str],
    ) -> Result<HashMap<String, Vec<Employee>>, StoreError> {
        let mut rows = sqlx::query_as::<_, EmployeeRow>(
            "SELECT company_external_id, job_title, city, region, country
             FROM people WHERE company_external_id = ANY($1)",
        )
        .bind(companies)
        .fetch(&mut *self.transaction);
        let mut workforces: HashMap<String, Workforce> = HashMap::new();
        while let Some((company, title, city, region, country)) = rows.try_next().await? {
            let place = PlaceText {
                city,
                region,
                country,
            };
            let workforce = workforces.entry(company).or_default();
            workforce.add(title.as_ref(), &place);
        }
        let employees = workforces.into_iter().map(|(company, workforce)| {
            let employees = workforce.employees(&company);
            (company, employees)
        });
        Ok(employees.collect())
    }
}
