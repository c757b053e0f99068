//! Statements on people.

use std::collections::HashMap;

use runtime::statement::Statement as _;
use sqlx::PgConnection;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{FromRow, Postgres};
use uuid::Uuid;

use super::write::Put;
use crate::record::{Person, PlaceText};

/// A row of `people`.
#[derive(FromRow)]
pub(super) struct PersonRow {
    id: Uuid,
    external_id: String,
    company_external_id: Option<String>,
    full_name: String,
    first_name: Option<String>,
    last_name: Option<String>,
    job_title: Option<String>,
    email: Option<String>,
    city: Option<String>,
    region: Option<String>,
    country: Option<String>,
    info_updated_at: chrono::DateTime<chrono::Utc>,
}

impl From<PersonRow> for Person {
    fn from(row: PersonRow) -> Self {
        Self {
            id: row.id,
            external_id: row.external_id,
            company_external_id: row.company_external_id,
            full_name: row.full_name,
            first_name: row.first_name,
            last_name: row.last_name,
            job_title: row.job_title,
            email: row.email,
            place: PlaceText {
                city: row.city,
                region: row.region,
                country: row.country,
            },
            info_updated_at: row.info_updated_at,
        }
    }
}

/// A person who was written, and the company they now work at; of one who was deleted, the company they worked at.
#[derive(FromRow)]
pub(super) struct WrittenPerson {
    pub(super) id: Uuid,
    pub(super) external_id: String,
    pub(super) company_external_id: Option<String>,
}

/// Adds those whose external id is not known, and returns them. Waits for a writer that is just adding the same one.
pub(super) async fn insert(
    connection: &mut PgConnection,
    puts: &[&Put<Person>],
) -> Result<Vec<WrittenPerson>, sqlx::Error> {
    let query = sqlx::query(
        "INSERT INTO people (id, external_id, company_external_id, full_name, first_name, last_name, job_title,
             email, city, region, country, info_updated_at)
         SELECT id, external_id, company_external_id, full_name, first_name, last_name, job_title,
             email, city, region, country, info_updated_at
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
             $9::text[], $10::text[], $11::text[], $12::timestamptz[])
             AS input (id, external_id, company_external_id, full_name, first_name, last_name, job_title,
             email, city, region, country, info_updated_at)
         ORDER BY external_id COLLATE \"C\"
         ON CONFLICT (external_id) DO NOTHING
         RETURNING id, external_id, company_external_id",
    );
    let rows = bind(query, puts)
        .fetch_all(connection)
        .told("INSERT people")
        .await?;
    rows.iter().map(WrittenPerson::from_row).collect()
}

/// Locks those that are known of these external ids, in their order, and tells the company each works at.
pub(super) async fn lock(
    connection: &mut PgConnection,
    external_ids: &[&str],
) -> Result<HashMap<String, Option<String>>, sqlx::Error> {
    let known: Vec<(String, Option<String>)> = sqlx::query_as(
        "SELECT external_id, company_external_id FROM people
         WHERE external_id = ANY($1) ORDER BY external_id FOR UPDATE",
    )
    .bind(external_ids)
    .fetch_all(connection)
    .told("SELECT people")
    .await?;
    Ok(known.into_iter().collect())
}

/// Replaces those that differ, and returns them. A record without a time of its own differs only by its other values.
pub(super) async fn update(
    connection: &mut PgConnection,
    puts: &[&Put<Person>],
) -> Result<Vec<WrittenPerson>, sqlx::Error> {
    let query = sqlx::query(
        "UPDATE people AS known
         SET company_external_id = input.company_external_id, full_name = input.full_name,
             first_name = input.first_name, last_name = input.last_name, job_title = input.job_title,
             email = input.email, city = input.city, region = input.region, country = input.country,
             info_updated_at = input.info_updated_at
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
             $9::text[], $10::text[], $11::text[], $12::timestamptz[], $13::boolean[])
             AS input (id, external_id, company_external_id, full_name, first_name, last_name, job_title,
             email, city, region, country, info_updated_at, updated_at_given)
         WHERE known.external_id = ANY($2) AND known.external_id = input.external_id
             AND ((known.company_external_id, known.full_name, known.first_name, known.last_name, known.job_title,
                 known.email, known.city, known.region, known.country)
               IS DISTINCT FROM
                 (input.company_external_id, input.full_name, input.first_name, input.last_name, input.job_title,
                 input.email, input.city, input.region, input.country)
               OR input.updated_at_given AND known.info_updated_at IS DISTINCT FROM input.info_updated_at)
         RETURNING known.id, known.external_id, known.company_external_id",
    );
    let given: Vec<bool> = puts.iter().map(|put| put.updated_at_given).collect();
    let rows = bind(query, puts)
        .bind(given)
        .fetch_all(connection)
        .told("UPDATE people")
        .await?;
    rows.iter().map(WrittenPerson::from_row).collect()
}

/// Removes those that are known, with all that was revealed of them, and returns them.
pub(super) async fn delete(
    connection: &mut PgConnection,
    external_ids: &[&str],
) -> Result<Vec<WrittenPerson>, sqlx::Error> {
    sqlx::query_as(
        "DELETE FROM people WHERE external_id = ANY($1) RETURNING id, external_id, company_external_id",
    )
    .bind(external_ids)
    .fetch_all(connection)
    .told("DELETE people")
    .await
}

/// Binds one array for each column, `$1` to `$12`.
fn bind<'q>(
    query: Query<'q, Postgres, PgArguments>,
    puts: &[&'q Put<Person>],
) -> Query<'q, Postgres, PgArguments> {
    fn column<'q, T>(puts: &[&'q Put<Person>], value: impl Fn(&'q Person) -> T) -> Vec<T> {
        puts.iter().map(|put| value(&put.record)).collect()
    }
    query
        .bind(column(puts, |person| person.id))
        .bind(column(puts, |person| person.external_id.as_str()))
        .bind(column(puts, |person| person.company_external_id.as_deref()))
        .bind(column(puts, |person| person.full_name.as_str()))
        .bind(column(puts, |person| person.first_name.as_deref()))
        .bind(column(puts, |person| person.last_name.as_deref()))
        .bind(column(puts, |person| person.job_title.as_deref()))
        .bind(column(puts, |person| person.email.as_deref()))
        .bind(column(puts, |person| person.place.city.as_deref()))
        .bind(column(puts, |person| person.place.region.as_deref()))
        .bind(column(puts, |person| person.place.country.as_deref()))
        .bind(column(puts, |person| person.info_updated_at))
}
