//! Reading the records for an index: everything from one state of the database, that of the first read.

use std::collections::HashMap;
use std::time::Duration;

use futures::{Stream, TryStreamExt as _};
use sqlx::{FromRow, Postgres, Transaction};
use uuid::Uuid;

use super::companies::CompanyRow;
use super::people::PersonRow;
use super::{Store, StoreError, changes};
use crate::plan::Kind;
use crate::record::{Company, Employee, Person, PlaceText};

/// Most different titles, and most different places, that a company's document tells of its people. A search for a
/// title or place is exact for companies below it; of one beyond it, the document has the first so many by their
/// bytes, on every replica the same, and a warning is logged.
pub const MAX_EMPLOYEE_VALUES: i64 = 4096;

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

#[derive(FromRow)]
struct PlaceRow {
    company_external_id: String,
    city: Option<String>,
    region: Option<String>,
    country: Option<String>,
    number: i64,
}

impl Store {
    /// Opens a snapshot. It holds a connection until it is dropped.
    pub async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let mut transaction = self
            .pool
            .begin_with("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await?;
        // The reader stops for as long as the index takes to write what it has read.
        sqlx::query("SELECT set_config('statement_timeout', $1, true), set_config($2, $1, true)")
            .bind(PATIENCE.as_millis().to_string())
            .bind("idle_in_transaction_session_timeout")
            .execute(&mut *transaction)
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
        let rows: Vec<CompanyRow> = sqlx::query_as("SELECT * FROM companies WHERE external_id = ANY($1)")
            .bind(external_ids)
            .fetch_all(&mut *self.transaction)
            .await?;
        Ok(rows.into_iter().map(Company::from).collect())
    }

    /// The first companies behind this id, by their ids; none begins.
    pub async fn companies_page(
        &mut self,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<Company>, StoreError> {
        let rows: Vec<CompanyRow> =
            sqlx::query_as("SELECT * FROM companies WHERE id > $1 ORDER BY id LIMIT $2")
                .bind(after.unwrap_or(Uuid::nil()))
                .bind(limit)
                .fetch_all(&mut *self.transaction)
                .await?;
        Ok(rows.into_iter().map(Company::from).collect())
    }

    /// The people with these ids.
    pub async fn people(&mut self, ids: &[Uuid]) -> Result<Vec<Person>, StoreError> {
        let rows: Vec<PersonRow> = sqlx::query_as("SELECT * FROM people WHERE id = ANY($1)")
            .bind(ids)
            .fetch_all(&mut *self.transaction)
            .await?;
        Ok(rows.into_iter().map(Person::from).collect())
    }

    /// The first people behind this id, by their ids; none begins.
    pub async fn people_page(&mut self, after: Option<Uuid>, limit: i64) -> Result<Vec<Person>, StoreError> {
        let rows: Vec<PersonRow> = sqlx::query_as("SELECT * FROM people WHERE id > $1 ORDER BY id LIMIT $2")
            .bind(after.unwrap_or(Uuid::nil()))
            .bind(limit)
            .fetch_all(&mut *self.transaction)
            .await?;
        Ok(rows.into_iter().map(Person::from).collect())
    }

    /// All people of these companies, read as fast as they are taken: they may be many.
    pub fn people_of<'a>(
        &'a mut self,
        companies: &'a [&'a str],
    ) -> impl Stream<Item = Result<Person, StoreError>> + 'a {
        sqlx::query_as::<_, PersonRow>("SELECT * FROM people WHERE company_external_id = ANY($1)")
            .bind(companies)
            .fetch(&mut *self.transaction)
            .map_ok(Person::from)
            .map_err(StoreError::from)
    }

    /// What the documents of these companies tell of their people: each different title, and each different place.
    pub async fn employees(
        &mut self,
        companies: &[&str],
    ) -> Result<HashMap<String, Vec<Employee>>, StoreError> {
        let mut employees: HashMap<String, Vec<Employee>> = HashMap::new();
        let titles: Vec<(String, String, i64)> = sqlx::query_as(
            "SELECT company_external_id, job_title, number FROM (
                 SELECT company_external_id, job_title, row_number() OVER (
                     PARTITION BY company_external_id ORDER BY job_title COLLATE \"C\") AS number
                 FROM people
                 WHERE company_external_id = ANY($1) AND job_title IS NOT NULL
                 GROUP BY company_external_id, job_title
             ) AS titles
             WHERE number <= $2",
        )
        .bind(companies)
        .bind(MAX_EMPLOYEE_VALUES + 1)
        .fetch_all(&mut *self.transaction)
        .await?;
        for (company, title, number) in titles {
            if fits(&company, "job titles", number) {
                let employee = Employee {
                    job_title: Some(title),
                    place: PlaceText::default(),
                };
                employees.entry(company).or_default().push(employee);
            }
        }
        let places: Vec<PlaceRow> = sqlx::query_as(
            "SELECT company_external_id, city, region, country, number FROM (
                 SELECT company_external_id, city, region, country, row_number() OVER (
                     PARTITION BY company_external_id
                     ORDER BY city COLLATE \"C\", region COLLATE \"C\", country COLLATE \"C\") AS number
                 FROM people
                 WHERE company_external_id = ANY($1) AND num_nonnulls(city, region, country) > 0
                 GROUP BY company_external_id, city, region, country
             ) AS places
             WHERE number <= $2",
        )
        .bind(companies)
        .bind(MAX_EMPLOYEE_VALUES + 1)
        .fetch_all(&mut *self.transaction)
        .await?;
        for row in places {
            if fits(&row.company_external_id, "places", row.number) {
                let place = PlaceText {
                    city: row.city,
                    region: row.region,
                    country: row.country,
                };
                let employee = Employee {
                    job_title: None,
                    place,
                };
                employees
                    .entry(row.company_external_id)
                    .or_default()
                    .push(employee);
            }
        }
        Ok(employees)
    }
}

/// Whether a company's value of this number goes into its document; says so where the first one does not.
fn fits(company: &str, values: &'static str, number: i64) -> bool {
    let fits = number <= MAX_EMPLOYEE_VALUES;
    if !fits {
        metrics::counter!("search_feed_companies_cut_total", "values" => values).increment(1);
        tracing::warn!(
            company.external_id = company,
            values,
            most = MAX_EMPLOYEE_VALUES,
            "a company's people have more different values than its document holds: the first are searchable"
        );
    }
    fits
}
