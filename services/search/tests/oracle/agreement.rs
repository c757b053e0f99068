//! The whole service and the oracle, asked the same about the same records.
//!
//! A world of records changes from round to round; in each, many requests are made of what its records hold. A request
//! that is answered differently is shrunk to what it takes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use proto::RecordKind;
use proto::search::v1::import_record::Change;
use proto::search::v1::{
    CountCompaniesRequest, CountPeopleRequest, PageInfo, PaginationMode, SearchQuery, Sort,
};
use sqlx::PgPool;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tonic::Status;

use crate::fields;
use crate::fixture::{Served, at, serve};
use crate::made::pieces::Pieces;
use crate::made::records::changes;
use crate::made::requests::{Request, request, reveals};
use crate::order::applied_sort;
use crate::scan::Oracle;
use crate::suggestions;

/// Requests to each state of the world.
const REQUESTS_A_ROUND: u32 = 100;
/// Changes that make the first world, and each next one of the one before.
const FIRST_CHANGES: usize = 400;
const MORE_CHANGES: usize = 60;

/// A number from the environment: how much to test, not what the service does.
#[expect(clippy::disallowed_methods, reason = "a test has no other settings")]
fn setting(name: &str, default: u32) -> u32 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn runner(seed: u32, round: u32, cases: u32) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    bytes[4..8].copy_from_slice(&round.to_le_bytes());
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 500,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn one<S: Strategy>(runner: &mut TestRunner, strategy: &S) -> S::Value {
    strategy.new_tree(runner).expect("a value").current()
}

/// The service with its records, and the oracle with the same.
struct World {
    served: Served,
    pool: PgPool,
    oracle: Oracle,
    /// Requests that some record meets.
    met: AtomicU32,
}

/// A page of companies or people.
struct Page<R> {
    rows: Vec<R>,
    info: PageInfo,
}

impl World {
    async fn change(&mut self, changes: Vec<Change>) {
        // Of several changes of one record in a batch the last counts.
        let mut last = BTreeMap::new();
        for change in &changes {
            let key = match change {
                Change::Company(record) => ("company", record.external_id.clone()),
                Change::DeleteCompany(record) => ("company", record.external_id.clone()),
                Change::Person(record) => ("person", record.external_id.clone()),
                Change::DeletePerson(record) => ("person", record.external_id.clone()),
            };
            last.insert(key, change.clone());
        }
        for change in last.into_values() {
            match change {
                Change::Company(record) => self.oracle.put_company(&record),
                Change::Person(record) => self.oracle.put_person(&record),
                Change::DeleteCompany(record) => self.oracle.delete_company(&record.external_id),
                Change::DeletePerson(record) => self.oracle.delete_person(&record.external_id),
            }
        }
        let records = (1..)
            .zip(changes)
            .map(|(line, change)| at(line, change))
            .collect();
        let answers = self.served.import(vec![records]).await;
        assert!(
            answers.iter().all(|answer| answer.rejected.is_empty()),
            "{answers:?}"
        );
        let ids = async |table: &str| {
            let select = format!("SELECT external_id, id::text FROM {table}");
            let rows = sqlx::query_as::<_, (String, String)>(sqlx::AssertSqlSafe(select));
            rows.fetch_all(&self.pool).await.expect("rows")
        };
        let (companies, people) = (ids("companies").await, ids("people").await);
        self.oracle.learn_ids(companies, people);
    }

    async fn reveal(&mut self, account: &str, at: proptest::sample::Index) {
        let known = self.oracle.person_rows().filter(|(_, _, email)| email.is_some());
        let known = known
            .map(|(external_id, row, _)| (external_id.to_owned(), row.id.clone()))
            .collect::<Vec<_>>();
        if known.is_empty() {
            return;
        }
        let (external_id, id) = at.get(&known);
        self.served.reveal(account, id).await.expect("a reveal");
        self.oracle.reveal(account, external_id);
    }

    async fn compare(&self, request: &Request) -> Result<(), TestCaseError> {
        let Request {
            kind, account, query, ..
        } = request;
        match kind {
            RecordKind::Company => {
                let expected = self.oracle.companies(query);
                self.met
                    .fetch_add(u32::from(!expected.is_empty()), Ordering::Relaxed);
                let ask = async |query: SearchQuery| {
                    let answer = self.served.companies(query).await?;
                    Ok::<_, Status>(Page {
                        rows: answer.companies,
                        info: answer.page.unwrap_or_default(),
                    })
                };
                compare(request, &expected, fields::company, ask).await?;
                let count = CountCompaniesRequest {
                    query: Some(query.clone()),
                };
                let count = self.served.search.clone().count_companies(count).await;
                check_count(
                    query,
                    count.map(|answer| answer.into_inner().total),
                    expected.len(),
                )
            }
            RecordKind::Person => {
                let expected = self.oracle.people(account, query);
                self.met
                    .fetch_add(u32::from(!expected.is_empty()), Ordering::Relaxed);
                let ask = async |query: SearchQuery| {
                    let answer = self.served.people(account, query).await?;
                    Ok::<_, Status>(Page {
                        rows: answer.people,
                        info: answer.page.unwrap_or_default(),
                    })
                };
                compare(request, &expected, fields::person, ask).await?;
                let count = CountPeopleRequest {
                    account_id: (*account).to_owned(),
                    query: Some(query.clone()),
                };
                let count = self.served.search.clone().count_people(count).await;
                check_count(
                    query,
                    count.map(|answer| answer.into_inner().total),
                    expected.len(),
                )
            }
        }
    }
}

/// Asks for all at once, page by page and cursor by cursor.
async fn compare<R: Clone + Debug + PartialEq>(
    request: &Request,
    expected: &[R],
    shown: fn(&R, &[String]) -> R,
    ask: impl AsyncFn(SearchQuery) -> Result<Page<R>, Status>,
) -> Result<(), TestCaseError> {
    let Request {
        query, pages, limits, ..
    } = request;
    let (field, direction) = applied_sort(query);
    let sort = Some(Sort {
        field: field.into(),
        direction: direction.into(),
    });
    let answer = async |query: SearchQuery, from: usize| {
        let page = ask(query.clone())
            .await
            .map_err(|refusal| TestCaseError::fail(format!("{refusal:?}\n{query:#?}")))?;
        let limit = query.limit.unwrap_or_default();
        let most = usize::try_from(limit).expect("a limit");
        let rest = expected.get(from..).unwrap_or_default();
        let rows = rest
            .iter()
            .take(most)
            .map(|row| shown(row, &query.fields))
            .collect::<Vec<_>>();
        check_rows(&query, &page.rows, &rows)?;
        let info = PageInfo {
            total: i64::try_from(expected.len()).expect("a count"),
            limit,
            sort,
            ..page.info.clone()
        };
        check(&query, &page.info, &info)?;
        check(&query, &page.info.next_cursor.is_some(), &(rest.len() > most))?;
        Ok::<_, TestCaseError>(page.info)
    };
    let all = SearchQuery {
        limit: Some(250),
        fields: Vec::new(),
        ..query.clone()
    };
    answer(all, 0).await?;
    for (page, limit) in pages {
        let query = SearchQuery {
            page: Some(*page),
            limit: Some(*limit),
            ..query.clone()
        };
        let from = usize::try_from((page - 1) * limit).expect("a page");
        let info = answer(query.clone(), from).await?;
        check(
            &query,
            &(info.page, info.pagination_mode()),
            &(*page, PaginationMode::Page),
        )?;
    }
    let (mut from, mut cursor) = (0, Some(String::new()));
    let mut limits = limits.iter().copied().peekable();
    let mut fields = [Vec::new(), query.fields.clone()].into_iter().cycle();
    for page in 1.. {
        let Some(shown) = cursor else { break };
        let limit = limits.next_if(|_| true).or(request.limits.last().copied());
        let fields = fields.next().unwrap_or_default();
        let query = SearchQuery {
            cursor: Some(shown),
            limit,
            fields,
            ..query.clone()
        };
        let info = answer(query.clone(), from).await?;
        check(
            &query,
            &(info.page, info.pagination_mode()),
            &(page, PaginationMode::Cursor),
        )?;
        from += usize::try_from(limit.unwrap_or_default()).expect("a limit");
        cursor = info.next_cursor;
    }
    Ok(())
}

fn check<T: Debug + PartialEq>(query: &SearchQuery, found: &T, expected: &T) -> Result<(), TestCaseError> {
    if found == expected {
        return Ok(());
    }
    Err(TestCaseError::fail(format!(
        "the service: {found:?}\nthe oracle: {expected:?}\n{query:#?}"
    )))
}

fn check_count(
    query: &SearchQuery,
    found: Result<i64, Status>,
    expected: usize,
) -> Result<(), TestCaseError> {
    let found = found.map_err(|refusal| TestCaseError::fail(format!("{refusal:?}\n{query:#?}")))?;
    check(query, &found, &i64::try_from(expected).expect("a count"))
}

/// Tells the first few rows that only one of them has, else where the order differs.
fn check_rows<R: Debug + PartialEq>(
    query: &SearchQuery,
    found: &[R],
    expected: &[R],
) -> Result<(), TestCaseError> {
    if found == expected {
        return Ok(());
    }
    let only = |these: &[R], those: &[R]| {
        let only = these.iter().filter(|row| !those.contains(row)).take(2);
        only.map(|row| format!("{row:#?}")).collect::<Vec<_>>().join("\n")
    };
    let at = found.iter().zip(expected).position(|(one, other)| one != other);
    Err(TestCaseError::fail(format!(
        "they differ at row {at:?}\nthe service alone: {}\nthe oracle alone: {}\n{query:#?}",
        only(found, expected),
        only(expected, found)
    )))
}

/// `DS_TEST__ORACLE_CASES` requests (1,000), made up from `DS_TEST__ORACLE_SEED` (1): `./dev test --long` asks for more.
#[sqlx::test]
async fn the_service_agrees_with_the_oracle(pool: PgPool) {
    let cases = setting("DS_TEST__ORACLE_CASES", 1_000);
    let seed = setting("DS_TEST__ORACLE_SEED", 1);
    let mut world = World {
        served: serve(&pool).await,
        pool,
        oracle: Oracle::default(),
        met: AtomicU32::new(0),
    };
    for round in 0..cases.div_ceil(REQUESTS_A_ROUND) {
        let mut runner = runner(seed, round, REQUESTS_A_ROUND);
        let count = if round == 0 { FIRST_CHANGES } else { MORE_CHANGES };
        world.change(one(&mut runner, &changes(count))).await;
        for (account, at) in one(&mut runner, &reveals()) {
            world.reveal(account, at).await;
        }
        let compared = spawn_blocking(move || {
            let (handle, pieces) = (Handle::current(), Pieces::of(&world.oracle));
            let compare = |request: Request| handle.block_on(world.compare(&request));
            let outcome = runner.run(&request(&pieces), compare);
            (world, outcome)
        });
        let (asked, outcome) = compared.await.expect("no panic");
        world = asked;
        if let Err(difference) = outcome {
            panic!("seed {seed}, round {round}: {difference}");
        }
    }
    let met = world.met.into_inner();
    assert!(
        met > cases / 2,
        "only {met} of {cases} requests were met by a record"
    );
}

/// Three worlds, each a change of the one before.
#[sqlx::test]
async fn suggestions_agree_with_the_oracle(pool: PgPool) {
    let mut world = World {
        served: serve(&pool).await,
        pool,
        oracle: Oracle::default(),
        met: AtomicU32::new(0),
    };
    for round in 0..3 {
        let mut runner = runner(setting("DS_TEST__ORACLE_SEED", 1), round, 1);
        let count = if round == 0 { FIRST_CHANGES } else { MORE_CHANGES };
        world.change(one(&mut runner, &changes(count))).await;
        suggestions::agree(&world.served, &world.oracle).await;
    }
}
