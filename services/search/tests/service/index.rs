//! `IndexService`.

use proto::search::v1::{RebuildIndexRequest, SearchQuery};
use sqlx::PgPool;

use crate::fixture::ToImport::{Company, Person};
use crate::fixture::{batch, company, person, serve, until};

#[sqlx::test]
async fn an_ordered_rebuild_ends_with_the_same_records_and_searches_go_on_meanwhile(pool: PgPool) {
    let served = serve(&pool).await;
    let people = (0..50).map(|number| Person(person(&number.to_string(), "Someone", Some("c"))));
    served
        .import(vec![batch(people), batch([Company(company("c", "Acme"))])])
        .await;
    let before = served.status().await;
    assert_eq!(
        (before.companies, before.people, before.rebuilding, before.merges),
        (1, 50, false, 0)
    );
    assert_eq!(before.position, before.feed_position);

    let order = async || {
        let answer = served.index.clone().rebuild_index(RebuildIndexRequest {}).await;
        answer.unwrap().into_inner().started
    };
    assert!(order().await);
    // A second order is taken only once the first is done.
    let mut again = order().await;
    until(async || {
        let total = served
            .companies(SearchQuery::default())
            .await
            .unwrap()
            .page
            .unwrap()
            .total;
        assert_eq!(total, 1, "searches are answered from a whole index");
        again = again || order().await;
        (again && !served.status().await.rebuilding).then_some(())
    })
    .await;
    let after = served.status().await;
    assert_eq!((after.companies, after.people), (1, 50));
    assert_eq!((after.position, after.lag_changes), (before.position, 0));
    // What is imported afterwards goes into the new one.
    served.import(vec![batch([Company(company("d", "Other"))])]).await;
    assert_eq!(served.status().await.companies, 2);
}
