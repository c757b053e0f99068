//! The baseline: the same records in Postgres, with the tables and indexes that an administrator would make for these
//! searches and for nothing else.
//!
//! What a search compares stands in columns of its own, made ready before loading: words in lower case without accents,
//! plurals in the singular, titles with their short forms written out, cities in English with their country, the places of
//! a company's people beside its own. So Postgres has nothing to compute when it is asked, and no extension is needed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use devstack::Options;
use proto::search::v1::{CompanyRecord, PersonRecord};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgPool};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::data::{Data, time};
use super::ours::Kind;
use super::progress::{Progress, tell};
use super::{places, text};
use crate::BoxError;

const DATABASE: &str = "baseline";

const TABLES: &str = "
    CREATE TABLE company (
        id uuid NOT NULL, name text NOT NULL, domain text, website text, business_types text[] NOT NULL, description text,
        tags text[] NOT NULL, business_email text, business_phone text, city text, region text, country text,
        employee_count bigint, founded date, info_updated_at timestamptz NOT NULL,
        name_order text NOT NULL, name_key text NOT NULL, name_words tsvector NOT NULL, type_words tsvector NOT NULL,
        type_values text[] NOT NULL, description_words tsvector NOT NULL, tag_keys text[] NOT NULL,
        countries text[] NOT NULL, cities text[] NOT NULL
    );
    CREATE TABLE person (
        id uuid NOT NULL, company_id uuid, full_name text NOT NULL, first_name text, last_name text, job_title text,
        has_email boolean NOT NULL, city text, region text, country text, info_updated_at timestamptz NOT NULL,
        name_order text NOT NULL, title_key text NOT NULL, title_words tsvector NOT NULL,
        company_type_words tsvector NOT NULL, place_keys text[] NOT NULL
    )";

const INDEXES: [&str; 20] = [
    "ALTER TABLE company ADD PRIMARY KEY (id)",
    "ALTER TABLE person ADD PRIMARY KEY (id)",
    "CREATE INDEX ON company USING gin (type_words, countries) WITH (fastupdate = off)",
    "CREATE INDEX ON company USING gin (description_words) WITH (fastupdate = off)",
    "CREATE INDEX ON company USING gin (name_words) WITH (fastupdate = off)",
    "CREATE INDEX ON company USING gin (tag_keys) WITH (fastupdate = off)",
    "CREATE INDEX ON company USING gin (cities) WITH (fastupdate = off)",
    "CREATE INDEX ON company (domain text_pattern_ops)",
    "CREATE INDEX ON company (name_order, id)",
    "CREATE INDEX ON company (name_order, id) WHERE website IS NOT NULL",
    "CREATE INDEX ON company (info_updated_at DESC, id)",
    "CREATE INDEX ON company (info_updated_at DESC, id) WHERE website IS NOT NULL",
    "CREATE INDEX ON company (employee_count DESC NULLS LAST, id)",
    "CREATE INDEX ON company (founded DESC NULLS LAST, id)",
    "CREATE INDEX ON person USING gin (title_words, company_type_words, place_keys) WITH (fastupdate = off)",
    "CREATE INDEX ON person (company_id)",
    "CREATE INDEX ON person (info_updated_at DESC, id)",
    "CREATE INDEX ON person (name_order, id)",
    "CREATE INDEX ON person USING gin (title_words) WITH (fastupdate = off)",
    "VACUUM ANALYZE",
];

/// Tables of the search service's form, for the bare speed of `COPY`.
const SAME_FORM: &str = "
    CREATE TABLE same_companies (
        id uuid PRIMARY KEY, external_id text COLLATE \"C\" NOT NULL UNIQUE, name text NOT NULL, domain text, website text,
        business_types text[] NOT NULL, description text, tags text[] NOT NULL, business_email text, business_phone text,
        city text, region text, country text, employee_count bigint, founded_on date, founded_year integer,
        info_updated_at timestamptz NOT NULL
    );
    CREATE TABLE same_people (
        id uuid PRIMARY KEY, external_id text COLLATE \"C\" NOT NULL UNIQUE, company_external_id text COLLATE \"C\",
        full_name text NOT NULL, first_name text, last_name text, job_title text, email text, city text, region text,
        country text, info_updated_at timestamptz NOT NULL
    );
    CREATE INDEX ON same_people (company_external_id)";

/// Ids that the search service gave, by the records' numbers.
pub(super) struct Ids {
    companies: Vec<Uuid>,
    people: Vec<Uuid>,
}

/// What an administrator would set on a machine of so many MiB that Postgres has to itself.
pub(super) fn administered(options: Options, memory: u64) -> Options {
    options
        .postgres_setting(&format!("shared_buffers={}MB", memory / 4))
        .postgres_setting(&format!("effective_cache_size={}MB", memory / 4 * 3))
        .postgres_setting("work_mem=64MB")
        .postgres_setting("maintenance_work_mem=1GB")
        .postgres_setting("max_wal_size=16GB")
        .postgres_setting("checkpoint_timeout=15min")
        .postgres_setting("random_page_cost=1.1")
        .postgres_setting("effective_io_concurrency=200")
}

/// The baseline's database, made if it is not there.
pub(super) async fn open(cluster_url: &str) -> Result<PgPool, BoxError> {
    let cluster = PgConnectOptions::from_str(cluster_url)?;
    let administrator = PgPool::connect_with(cluster.clone()).await?;
    let exists: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(DATABASE)
        .fetch_one(&administrator)
        .await?;
    if !exists {
        sqlx::raw_sql("CREATE DATABASE baseline TEMPLATE template0")
            .execute(&administrator)
            .await?;
    }
    administrator.close().await;
    connect(cluster_url).await
}

/// Connections to it, as a service would have them: plans are made for the values at hand, as the values differ much.
pub(super) async fn connect(cluster_url: &str) -> Result<PgPool, BoxError> {
    let options = PgConnectOptions::from_str(cluster_url)?
        .database(DATABASE)
        .options([("plan_cache_mode", "force_custom_plan"), ("jit", "off")]);
    Ok(PgPoolOptions::new()
        .max_connections(8)
        .connect_with(options)
        .await?)
}

/// Time that a bare `COPY` of all records takes, into tables of the form that the search service has.
pub(super) async fn bare_copy(pool: &PgPool, data: &Arc<Data>) -> Result<Duration, BoxError> {
    const DROP: &str = "DROP TABLE IF EXISTS same_companies, same_people";
    sqlx::raw_sql(DROP).execute(pool).await?;
    sqlx::raw_sql(SAME_FORM).execute(pool).await?;
    let progress = Arc::new(Progress::new(
        "a bare COPY of the same records",
        data.companies() + data.people(),
    ));
    let made = Arc::clone(data);
    copy(
        pool,
        "same_companies",
        data.companies(),
        &progress,
        move |number, line| {
            same_company(&made.company(number), number, line);
        },
    )
    .await?;
    let made = Arc::clone(data);
    copy(
        pool,
        "same_people",
        data.people(),
        &progress,
        move |number, line| {
            same_person(&made.person(number), number, line);
        },
    )
    .await?;
    let time = progress.elapsed();
    sqlx::raw_sql(DROP).execute(pool).await?;
    Ok(time)
}

/// Makes and fills the tables, with the ids that the records have in the search service.
pub(super) async fn fill(pool: &PgPool, data: &Arc<Data>, ids: Ids) -> Result<(), BoxError> {
    sqlx::raw_sql("DROP TABLE IF EXISTS company, person")
        .execute(pool)
        .await?;
    sqlx::raw_sql(TABLES).execute(pool).await?;
    let ids = Arc::new(ids);
    let progress = Arc::new(Progress::new(
        "filling the baseline",
        data.companies() + data.people(),
    ));
    let (made, known) = (Arc::clone(data), Arc::clone(&ids));
    copy(
        pool,
        "company",
        data.companies(),
        &progress,
        move |number, line| {
            company(&made, &known, number, line);
        },
    )
    .await?;
    let (made, known) = (Arc::clone(data), ids);
    copy(pool, "person", data.people(), &progress, move |number, line| {
        person(&made, &known, number, line);
    })
    .await?;
    for index in INDEXES {
        tell(&format!("baseline: {index}"));
        sqlx::raw_sql(index).execute(pool).await?;
    }
    Ok(())
}

/// Bytes of the baseline's tables and indexes.
pub(super) async fn bytes(pool: &PgPool) -> Result<i64, BoxError> {
    let sql = "SELECT (pg_total_relation_size('company') + pg_total_relation_size('person'))::bigint";
    Ok(sqlx::query_scalar(sql).fetch_one(pool).await?)
}

impl Ids {
    /// Reads them from the search service's database.
    pub(super) async fn read(database_url: &str, data: &Data) -> Result<Self, BoxError> {
        let pool = PgPool::connect(database_url).await?;
        let companies = Self::of(&pool, "companies", data.companies()).await?;
        let people = Self::of(&pool, "people", data.people()).await?;
        pool.close().await;
        Ok(Self { companies, people })
    }

    async fn of(pool: &PgPool, table: &str, count: u64) -> Result<Vec<Uuid>, BoxError> {
        use futures::TryStreamExt as _;
        let mut ids = vec![Uuid::nil(); usize::try_from(count)?];
        let sql = AssertSqlSafe(format!("SELECT external_id, id FROM {table}"));
        let mut rows = sqlx::query_as::<_, (String, Uuid)>(sql).fetch(pool);
        while let Some((external_id, id)) = rows.try_next().await? {
            let number = Data::number(&external_id).and_then(|number| usize::try_from(number).ok());
            if let Some(place) = number.and_then(|number| ids.get_mut(number)) {
                *place = id;
            }
        }
        Ok(ids)
    }

    fn of_kind(&self, kind: Kind, number: u64) -> Option<Uuid> {
        let ids = match kind {
            Kind::Companies => &self.companies,
            Kind::People => &self.people,
        };
        ids.get(usize::try_from(number).ok()?).copied()
    }
}

/// Copies so many lines, made beside the sending of those before.
async fn copy(
    pool: &PgPool,
    table: &str,
    count: u64,
    progress: &Progress,
    line: impl Fn(u64, &mut Line) + Send + 'static,
) -> Result<(), BoxError> {
    const BATCH: usize = 1_000;
    let (sender, mut chunks) = mpsc::channel::<String>(4);
    let made = tokio::task::spawn_blocking(move || {
        let mut lines = Line(String::new());
        for number in 0..count {
            line(number, &mut lines);
            lines.end();
            if (number + 1) % BATCH as u64 == 0 && sender.blocking_send(std::mem::take(&mut lines.0)).is_err()
            {
                return;
            }
        }
        // If nobody takes it, the other side has failed and says so.
        let _ = sender.blocking_send(lines.0);
    });
    let mut connection = pool.acquire().await?;
    let mut target = connection
        .copy_in_raw(&format!("COPY {table} FROM STDIN"))
        .await?;
    while let Some(chunk) = chunks.recv().await {
        let lines = chunk.bytes().filter(|byte| *byte == b'\n').count();
        target.send(chunk.into_bytes()).await?;
        progress.add(lines as u64);
    }
    target.finish().await?;
    Ok(made.await?)
}

/// A line of COPY's text format.
struct Line(String);

impl Line {
    fn put(&mut self, value: Option<&str>) {
        match value {
            None => self.0.push_str("\\N"),
            Some(text) => {
                for letter in text.chars() {
                    match letter {
                        '\\' => self.0.push_str("\\\\"),
                        '\t' => self.0.push_str("\\t"),
                        '\n' => self.0.push_str("\\n"),
                        '\r' => self.0.push_str("\\r"),
                        letter => self.0.push(letter),
                    }
                }
            }
        }
        self.0.push('\t');
    }

    fn list(&mut self, items: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut list = String::from("{");
        for item in items {
            if list.len() > 1 {
                list.push(',');
            }
            let item = item.as_ref().replace('\\', "\\\\").replace('"', "\\\"");
            // Writing to a string can't fail.
            let _ = write!(list, "\"{item}\"");
        }
        list.push('}');
        self.put(Some(&list));
    }

    fn end(&mut self) {
        self.0.pop();
        self.0.push('\n');
    }
}

/// What both tables of companies have in the same columns.
fn facts(record: &CompanyRecord, line: &mut Line) {
    line.put(record.domain.as_deref());
    line.put(record.website.as_deref());
    line.list(&record.business_types);
    line.put(record.description.as_deref());
    line.list(&record.tags);
    for value in [
        &record.business_email,
        &record.business_phone,
        &record.city,
        &record.region,
        &record.country,
    ] {
        line.put(value.as_deref());
    }
    line.put(record.employee_count.map(|count| count.to_string()).as_deref());
}

fn company(data: &Data, ids: &Ids, number: u64, line: &mut Line) {
    let record = data.company(number);
    let id = ids.of_kind(Kind::Companies, number).unwrap_or_default();
    line.put(Some(&id.to_string()));
    line.put(Some(record.name.trim()));
    facts(&record, line);
    line.put(
        record
            .founded_date
            .as_deref()
            .and_then(first_day)
            .map(|day| day.to_string())
            .as_deref(),
    );
    line.put(Some(&time(record.info_updated_at).to_rfc3339()));

    let name = text::words(&data.core_name(number));
    let types: Vec<Vec<String>> = record
        .business_types
        .iter()
        .chain(&record.tags)
        .map(|value| text::stemmed(value))
        .collect();
    line.put(Some(&text::fold(record.name.trim())));
    line.put(Some(&name.join(" ")));
    line.put(Some(&text::vector(&[name])));
    line.put(Some(&text::vector(&types)));
    line.list(types.iter().map(|value| value.join(" ")).collect::<BTreeSet<_>>());
    line.put(Some(&text::vector(&[text::stemmed(
        record.description.as_deref().unwrap_or_default(),
    )])));
    line.list(
        record
            .tags
            .iter()
            .map(|tag| text::words(tag).join(" "))
            .collect::<BTreeSet<_>>(),
    );
    let of_people = data
        .people_of(number)
        .filter_map(|person| data.person_place(person));
    let all: Vec<_> = data.company_place(number).into_iter().chain(of_people).collect();
    line.list(
        all.iter()
            .map(|place| place.country.clone())
            .collect::<BTreeSet<_>>(),
    );
    let cities = all
        .iter()
        .filter_map(|place| Some(places::key(place.city.as_deref()?, &place.country)));
    line.list(cities.collect::<BTreeSet<_>>());
}

fn person(data: &Data, ids: &Ids, number: u64, line: &mut Line) {
    let record = data.person(number);
    let company = data.company_of(number);
    let id = |kind, number| ids.of_kind(kind, number).unwrap_or_default().to_string();
    line.put(Some(&id(Kind::People, number)));
    line.put(company.map(|company| id(Kind::Companies, company)).as_deref());
    line.put(record.full_name.as_deref());
    for value in [&record.first_name, &record.last_name, &record.job_title] {
        line.put(value.as_deref());
    }
    line.put(Some(if record.email.is_some() { "t" } else { "f" }));
    for value in [&record.city, &record.region, &record.country] {
        line.put(value.as_deref());
    }
    line.put(Some(&time(record.info_updated_at).to_rfc3339()));

    let title = text::title(record.job_title.as_deref().unwrap_or_default());
    line.put(Some(&text::fold(record.full_name.as_deref().unwrap_or_default())));
    line.put(Some(&title.join(" ")));
    line.put(Some(&text::vector(&[title])));
    let types = company.map(|company| data.company(company)).map(|company| {
        let values = company.business_types.iter().chain(&company.tags);
        values.map(|value| text::stemmed(value)).collect::<Vec<_>>()
    });
    line.put(Some(&text::vector(&types.unwrap_or_default())));
    let place = data
        .person_place(number)
        .or_else(|| company.and_then(|company| data.company_place(company)));
    let keys = place.map(|place| {
        let city = place
            .city
            .as_deref()
            .map(|city| places::key(city, &place.country));
        city.into_iter().chain([place.country]).collect::<Vec<_>>()
    });
    line.list(keys.unwrap_or_default());
}

fn same_company(record: &CompanyRecord, number: u64, line: &mut Line) {
    line.put(Some(&Uuid::from_u64_pair(1, number).to_string()));
    line.put(Some(&record.external_id));
    line.put(Some(&record.name));
    facts(record, line);
    let founded = record.founded_date.as_deref();
    line.put(founded.filter(|date| date.len() > 4));
    line.put(founded.filter(|date| date.len() == 4));
    line.put(Some(&time(record.info_updated_at).to_rfc3339()));
}

fn same_person(record: &PersonRecord, number: u64, line: &mut Line) {
    line.put(Some(&Uuid::from_u64_pair(2, number).to_string()));
    line.put(Some(&record.external_id));
    for value in [
        &record.company_external_id,
        &record.full_name,
        &record.first_name,
        &record.last_name,
        &record.job_title,
        &record.email,
        &record.city,
        &record.region,
        &record.country,
    ] {
        line.put(value.as_deref());
    }
    line.put(Some(&time(record.info_updated_at).to_rfc3339()));
}

/// The day of a founding date, of a year its first.
fn first_day(date: &str) -> Option<NaiveDate> {
    if date.len() == 4 {
        NaiveDate::from_ymd_opt(date.parse().ok()?, 1, 1)
    } else {
        date.parse().ok()
    }
}
