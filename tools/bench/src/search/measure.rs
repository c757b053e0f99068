//! One harness for both systems: the same searches, the same loop, the same clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgPool, Postgres, Row as _};
use tokio::task::JoinSet;

use super::classes::{Question, Value};
use super::ours::{Answer, Ours};
use super::progress::per_second;
use crate::BoxError;

/// Who is asked.
#[derive(Clone)]
pub(super) enum System {
    /// The search service.
    Ours(Ours),
    /// The baseline.
    Postgres(PgPool),
}

/// What was measured.
pub(super) struct Figures {
    /// Microseconds a search.
    pub(super) latency: Histogram<u64>,
    /// Searches a second.
    pub(super) rate: f64,
}

impl System {
    /// Asks.
    pub(super) async fn ask(&self, question: &Question) -> Result<Answer, BoxError> {
        match self {
            Self::Ours(ours) => ours.search(question.kind, &question.query).await,
            Self::Postgres(pool) => {
                let rows = bind(question).fetch_all(pool).await?;
                let total = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
                let ids = rows.iter().map(|row| row.try_get(1)).collect::<Result<_, _>>()?;
                Ok(Answer {
                    total,
                    ids,
                    next: None,
                })
            }
        }
    }

    async fn timed(&self, question: &Question, latency: &mut Histogram<u64>) -> Result<(), BoxError> {
        let begun = Instant::now();
        self.ask(question).await?;
        latency.record(u64::try_from(begun.elapsed().as_micros())?.max(1))?;
        Ok(())
    }
}

fn bind(question: &Question) -> Query<'static, Postgres, PgArguments> {
    let query = sqlx::query(question.sql);
    question
        .values
        .iter()
        .fold(query, |query, value| match value.clone() {
            Value::Text(text) => query.bind(text),
            Value::Texts(texts) => query.bind(texts),
            Value::Day(day) => query.bind(day),
            Value::Time(time) => query.bind(time),
            Value::Id(id) => query.bind(id),
            Value::Number(number) => query.bind(number),
        })
}

/// Each search once, one after the other.
pub(super) async fn once(system: &System, questions: &[Question]) -> Result<Figures, BoxError> {
    let mut latency = Histogram::new(3)?;
    let begun = Instant::now();
    for question in questions {
        system.timed(question, &mut latency).await?;
    }
    let rate = per_second(latency.len(), begun.elapsed());
    Ok(Figures { latency, rate })
}

/// How long clients ask.
#[derive(Clone, Copy)]
pub(super) enum Until {
    /// For so long, and each search at least once (slow ones have their say), but not longer than [`LONGEST`].
    Time(Duration),
    /// Until told to stop.
    Told,
}

const LONGEST: Duration = Duration::from_mins(1);

/// All searches over and over, by so many clients at once, each with one under way at a time.
pub(super) async fn repeated(
    clients: Vec<System>,
    questions: &Arc<Vec<Question>>,
    until: Until,
    stop: &Arc<std::sync::atomic::AtomicBool>,
) -> Result<Figures, BoxError> {
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for (number, system) in clients.into_iter().enumerate() {
        let (questions, stop) = (Arc::clone(questions), Arc::clone(stop));
        tasks.spawn(async move {
            let mut latency = Histogram::new(3)?;
            // Each client starts at another search, so that they don't march in step.
            for question in questions.iter().cycle().skip(number * 7) {
                let enough = match until {
                    Until::Told => stop.load(std::sync::atomic::Ordering::Relaxed),
                    Until::Time(time) => {
                        let all = latency.len() >= questions.len() as u64;
                        begun.elapsed() >= LONGEST || (all && begun.elapsed() >= time)
                    }
                };
                if enough {
                    break;
                }
                system.timed(question, &mut latency).await?;
            }
            Ok::<_, BoxError>(latency)
        });
    }
    let mut latency = Histogram::new(3)?;
    while let Some(result) = tasks.join_next().await {
        latency.add(result??)?;
    }
    let rate = per_second(latency.len(), begun.elapsed());
    Ok(Figures { latency, rate })
}
