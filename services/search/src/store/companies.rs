//! Statements on companies.

use runtime::statement::Statement as _;
use sqlx::PgConnection;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{FromRow, Postgres};
use uuid::Uuid;

use super::array_literal;
use super::write::Put;
use crate::record::{Company, CompanyNumber, Founded, PlaceText};

/// A row of `companies`.
#[derive(FromRow)]
pub(super) struct CompanyRow {
    number: i64,
    id: Uuid,
    external_id: String,
    name: String,
    domain: Option<String>,
    website: Option<String>,
    business_types: Vec<String>,
    description: Option<String>,
    tags: Vec<String>,
    business_email: Option<String>,
    business_phone: Option<String>,
    city: Option<String>,
    region: Option<String>,
    country: Option<String>,
    employee_count: Option<i64>,
    founded_on: Option<chrono::NaiveDate>,
    founded_year: Option<i32>,
    info_updated_at: chrono::DateTime<chrono::Utc>,
}

impl From<CompanyRow> for Company {
    fn from(row: CompanyRow) -> Self {
        Self {
            // Never negative, by constraint.
            number: u64::try_from(row.number).ok().map(CompanyNumber),
            id: row.id,
            external_id: row.external_id,
            name: row.name,
            domain: row.domain,
            website: row.website,
            business_types: row.business_types,
            description: row.description,
            tags: row.tags,
            business_email: row.business_email,
            business_phone: row.business_phone,
            place: PlaceText {
                city: row.city,
                region: row.region,
                country: row.country,
            },
            employee_count: row.employee_count,
            founded: row
                .founded_on
                .map(Founded::Day)
                .or(row.founded_year.map(Founded::Year)),
            info_updated_at: row.info_updated_at,
        }
    }
}

/// A company that was written.
#[derive(FromRow)]
pub(super) struct WrittenCompany {
    pub(super) id: Uuid,
    pub(super) external_id: String,
}

/// Adds those whose external id is not known, and returns them. Waits for a writer that is just adding the same one.
pub(super) async fn insert(
    connection: &mut PgConnection,
    puts: &[&Put<Company>],
) -> Result<Vec<WrittenCompany>, sqlx::Error> {
    let query = sqlx::query(
        "INSERT INTO companies (id, external_id, name, domain, website, business_types, description, tags,
             business_email, business_phone, city, region, country, employee_count, founded_on, founded_year,
             info_updated_at)
         SELECT id, external_id, name, domain, website, business_types::text[], description, tags::text[],
             business_email, business_phone, city, region, country, employee_count, founded_on, founded_year,
             info_updated_at
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
             $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::date[],
             $16::integer[], $17::timestamptz[])
             AS input (id, external_id, name, domain, website, business_types, description, tags,
             business_email, business_phone, city, region, country, employee_count, founded_on, founded_year,
             info_updated_at)
         -- Those that would conflict would use up numbers.
         WHERE NOT EXISTS (
             SELECT FROM unnest(ARRAY(SELECT external_id FROM companies WHERE external_id = ANY($2)))
                 AS known (external_id)
             WHERE known.external_id = input.external_id
         )
         ORDER BY external_id COLLATE \"C\"
         ON CONFLICT (external_id) DO NOTHING
         RETURNING id, external_id",
    );
    let rows = bind(query, puts)
        .fetch_all(connection)
        .told("INSERT companies")
        .await?;
    rows.iter().map(WrittenCompany::from_row).collect()
}

/// Locks those that are known of these external ids, in their order, and tells which.
pub(super) async fn lock(
    connection: &mut PgConnection,
    external_ids: &[&str],
) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT external_id FROM companies WHERE external_id = ANY($1) ORDER BY external_id FOR UPDATE",
    )
    .bind(external_ids)
    .fetch_all(connection)
    .told("SELECT companies")
    .await
}

/// Replaces those that differ, and returns them. A record without a time of its own differs only by its other values.
pub(super) async fn update(
    connection: &mut PgConnection,
    puts: &[&Put<Company>],
) -> Result<Vec<WrittenCompany>, sqlx::Error> {
    let query = sqlx::query(
        "UPDATE companies AS known
         SET name = input.name, domain = input.domain, website = input.website,
             business_types = input.business_types::text[], description = input.description,
             tags = input.tags::text[], business_email = input.business_email,
             business_phone = input.business_phone, city = input.city, region = input.region,
             country = input.country, employee_count = input.employee_count, founded_on = input.founded_on,
             founded_year = input.founded_year, info_updated_at = input.info_updated_at
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
             $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::date[],
             $16::integer[], $17::timestamptz[], $18::boolean[])
             AS input (id, external_id, name, domain, website, business_types, description, tags,
             business_email, business_phone, city, region, country, employee_count, founded_on, founded_year,
             info_updated_at, updated_at_given)
         WHERE known.external_id = ANY($2) AND known.external_id = input.external_id
             AND ((known.name, known.domain, known.website, known.business_types, known.description, known.tags,
                 known.business_email, known.business_phone, known.city, known.region, known.country,
                 known.employee_count, known.founded_on, known.founded_year)
               IS DISTINCT FROM
                 (input.name, input.domain, input.website, input.business_types::text[], input.description,
                 input.tags::text[], input.business_email, input.business_phone, input.city, input.region,
                 input.country, input.employee_count, input.founded_on, input.founded_year)
               OR input.updated_at_given AND known.info_updated_at IS DISTINCT FROM input.info_updated_at)
         RETURNING known.id, known.external_id",
    );
    let given: Vec<bool> = puts.iter().map(|put| put.updated_at_given).collect();
    let rows = bind(query, puts)
        .bind(given)
        .fetch_all(connection)
        .told("UPDATE companies")
        .await?;
    rows.iter().map(WrittenCompany::from_row).collect()
}

/// Removes those that are known, and returns them.
pub(super) async fn delete(
    connection: &mut PgConnection,
    external_ids: &[&str],
) -> Result<Vec<WrittenCompany>, sqlx::Error> {
    sqlx::query_as("DELETE FROM companies WHERE external_id = ANY($1) RETURNING id, external_id")
        .bind(external_ids)
        .fetch_all(connection)
        .told("DELETE companies")
        .await
}

/// Binds one array for each column, `$1` to `$17`.
fn bind<'q>(
    query: Query<'q, Postgres, PgArguments>,
    puts: &[&'q Put<Company>],
) -> Query<'q, Postgres, PgArguments> {
    fn column<'q, T>(puts: &[&'q Put<Company>], value: impl Fn(&'q Company) -> T) -> Vec<T> {
        puts.iter().map(|put| value(&put.record)).collect()
    }
    query
        .bind(column(puts, |company| company.id))
        .bind(column(puts, |company| company.external_id.as_str()))
        .bind(column(puts, |company| company.name.as_str()))
        .bind(column(puts, |company| company.domain.as_deref()))
        .bind(column(puts, |company| company.website.as_deref()))
        .bind(column(puts, |company| array_literal(&company.business_types)))
        .bind(column(puts, |company| company.description.as_deref()))
        .bind(column(puts, |company| array_literal(&company.tags)))
        .bind(column(puts, |company| company.business_email.as_deref()))
        .bind(column(puts, |company| company.business_phone.as_deref()))
        .bind(column(puts, |company| company.place.city.as_deref()))
        .bind(column(puts, |company| company.place.region.as_deref()))
        .bind(column(puts, |company| company.place.country.as_deref()))
        .bind(column(puts, |company| company.employee_count))
        .bind(column(puts, |company| match company.founded {
            Some(Founded::Day(day)) => Some(day),
            _ => None,
        }))
        .bind(column(puts, |company| match company.founded {
            Some(Founded::Year(year)) => Some(year),
            _ => None,
        }))
        .bind(column(puts, |company| company.info_updated_at))
}
