//! Suggestions, on a system of its own with made-up records in it: the whole chain, beside a bare axum route that reads a
//! query string and answers JSON, and beside Postgres.
//!
//! The baseline in Postgres has what an administrator would make for this and nothing else: the different values with
//! their counts, ready in a table, an index for beginnings and one of trigrams for words and typing errors. Its counts are
//! as of when the table was made; ours follow the records.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use devstack::Stack;
use hdrhistogram::Histogram;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::task::JoinSet;

use crate::cpu::load_average;
use crate::load::{self, Figures, Shot, per_second};
use crate::search::records::{Records, Typed};
use crate::{BoxError, account};

const CONNECTIONS: [usize; 2] = [1, 8];

/// What is measured, and how long.
#[derive(Args)]
pub(crate) struct Suggest {
    #[command(flatten)]
    records: Records,
    /// Seconds for each row of the table
    #[arg(long, default_value_t = 4)]
    seconds: u64,
}

const VALUES: &str = "
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    DROP TABLE IF EXISTS bench_values;
    CREATE TABLE bench_values (vocabulary text NOT NULL, value text NOT NULL, folded text NOT NULL, records bigint NOT NULL);
    INSERT INTO bench_values
        SELECT 'businessTypes', value, lower(value), count(*)
        FROM companies, unnest(business_types) AS value GROUP BY value
        UNION ALL SELECT 'tags', value, lower(value), count(*) FROM companies, unnest(tags) AS value GROUP BY value
        UNION ALL SELECT 'jobTitles', job_title, lower(job_title), count(*)
        FROM people WHERE job_title IS NOT NULL GROUP BY job_title
        UNION ALL SELECT 'places', city, lower(city), count(*) FROM companies WHERE city IS NOT NULL GROUP BY city;
    CREATE INDEX ON bench_values (vocabulary, folded text_pattern_ops);
    CREATE INDEX ON bench_values USING gin (folded gin_trgm_ops) WITH (fastupdate = off);
    ANALYZE bench_values";

const ASKED: &str = "
    SELECT value, records,
           CASE WHEN folded LIKE $2 || '%' THEN 0 WHEN folded LIKE '% ' || $2 || '%' THEN 1 ELSE 2 END AS way
    FROM bench_values
    WHERE vocabulary = $1 AND (folded LIKE $2 || '%' OR folded LIKE '% ' || $2 || '%' OR $2 <% folded)
    ORDER BY way, records DESC, value LIMIT 10";

impl Suggest {
    /// Measures, and prints the table.
    pub(crate) async fn run(self) -> Result<(), BoxError> {
        let (stack, made) = self.records.stage(&[]).await?;
        let environment = stack.environment()?;
        let target = account::prepare_in(&environment).await?;
        let bare = crate::bare::start().await?;
        let postgres = postgres(&stack).await?;
        let typed = Arc::new(made.typed());
        let shots = |prefix: &str| {
            let path = |Typed { vocabulary, text }: &Typed| {
                format!("{prefix}/suggest/{vocabulary}?q={}", encoded(text))
            };
            Arc::new(
                typed
                    .iter()
                    .map(|typed| Shot::get(path(typed)))
                    .collect::<Vec<_>>(),
            )
        };
        wait_counted(&target, &shots(&target.prefix)[0]).await?;
        println!("{}; load average before: {}", made.told(), load_average());
        println!(
            "{:<28} {:>5} {:>9} {:>9} {:>9} {:>10}",
            "", "conn.", "p50 ms", "p99 ms", "req/s", "p50 / bare"
        );
        let time = Duration::from_secs(self.seconds.max(1));
        for connections in CONNECTIONS {
            let baseline = load::run(&bare.address, "none", shots(""), connections, time).await?;
            row("bare axum route", connections, &baseline, &baseline);
            let figures = asked(&postgres, &typed, connections, time).await?;
            row("Postgres", connections, &figures, &baseline);
            for vocabulary in ["places", "businessTypes", "jobTitles", "tags"] {
                let all = shots(&target.prefix);
                let of_it = all.iter().zip(&*typed);
                let of_it = of_it.filter(|(_, typed)| typed.vocabulary == vocabulary);
                let of_it = Arc::new(of_it.map(|(shot, _)| shot.clone()).collect());
                let figures = load::run(&target.address, &target.api_key, of_it, connections, time).await?;
                row(&format!("suggest {vocabulary}"), connections, &figures, &baseline);
            }
        }
        println!("load average after: {}", load_average());
        tokio::task::spawn_blocking(move || drop(stack)).await?;
        Ok(())
    }
}

/// The database of the search service, with the baseline's table in it.
async fn postgres(stack: &Stack) -> Result<PgPool, BoxError> {
    let environment = stack.environment()?;
    let of_service = PgConnectOptions::from_str(&environment.database_url_search)?;
    let name = of_service
        .get_database()
        .ok_or("the search service has no database")?;
    let options = PgConnectOptions::from_str(&stack.cluster_url()?)?.database(name);
    let pool = PgPoolOptions::new()
        .max_connections(8)
        .connect_with(options)
        .await?;
    sqlx::raw_sql(VALUES).execute(&pool).await?;
    Ok(pool)
}

/// Waits until there are suggestions at all.
async fn wait_counted(target: &account::Target, shot: &Shot) -> Result<(), BoxError> {
    const TRIES: u32 = 600;
    let mut refused = None;
    for _ in 0..TRIES {
        let once = Arc::new(vec![shot.clone()]);
        match load::run(
            &target.address,
            &target.api_key,
            once,
            1,
            Duration::from_millis(1),
        )
        .await
        {
            Ok(_) => return Ok(()),
            Err(error) => refused = Some(error),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(refused.unwrap_or_else(|| "there are no suggestions".into()))
}

/// Asks Postgres the same over and over, by so many clients at once, each with one question under way at a time.
async fn asked(
    pool: &PgPool,
    typed: &Arc<Vec<Typed>>,
    clients: usize,
    time: Duration,
) -> Result<Figures, BoxError> {
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for number in 0..clients {
        let (pool, typed) = (pool.clone(), Arc::clone(typed));
        tasks.spawn(async move {
            let mut latency = Histogram::new(3)?;
            for Typed { vocabulary, text } in typed.iter().cycle().skip(number * 7) {
                let start = Instant::now();
                if start >= begun + time {
                    break;
                }
                let query = sqlx::query(ASKED).bind(*vocabulary).bind(text.to_lowercase());
                query.fetch_all(&pool).await?;
                latency.record(u64::try_from(start.elapsed().as_micros())?.max(1))?;
            }
            Ok::<_, BoxError>(latency)
        });
    }
    let mut latency = Histogram::new(3)?;
    while let Some(result) = tasks.join_next().await {
        latency.add(result??)?;
    }
    Ok(Figures {
        rate: per_second(latency.len(), time),
        requests: latency.len(),
        latency,
    })
}

/// A text as a value in a query string.
fn encoded(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

fn row(name: &str, connections: usize, figures: &Figures, baseline: &Figures) {
    println!(
        "{name:<28} {connections:>5} {:>9.3} {:>9.3} {:>9.0} {:>10.1}",
        figures.millis(0.5),
        figures.millis(0.99),
        figures.rate,
        figures.millis(0.5) / baseline.millis(0.5),
    );
}
