//! The index and the records: whatever dies and whenever, they tell the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use devstack::{Options, Part, Service};
use proto::search::v1::import_record::Change;
use proto::search::v1::{
    CompanyRecord, DeleteCompany, DeletePerson, PersonRecord, SearchQuery, Sort, SortDirection, SortField,
};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use sqlx::{Connection as _, PgConnection};
use system_tests::{PATIENCE, World, company, person, timestamp};

use crate::replica::Replica;
use crate::run::Run;

const SEARCH: Part = Part::Process(Service::Search, 1);
const WRITERS: u64 = 8;
const COMPANIES: u32 = 300;
const PEOPLE: u32 = 600;
/// Between two looks, and two tries.
const PAUSE: Duration = Duration::from_millis(2);
const TITLES: [&str; 6] = [
    "CEO",
    "Baker",
    "Software Engineer",
    "VP Sales",
    "Nurse",
    "Head of Ops",
];

fn record_id(prefix: &str, of: u32, chance: &mut StdRng) -> String {
    format!("{prefix}-{}", chance.random_range(0..of))
}

/// A change of any kind to any record.
fn change(chance: &mut StdRng) -> Change {
    let day = format!("2026-{:02}-11T00:00:00Z", chance.random_range(1..13));
    match chance.random_range(0..20) {
        0 => Change::DeleteCompany(DeleteCompany {
            external_id: record_id("c", COMPANIES, chance),
        }),
        1 => Change::DeletePerson(DeletePerson {
            external_id: record_id("p", PEOPLE, chance),
        }),
        2..10 => Change::Company(CompanyRecord {
            description: Some(format!("stamp {}", chance.random::<u32>())),
            info_updated_at: Some(timestamp(&day)),
            ..company(
                &record_id("c", COMPANIES, chance),
                &format!("Name {}", chance.random_range(0..99)),
            )
        }),
        _ => Change::Person(PersonRecord {
            company_external_id: Some(record_id("c", COMPANIES, chance)),
            job_title: Some(TITLES[chance.random_range(0..TITLES.len())].to_owned()),
            info_updated_at: Some(timestamp(&day)),
            ..person(
                &record_id("p", PEOPLE, chance),
                &format!("Person {}", chance.random::<u32>()),
            )
        }),
    }
}

/// Imports until told to stop, whether it is answered or not.
async fn write(replica: Replica, seed: u64, stop: &AtomicBool, answered: &AtomicU64) {
    let mut chance = StdRng::seed_from_u64(seed);
    while !stop.load(Ordering::Relaxed) {
        let size = chance.random_range(1..40);
        let mut touched = BTreeSet::new();
        let batch = (0..size)
            .map(|_| change(&mut chance))
            .filter(|change| touched.insert(format!("{change:?}")))
            .collect();
        if replica.import(batch).await.is_ok() {
            answered.fetch_add(1, Ordering::Relaxed);
        } else {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// What is told of a record: of a company its name and description, of a person their name, title and company.
type Told = BTreeMap<String, [Option<String>; 3]>;

/// Holds all of the index against all of the database.
async fn compare(world: &World, replica: &Replica) {
    let mut database = PgConnection::connect(&world.environment.database_url_search)
        .await
        .unwrap();
    let position: i64 = sqlx::query_scalar("SELECT max(seq) FROM changes")
        .fetch_one(&mut database)
        .await
        .unwrap();
    replica.wait_for(position).await;
    let companies: Vec<(String, String, Option<String>)> =
        sqlx::query_as("SELECT id::text, name, description FROM companies")
            .fetch_all(&mut database)
            .await
            .unwrap();
    let people: Vec<(String, String, Option<String>, Option<String>)> = sqlx::query_as(
        "SELECT people.id::text, full_name, job_title, companies.id::text
         FROM people LEFT JOIN companies ON companies.external_id = company_external_id",
    )
    .fetch_all(&mut database)
    .await
    .unwrap();

    let indexed = replica.all_companies(SearchQuery::default()).await;
    let indexed: Told = indexed
        .into_iter()
        .map(|company| (company.id, [Some(company.name), company.description, None]))
        .collect();
    let expected: Told = companies
        .into_iter()
        .map(|(id, name, description)| (id, [Some(name), description, None]))
        .collect();
    assert_eq!(indexed, expected);

    let indexed = replica.all_people(SearchQuery::default()).await;
    let indexed: Told = indexed
        .into_iter()
        .map(|person| {
            let employer = person.company.map(|company| company.id);
            (person.id, [Some(person.full_name), person.job_title, employer])
        })
        .collect();
    let expected: Told = people
        .iter()
        .map(|(id, name, title, employer)| {
            (id.clone(), [Some(name.clone()), title.clone(), employer.clone()])
        })
        .collect();
    assert_eq!(indexed, expected);

    // A company is found by what its people's records say.
    for title in TITLES {
        let query = SearchQuery {
            job_titles: vec![format!("\"{title}\"")],
            ..SearchQuery::default()
        };
        let found = replica.all_companies(query).await;
        let found: BTreeSet<String> = found.into_iter().map(|company| company.id).collect();
        let expected: BTreeSet<String> = people
            .iter()
            .filter(|(_, _, held, _)| held.as_deref() == Some(title))
            .filter_map(|(_, _, _, employer)| employer.clone())
            .collect();
        assert_eq!(found, expected, "{title}");
    }
}

/// Stops the writers at the end, whether the test goes well or not.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Until so many more batches are answered.
async fn wait_for_answers(answered: &AtomicU64, more: u64) {
    let (begun, enough) = (Instant::now(), answered.load(Ordering::Relaxed) + more);
    while answered.load(Ordering::Relaxed) < enough {
        assert!(begun.elapsed() < PATIENCE, "imports are not answered");
        tokio::time::sleep(PAUSE).await;
    }
}

#[test]
fn index_and_database_are_the_same_after_every_crash() {
    // What is committed stays so: the index may be ahead of nothing.
    let world = World::start(Options::new().own_postgres().durable());
    let replica = world
        .operator
        .block_on(async { Replica::at(&world.environment.search_grpc, &world.environment) });
    let run = Run::begin("index", 4);
    let mut chance = run.chance();
    for round in run.rounds() {
        let killed: &[Part] = match round % 4 {
            3 => &[Part::Postgres],
            2 => &[Part::Postgres, SEARCH],
            _ => &[SEARCH],
        };
        let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                let writing = write(replica.clone(), chance.random(), &stop, &answered);
                scope.spawn(|| world.operator.block_on(writing));
            }
            let _stop = StopAtEnd(&stop);
            world
                .operator
                .block_on(wait_for_answers(&answered, chance.random_range(1..30)));
            for part in killed {
                world.stack.kill(*part).unwrap();
            }
            for part in killed {
                world.stack.start_part(*part).unwrap();
            }
            world.operator.block_on(wait_for_answers(&answered, 5));
        });
        world.operator.block_on(compare(&world, &replica));
        let killed = killed.iter().map(Part::to_string).collect::<Vec<_>>();
        let batches = answered.into_inner();
        let told = format!(
            "kill {}; {batches} batches answered, 0 differences",
            killed.join(", ")
        );
        run.tell(round, &told);
    }

    // One that is built now, in one go, has merged nothing as this one has: they answer alike to the byte.
    let another = world.stack.start_another(Service::Search).unwrap();
    let address = world.stack.address(another).unwrap();
    world.operator.block_on(async {
        let another = Replica::at(&address, &world.environment);
        compare(&world, &another).await;
        for query in queries() {
            assert_eq!(
                replica.companies(query.clone()).await.unwrap(),
                another.companies(query.clone()).await.unwrap(),
                "{query:?}"
            );
            assert_eq!(
                replica.people(query.clone()).await.unwrap(),
                another.people(query.clone()).await.unwrap(),
                "{query:?}"
            );
        }
    });
}

/// Searches in every order.
fn queries() -> Vec<SearchQuery> {
    let filters = [
        SearchQuery::default(),
        SearchQuery {
            company_name: "name".to_owned(),
            ..SearchQuery::default()
        },
        SearchQuery {
            job_titles: vec!["baker".to_owned(), "engineer".to_owned()],
            ..SearchQuery::default()
        },
        SearchQuery {
            description_keywords: "stamp".to_owned(),
            info_updated_from: "2026-03-01".to_owned(),
            ..SearchQuery::default()
        },
    ];
    let orders = [SortField::Relevance, SortField::InfoUpdatedAt];
    let pages = [1, 2, 7];
    let mut queries = Vec::new();
    for filter in filters {
        for field in orders {
            for page in pages {
                queries.push(SearchQuery {
                    sort: Some(Sort {
                        field: field.into(),
                        direction: SortDirection::Desc.into(),
                    }),
                    page: Some(page),
                    limit: Some(20),
                    ..filter.clone()
                });
            }
        }
    }
    queries
}

#[test]
fn a_walk_meets_every_unchanged_record_once_whatever_changes_around_it() {
    let world = World::start(Options::new());
    let another = world.stack.start_another(Service::Search).unwrap();
    let address = world.stack.address(another).unwrap();
    let operator = &world.operator;
    let replicas = operator.block_on(async {
        [world.environment.search_grpc.as_str(), &address].map(|at| Replica::at(at, &world.environment))
    });
    let made = |id: &str, number: u32| {
        Change::Company(CompanyRecord {
            info_updated_at: Some(timestamp(&format!("2026-01-{:02}T00:00:00Z", number % 28 + 1))),
            ..company(
                id,
                &format!(
                    "{} Walk {number}",
                    char::from(b'A' + u8::try_from(number % 26).unwrap())
                ),
            )
        })
    };
    let kept: Vec<Change> = (0..COMPANIES)
        .map(|number| made(&format!("kept-{number}"), number))
        .collect();
    let position = operator.block_on(replicas[0].import(kept)).unwrap();
    for replica in &replicas {
        operator.block_on(replica.wait_for(position));
    }
    let kept: BTreeSet<String> = operator
        .block_on(replicas[0].all_companies(SearchQuery::default()))
        .into_iter()
        .map(|company| company.id)
        .collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (writer, stopped) = (replicas[0].clone(), &stop);
        scope.spawn(move || {
            let mut chance = StdRng::seed_from_u64(7);
            while !stopped.load(Ordering::Relaxed) {
                let changes = (0..30).map(|_| {
                    let id = record_id("around", COMPANIES, &mut chance);
                    if chance.random_range(0..3) == 0 {
                        Change::DeleteCompany(DeleteCompany { external_id: id })
                    } else {
                        made(&id, chance.random_range(0..1_000))
                    }
                });
                operator.block_on(writer.import(changes.collect())).unwrap();
            }
        });
        let _stop = StopAtEnd(&stop);
        let mut chance = StdRng::seed_from_u64(8);
        for (walk, field) in [SortField::Name, SortField::InfoUpdatedAt, SortField::Relevance]
            .into_iter()
            .cycle()
            .take(6)
            .enumerate()
        {
            let mut query = SearchQuery {
                company_name: "walk".to_owned(),
                sort: Some(Sort {
                    field: field.into(),
                    direction: SortDirection::Unspecified.into(),
                }),
                ..SearchQuery::default()
            };
            let mut met = Vec::new();
            for page in 0.. {
                query.limit = Some(chance.random_range(1..40));
                let answer = operator
                    .block_on(replicas[page % 2].companies(query.clone()))
                    .unwrap();
                met.extend(answer.companies.into_iter().map(|company| company.id));
                query.cursor = answer.page.unwrap().next_cursor;
                if query.cursor.is_none() {
                    break;
                }
                if page == 3 && walk == 1 {
                    operator.block_on(replicas[1].rebuild());
                }
                if page == 3 && walk == 3 {
                    world.stack.restart(another).unwrap();
                }
            }
            met.retain(|id| kept.contains(id));
            assert_eq!(met.len(), kept.len(), "{field:?}");
            assert_eq!(met.iter().cloned().collect::<BTreeSet<_>>(), kept, "{field:?}");
        }
    });
}
