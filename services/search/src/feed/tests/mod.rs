//! The feed between a real Postgres and a real index.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use prost::Message as _;
use proto::search::v1::{Company as CompanyMessage, Person as PersonMessage};
use runtime::readiness::Readiness;
use sqlx::{Connection as _, PgConnection, PgPool};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::*;
use crate::engine::{IndexSettings, Merging, Opened};
use crate::plan::{Condition as PlanCondition, Engine as _, InValue, Kind, Order, OrderBy, OrderField, Plan};
use crate::plan::{Ranking, Stop, TextField, Window};
use crate::record::{Company, Person, PlaceText};
use crate::store::write::{Batch, Delete, Put};

mod behind;

/// Longest wait for what happens soon.
const PATIENCE: Duration = Duration::from_mins(1);

struct Stage {
    pool: PgPool,
    store: Store,
    index: Arc<Index>,
    feed: Arc<Feed>,
    ambient: Ambient,
    shutdown: Shutdown,
    built: Condition,
    readiness: Readiness,
}

fn stage(pool: PgPool, dir: &Path) -> Stage {
    let settings = IndexSettings {
        writer_memory_bytes: 16 << 20,
        ..IndexSettings::default()
    };
    let index = open(dir, &settings);
    let (store, index) = (Store::new(pool.clone()), Arc::new(index));
    let settings = FeedSettings {
        interval: Duration::from_millis(5),
        batch: 7,
        retention: Duration::from_hours(1),
    };
    let (ambient, shutdown) = (Ambient::fixed(now(), 1), Shutdown::new());
    let feed = Feed::new(
        store.clone(),
        Arc::clone(&index),
        settings,
        ambient.clone(),
        shutdown.clone(),
    );
    let readiness = Readiness::default();
    let built = readiness.condition("built");
    Stage {
        pool,
        store,
        index,
        feed,
        ambient,
        shutdown,
        built,
        readiness,
    }
}

/// Opens an index that this process may have closed a moment ago: unlike one that was killed, it may still have a merge at
/// its end, which takes files away. What is damaged stays so.
fn open(dir: &Path, settings: &IndexSettings) -> Index {
    let begun = Instant::now();
    loop {
        match Index::open(dir, settings.clone()).unwrap() {
            Opened::Ready(index) => return index,
            Opened::Unusable(unusable) => assert!(begun.elapsed() < PATIENCE, "{:?}", unusable.reason()),
        }
    }
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

impl Stage {
    /// Works until the index is level with the records.
    async fn level(&self) {
        while matches!(self.feed.advance(&self.built).await.unwrap(), Advance::Behind) {}
        let status = self.feed.status().await.unwrap();
        assert_eq!(
            (status.index.position, status.lag.changes),
            (Some(status.position), 0)
        );
    }

    async fn write(&self, batch: &Batch) -> i64 {
        self.store
            .write(batch, self.ambient.now())
            .await
            .unwrap()
            .position
    }

    fn company(&self, id: &str, name: &str) -> Batch {
        let record = Company {
            number: None,
            id: self.ambient.uuid_v7(),
            external_id: id.to_owned(),
            name: name.to_owned(),
            domain: None,
            website: None,
            business_types: vec![],
            description: None,
            tags: vec![],
            business_email: None,
            business_phone: None,
            place: PlaceText::default(),
            employee_count: None,
            founded: None,
            info_updated_at: now(),
        };
        Batch {
            companies: vec![put(record)],
            ..Batch::default()
        }
    }

    fn person(&self, id: &str, company: Option<&str>, title: &str) -> Batch {
        let record = Person {
            id: self.ambient.uuid_v7(),
            external_id: id.to_owned(),
            company_external_id: company.map(str::to_owned),
            full_name: id.to_owned(),
            first_name: None,
            last_name: None,
            job_title: Some(title.to_owned()),
            email: None,
            place: PlaceText::default(),
            info_updated_at: now(),
        };
        Batch {
            people: vec![put(record)],
            ..Batch::default()
        }
    }

    fn rows(&self, kind: Kind, filter: PlanCondition) -> Vec<bytes::Bytes> {
        let plan = Plan {
            kind,
            filter,
            own_place: None,
            ranking: Ranking::default(),
            order: Order {
                by: OrderBy::Text(OrderField::Name),
                descending: false,
            },
            window: Window {
                after: None,
                skip: 0,
                limit: 1000,
            },
        };
        let hits = self.index.search(&plan, &Stop::never()).unwrap();
        assert_eq!(hits.total, hits.hits.len() as u64);
        hits.hits.into_iter().map(|hit| hit.row).collect()
    }

    /// People by their names, each with the name of the company that their row tells.
    fn people(&self) -> BTreeMap<String, Option<String>> {
        let people = self.rows(Kind::Person, PlanCondition::Everything).into_iter();
        people
            .map(|row| PersonMessage::decode(row).unwrap())
            .map(|person| (person.full_name, person.company.map(|company| company.name)))
            .collect()
    }

    /// Names of the companies that have someone with a title of this word.
    fn companies_with(&self, word: &str) -> Vec<String> {
        self.companies(PlanCondition::Text {
            fields: vec![TextField::JobTitles],
            expression: InValue::Phrase(vec![vec![word.to_owned()]]),
        })
    }

    fn companies(&self, filter: PlanCondition) -> Vec<String> {
        let companies = self.rows(Kind::Company, filter).into_iter();
        companies
            .map(|row| CompanyMessage::decode(row).unwrap().name)
            .collect()
    }
}

fn put<R>(record: R) -> Put<R> {
    Put {
        record,
        updated_at_given: true,
        lines: 1,
    }
}

fn delete(external_id: &str) -> Vec<Delete> {
    vec![Delete {
        external_id: external_id.to_owned(),
        lines: 1,
    }]
}

fn people(expected: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
    let owned = |(name, company): &(&str, Option<&str>)| ((*name).to_owned(), company.map(str::to_owned));
    expected.iter().map(owned).collect()
}

#[sqlx::test]
async fn records_in_any_order_are_found_with_each_other(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let stage = stage(pool, dir.path());
    assert!(!stage.readiness.is_ready());
    stage.level().await;
    assert!(
        stage.readiness.is_ready(),
        "an empty index of no records is built"
    );

    stage.write(&stage.person("ada", Some("acme"), "Baker")).await;
    stage.write(&stage.person("bob", None, "Baker")).await;
    stage.level().await;
    assert_eq!(stage.people(), people(&[("ada", None), ("bob", None)]));
    stage.write(&stage.company("acme", "Acme")).await;
    stage.level().await;
    assert_eq!(stage.people(), people(&[("ada", Some("Acme")), ("bob", None)]));
    assert_eq!(stage.companies_with("baker"), ["Acme"]);
}

#[sqlx::test]
async fn a_changed_company_is_told_by_all_its_people(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let stage = stage(pool, dir.path());
    stage.write(&stage.company("acme", "Acme")).await;
    for number in 0..20 {
        stage
            .write(&stage.person(&format!("{number:02}"), Some("acme"), "Baker"))
            .await;
    }
    stage.level().await;
    stage.write(&stage.company("acme", "Ajax")).await;
    stage.level().await;
    assert_eq!(stage.people().len(), 20);
    assert!(
        stage
            .people()
            .values()
            .all(|company| company.as_deref() == Some("Ajax"))
    );

    // Gone, and back under another id.
    stage
        .write(&Batch {
            deleted_companies: delete("acme"),
            ..Batch::default()
        })
        .await;
    stage.level().await;
    assert!(stage.people().values().all(Option::is_none));
    assert_eq!(stage.companies(PlanCondition::Everything), [] as [&str; 0]);
    stage.write(&stage.company("acme", "Acme")).await;
    stage
        .write(&Batch {
            deleted_companies: delete("acme"),
            ..Batch::default()
        })
        .await;
    stage.write(&stage.company("acme", "Again")).await;
    stage.level().await;
    assert_eq!(stage.companies(PlanCondition::Everything), ["Again"]);
    assert!(
        stage
            .people()
            .values()
            .all(|company| company.as_deref() == Some("Again"))
    );
}

#[sqlx::test]
async fn a_person_who_moves_is_told_by_the_old_and_the_new_company(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let stage = stage(pool, dir.path());
    stage.write(&stage.company("one", "One")).await;
    stage.write(&stage.company("two", "Two")).await;
    stage.write(&stage.person("ada", Some("one"), "Baker")).await;
    stage.level().await;
    assert_eq!(stage.companies_with("baker"), ["One"]);
    stage.write(&stage.person("ada", Some("two"), "Baker")).await;
    stage.level().await;
    assert_eq!(stage.companies_with("baker"), ["Two"]);
    assert_eq!(stage.people(), people(&[("ada", Some("Two"))]));
    // Moved twice between two looks.
    stage.write(&stage.person("ada", None, "Baker")).await;
    stage.write(&stage.person("ada", Some("one"), "Driver")).await;
    stage.level().await;
    assert_eq!(stage.companies_with("baker"), [] as [&str; 0]);
    assert_eq!(stage.companies_with("driver"), ["One"]);
    stage
        .write(&Batch {
            deleted_people: delete("ada"),
            ..Batch::default()
        })
        .await;
    stage.level().await;
    assert_eq!(stage.companies_with("driver"), [] as [&str; 0]);
    assert_eq!(stage.people(), people(&[]));
}

#[sqlx::test]
async fn an_index_that_was_closed_goes_on_where_it_was(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let before = stage(pool.clone(), dir.path());
    before.write(&before.company("one", "One")).await;
    before.level().await;
    // Written and not committed: as good as not written.
    let target = Target::Serving(Arc::clone(&before.index));
    before.write(&before.company("two", "Two")).await;
    let mut snapshot = before.store.snapshot().await.unwrap();
    let companies = snapshot
        .companies(&["two"])
        .await
        .unwrap()
        .into_iter()
        .map(|company| (Arc::new(company), vec![]));
    let records = records::Records {
        companies: companies.collect(),
        ..records::Records::default()
    };
    let mut writer = target.writer();
    writer.write(records).await.unwrap();
    writer.finish().await.unwrap();
    assert_eq!(before.companies(PlanCondition::Everything), ["One"]);
    drop((before, target, writer));

    let after = stage(pool, dir.path());
    assert_eq!(after.index.position(), Some(1));
    assert_eq!(after.companies(PlanCondition::Everything), ["One"]);
    after.level().await;
    assert_eq!(after.companies(PlanCondition::Everything), ["One", "Two"]);
    assert_eq!(after.index.position(), Some(2));
}

#[sqlx::test]
async fn an_index_that_can_not_follow_is_built_anew(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let stage = stage(pool, dir.path());
    stage.write(&stage.company("gone", "Gone")).await;
    stage.level().await;
    // The feed drops what the index has not followed yet.
    stage
        .write(&Batch {
            deleted_companies: delete("gone"),
            ..Batch::default()
        })
        .await;
    stage.write(&stage.company("one", "One")).await;
    stage.write(&stage.person("ada", Some("one"), "Baker")).await;
    stage.ambient.advance(TimeDelta::hours(2));
    assert_eq!(stage.feed.prune_once().await.unwrap(), 4);
    assert_eq!(
        stage.companies(PlanCondition::Everything),
        ["Gone"],
        "the old one serves until then"
    );
    stage.level().await;
    assert_eq!(stage.companies(PlanCondition::Everything), ["One"]);
    assert_eq!(stage.people(), people(&[("ada", Some("One"))]));

    // The database is put back to an older state: the index knows what has never been.
    stage.index.commit(1_000, Merging::AsItGrows).unwrap();
    stage.level().await;
    assert_eq!(stage.index.position(), Some(4));
    assert_eq!(stage.companies_with("baker"), ["One"]);
}

#[sqlx::test]
async fn the_index_can_be_built_anew_while_records_change(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let stage = stage(pool, dir.path());
    for number in 0..10 {
        stage
            .write(&stage.company(&number.to_string(), &format!("Company {number}")))
            .await;
    }
    stage
        .shutdown
        .spawn(Arc::clone(&stage.feed).run(stage.built.clone()));
    let mut writers = JoinSet::new();
    for writer in 0..3_u8 {
        let batches: Vec<Batch> = (0..30_u8)
            .map(|round| {
                let company = format!("{}", (round + writer) % 10);
                match round % 5 {
                    0 => stage.company(&company, &format!("Company {company} of {writer}")),
                    1 => Batch {
                        deleted_people: delete(&format!("person {}", round - 1)),
                        ..Batch::default()
                    },
                    2 => Batch {
                        deleted_companies: delete(&company),
                        ..Batch::default()
                    },
                    _ => stage.person(
                        &format!("person {round}"),
                        Some(&company),
                        &format!("title{writer}"),
                    ),
                }
            })
            .collect();
        let (store, ambient) = (stage.store.clone(), stage.ambient.clone());
        writers.spawn(async move {
            for batch in batches {
                store.write(&batch, ambient.now()).await.unwrap();
            }
        });
    }
    let mut rebuilds = 0;
    while !writers.is_empty() {
        rebuilds += u32::from(stage.feed.rebuild());
        tokio::task::yield_now().await;
        while let Some(result) = writers.try_join_next() {
            result.unwrap();
        }
    }
    assert!(rebuilds > 0);
    // All of it comes to rest, at the same position as the feed.
    loop {
        let status = stage.feed.status().await.unwrap();
        if !status.rebuilding && status.index.position == Some(status.position) {
            break;
        }
        tokio::task::yield_now().await;
    }
    stage.shutdown.begin();

    let mut snapshot = stage.store.snapshot().await.unwrap();
    let companies = snapshot.companies_page(None, 1000).await.unwrap();
    let names: BTreeMap<&str, &str> = companies
        .iter()
        .map(|company| (company.external_id.as_str(), company.name.as_str()))
        .collect();
    let ids = sqlx::query_scalar("SELECT id FROM people").fetch_all(&stage.pool);
    let everyone = snapshot.people(&ids.await.unwrap()).await.unwrap();
    let expected: BTreeMap<String, Option<String>> = everyone
        .iter()
        .map(|person| {
            let company = person.company_external_id.as_deref().and_then(|id| names.get(id));
            (person.full_name.clone(), company.map(|name| (*name).to_owned()))
        })
        .collect();
    assert_eq!(stage.people(), expected);
    for writer in 0..3 {
        let title = format!("title{writer}");
        let with_title: BTreeSet<&str> = everyone
            .iter()
            .filter(|person| person.job_title.as_ref() == Some(&title))
            .filter_map(|person| names.get(person.company_external_id.as_deref()?).copied())
            .collect();
        let found = stage.companies_with(&title);
        assert_eq!(
            found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
            with_title
        );
    }
}

#[sqlx::test]
async fn whoever_builds_the_index_it_is_built(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let stage = stage(pool, dir.path());
    stage.write(&stage.company("one", "One")).await;
    assert!(stage.feed.rebuild());
    while stage.feed.rebuilding.load(Ordering::Acquire) {
        tokio::task::yield_now().await;
    }
    assert!(!stage.built.holds());
    stage.feed.advance(&stage.built).await.unwrap();
    assert!(stage.built.holds());
}

#[sqlx::test]
async fn while_postgres_is_away_searches_go_on_and_then_the_index_follows(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let stage = stage(pool.clone(), dir.path());
    stage.write(&stage.company("one", "One")).await;
    stage.level().await;
    let running = stage
        .shutdown
        .spawn(Arc::clone(&stage.feed).run(stage.built.clone()));

    let options = (*pool.connect_options()).clone();
    let name = options.get_database().unwrap().to_owned();
    let mut operator = PgConnection::connect_with(&options.database("postgres"))
        .await
        .unwrap();
    let mut allow = async |allowed: bool| {
        let sql = format!("ALTER DATABASE \"{name}\" WITH ALLOW_CONNECTIONS {allowed}");
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .execute(&mut operator)
            .await
            .unwrap();
        sqlx::query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1")
            .bind(&name)
            .execute(&mut operator)
            .await
            .unwrap();
    };
    allow(false).await;
    let refused = stage.store.write(&stage.company("two", "Two"), now()).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(matches!(
        stage.feed.status().await,
        Err(FeedError::Store(StoreError::Unavailable(_)))
    ));
    assert_eq!(stage.companies(PlanCondition::Everything), ["One"]);
    allow(true).await;
    let position = loop {
        match stage.store.write(&stage.company("two", "Two"), now()).await {
            Ok(written) => break written.position,
            Err(StoreError::Unavailable(_)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error:?}"),
        }
    };
    while stage.index.position() != Some(position) {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.companies(PlanCondition::Everything), ["One", "Two"]);
    assert!(!running.is_finished());
    stage.shutdown.begin();
    running.await.unwrap();
}
