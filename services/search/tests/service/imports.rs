//! `RecordService/Import`.

use std::time::{Duration, Instant};

use proto::error_code::ErrorCode;
use proto::search::v1::{ImportRequest, SearchQuery};
use proto::violation::ViolationCode;
use sqlx::PgPool;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::fixture::ToImport::{Company, NoCompany, NoPerson, Person};
use crate::fixture::{batch, company, person, serve, until, violations};

#[sqlx::test]
async fn people_and_companies_come_in_any_order_and_again(pool: PgPool) {
    let served = serve(&pool).await;
    let people = batch([
        Person(person("p1", "Ada Lovelace", Some("c1"))),
        Person(person("p2", "Grace Hopper", Some("nowhere"))),
    ]);
    let companies = batch([Company(company("c1", "Acme Bakeries"))]);
    let answers = served.import(vec![people.clone(), companies.clone()]).await;
    assert_eq!((answers[0].stored, answers[1].stored), (2, 1));
    assert!(answers[0].position < answers[1].position);

    let query = SearchQuery {
        company_name: "acme".into(),
        ..SearchQuery::default()
    };
    let found = served.people("account", query.clone()).await.unwrap();
    assert_eq!(found.people.len(), 1);
    let ada = &found.people[0];
    assert_eq!(ada.full_name, "Ada Lovelace");
    assert_eq!(ada.company.as_ref().unwrap().name, "Acme Bakeries");
    assert_eq!(
        served.companies(query).await.unwrap().companies[0].id,
        ada.company.as_ref().unwrap().id
    );

    let again = served.import(vec![companies, people]).await;
    assert!(
        again
            .iter()
            .all(|answer| answer.stored == 0 && answer.position == answers[1].position)
    );
    assert_eq!(again.iter().map(|answer| answer.unchanged).sum::<u64>(), 3);
}

#[sqlx::test]
async fn a_bad_line_is_told_and_the_rest_goes_in(pool: PgPool) {
    let served = serve(&pool).await;
    served
        .import(vec![batch([Company(company("c1", "Before"))])])
        .await;
    let bad = proto::search::v1::CompanyRecord {
        country: Some("Germany".into()),
        employee_count: Some(-1),
        ..company("c1", "After")
    };
    let answers = served
        .import(vec![batch([
            Company(company("c2", "Second")),
            Company(bad),
            Person(person("", "", None)),
            Person(person("p1", "Ada", None)),
        ])])
        .await;
    assert_eq!(answers[0].stored, 2);
    let rejected: Vec<_> = answers[0]
        .rejected
        .iter()
        .map(|record| (record.line, record.reasons.len()))
        .collect();
    assert_eq!(rejected, [(2, 2), (3, 2)]);
    let found = served.companies(SearchQuery::default()).await.unwrap();
    let mut names: Vec<_> = found.companies.into_iter().map(|company| company.name).collect();
    names.sort();
    assert_eq!(
        names,
        ["Before", "Second"],
        "the record that was there before a bad update stays"
    );
}

#[sqlx::test]
async fn deleted_records_are_found_no_more(pool: PgPool) {
    let served = serve(&pool).await;
    served
        .import(vec![batch([
            Company(company("c1", "Acme")),
            Person(person("p1", "Ada", Some("c1"))),
            Person(person("p2", "Bob", Some("c1"))),
        ])])
        .await;
    let answers = served
        .import(vec![batch([NoCompany("c1"), NoPerson("p1"), NoPerson("nobody")])])
        .await;
    assert_eq!((answers[0].deleted, answers[0].unchanged), (2, 1));
    assert_eq!(
        served
            .companies(SearchQuery::default())
            .await
            .unwrap()
            .page
            .unwrap()
            .total,
        0
    );
    let people = served
        .people("account", SearchQuery::default())
        .await
        .unwrap()
        .people;
    assert_eq!(people.len(), 1);
    assert_eq!((people[0].full_name.as_str(), &people[0].company), ("Bob", &None));
    let status = served.status().await;
    assert_eq!((status.companies, status.people, status.lag_changes), (0, 1, 0));
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM companies")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(left, 0);
}

#[sqlx::test]
async fn a_batch_that_was_sent_is_in_as_a_whole_though_its_sender_has_left(pool: PgPool) {
    let served = serve(&pool).await;
    for round in 0..50 {
        let (send, receive) = mpsc::channel(1);
        let mut records = served.records.clone();
        let records_of = |part: &str| {
            let people = (0..20).map(|number| {
                Person(person(
                    &format!("{round} {part} {number}"),
                    "Someone",
                    Some(&round.to_string()),
                ))
            });
            ImportRequest {
                records: batch(people),
            }
        };
        send.send(records_of("first")).await.unwrap();
        let mut answers = records
            .import(ReceiverStream::new(receive))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(answers.message().await.unwrap().unwrap().stored, 20);
        // The second batch is on its way when the caller leaves.
        let _ = send.try_send(records_of("second"));
        drop((answers, send));
    }
    let counts = until(async || {
        // Nothing is left open behind the callers.
        let open: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND state <> 'idle' AND query LIKE '%people%'
                 AND pid <> pg_backend_pid()",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        let counts: Vec<(String, i64)> = sqlx::query_as(
            "SELECT split_part(external_id, ' ', 1) || split_part(external_id, ' ', 2), count(*)
             FROM people GROUP BY 1 ORDER BY 1",
        )
        .fetch_all(&pool)
        .await
        .unwrap();
        (open == 0).then_some(counts)
    })
    .await;
    assert!(counts.len() >= 50);
    assert!(counts.iter().all(|(_, count)| *count == 20), "{counts:?}");
    // The service is as it was.
    served.import(vec![batch([Company(company("c1", "Acme"))])]).await;
    assert_eq!(
        served
            .companies(SearchQuery::default())
            .await
            .unwrap()
            .page
            .unwrap()
            .total,
        1
    );
}

#[sqlx::test]
async fn the_next_batch_leaves_searches_as_much_time_as_they_took(pool: PgPool) {
    const TAKEN: Duration = Duration::from_millis(300);
    let served = serve(&pool).await;
    let (send, receive) = mpsc::channel(2);
    for id in ["c1", "c2"] {
        let records = batch([Company(company(id, "Acme"))]);
        send.send(ImportRequest { records }).await.unwrap();
    }
    let time = served.domain.time();
    let search = time.begin();
    // Nothing is written while this is open.
    let mut writer = pool.begin().await.unwrap();
    let lock = "LOCK TABLE companies IN EXCLUSIVE MODE";
    sqlx::query(lock).execute(&mut *writer).await.unwrap();
    let mut records = served.records.clone();
    let answers = records.import(ReceiverStream::new(receive)).await.unwrap();
    let mut answers = answers.into_inner();
    until(async || {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'companies'::regclass";
        let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&pool).await.unwrap();
        (waiting > 0).then_some(())
    })
    .await;
    let until_then = time.so_far() + TAKEN;
    until(async || (time.so_far() >= until_then).then_some(())).await;
    let released = Instant::now();
    writer.rollback().await.unwrap();
    for _ in 0..2 {
        assert_eq!(answers.message().await.unwrap().unwrap().stored, 1);
    }
    drop(search);
    assert!(released.elapsed() >= TAKEN, "{:?}", released.elapsed());
}

#[sqlx::test]
async fn a_batch_that_is_too_large_is_refused(pool: PgPool) {
    let served = serve(&pool).await;
    let records = batch((0..5_001).map(|number| NoPerson(if number == 0 { "a" } else { "b" })));
    let request = tokio_stream::iter([ImportRequest { records }]);
    let mut answers = served.records.clone().import(request).await.unwrap().into_inner();
    let refusal = answers.message().await.unwrap_err();
    let violations = violations(&refusal);
    assert_eq!(
        (violations[0].field().as_str(), violations[0].code),
        ("records", ViolationCode::TooBig)
    );
}

#[sqlx::test]
async fn a_service_that_is_told_to_stop_takes_no_further_batch(pool: PgPool) {
    let served = serve(&pool).await;
    let (send, receive) = mpsc::channel(1);
    let mut answers = served
        .records
        .clone()
        .import(ReceiverStream::new(receive))
        .await
        .unwrap()
        .into_inner();
    send.send(ImportRequest {
        records: batch([Company(company("c1", "Acme"))]),
    })
    .await
    .unwrap();
    assert_eq!(answers.message().await.unwrap().unwrap().stored, 1);
    served.shutdown.begin();
    let refusal = answers.message().await.unwrap_err();
    assert_eq!(ErrorCode::of(&refusal), ErrorCode::Unavailable);
}
