//! `RecordService/RevealEmail`, and what a search shows of addresses.

use chrono::TimeDelta;
use proto::error_code::ErrorCode;
use proto::search::v1::{EmailStatus, PersonRecord, SearchQuery};
use sqlx::PgPool;

use crate::fixture::ToImport::Person;
use crate::fixture::{Served, batch, person, serve, start, violations};

async fn with_people(pool: &PgPool) -> Served {
    let served = serve(pool).await;
    let known = |id: &str, name: &str, email: &str| PersonRecord {
        email: Some(email.to_owned()),
        ..person(id, name, None)
    };
    served
        .import(vec![batch([
            Person(known("p1", "Ada", "Ada@Bücher.example")),
            Person(known("p2", "Bob", "bob@acme.example")),
            Person(person("p3", "Eve", None)),
        ])])
        .await;
    served
}

fn by_name() -> SearchQuery {
    let sort = proto::search::v1::Sort {
        field: proto::search::v1::SortField::FullName.into(),
        ..Default::default()
    };
    SearchQuery {
        sort: Some(sort),
        ..SearchQuery::default()
    }
}

async fn shown(served: &Served, account: &str) -> Vec<(EmailStatus, Option<String>)> {
    let people = served.people(account, by_name()).await.unwrap().people;
    people
        .into_iter()
        .map(|person| (person.email_status(), person.email))
        .collect()
}

#[sqlx::test]
async fn an_address_is_shown_to_the_account_that_revealed_it_alone(pool: PgPool) {
    let served = with_people(&pool).await;
    let locked = vec![
        (EmailStatus::Locked, None),
        (EmailStatus::Locked, None),
        (EmailStatus::None, None),
    ];
    assert_eq!(shown(&served, "one").await, locked);
    let ada = served.people("one", by_name()).await.unwrap().people[0]
        .id
        .clone();
    let revealed = served.reveal("one", &ada).await.unwrap();
    assert_eq!(revealed.email.as_deref(), Some("Ada@Bücher.example"));
    let mut seen = locked.clone();
    seen[0] = (EmailStatus::Revealed, revealed.email.clone());
    assert_eq!(shown(&served, "one").await, seen);
    assert_eq!(shown(&served, "two").await, locked);

    served.ambient.advance(TimeDelta::hours(1));
    let again = served.reveal("one", &ada).await.unwrap();
    assert_eq!(again, revealed, "revealing again changes nothing");
    assert_eq!(again.revealed_at.unwrap().seconds, start().timestamp());
}

#[sqlx::test]
async fn fields_ask_for_the_status_or_the_address_alone(pool: PgPool) {
    let served = with_people(&pool).await;
    let ada = served.people("one", by_name()).await.unwrap().people[0]
        .id
        .clone();
    served.reveal("one", &ada).await.unwrap();
    let asked = async |field: &str| {
        let query = SearchQuery {
            fields: vec![field.to_owned()],
            ..by_name()
        };
        let person = served.people("one", query).await.unwrap().people.remove(0);
        (person.email_status(), person.email)
    };
    assert_eq!(
        asked("email").await,
        (EmailStatus::Unspecified, Some("Ada@Bücher.example".into()))
    );
    assert_eq!(asked("emailStatus").await, (EmailStatus::Revealed, None));
    assert_eq!(asked("fullName").await, (EmailStatus::Unspecified, None));
}

#[sqlx::test]
async fn a_locked_address_can_not_be_probed(pool: PgPool) {
    let served = with_people(&pool).await;
    let ask = async |account: &str, email: &str| {
        let query = SearchQuery {
            business_email: email.to_owned(),
            ..by_name()
        };
        let people = served.people(account, query).await.unwrap().people;
        people
            .into_iter()
            .map(|person| person.full_name)
            .collect::<Vec<_>>()
    };
    let spellings = [
        "ada@bücher.example",
        "ADA@xn--bcher-kva.example",
        "@bücher.example",
        "bücher.example",
    ];
    for email in spellings {
        assert_eq!(ask("one", email).await, [] as [&str; 0], "{email}");
    }
    let ada = served.people("one", by_name()).await.unwrap().people[0]
        .id
        .clone();
    served.reveal("one", &ada).await.unwrap();
    for email in spellings {
        assert_eq!(ask("one", email).await, ["Ada"], "{email}");
        assert_eq!(ask("two", email).await, [] as [&str; 0], "{email}");
    }
    assert_eq!(
        ask("one", "bob@acme.example, other@bücher.example").await,
        [] as [&str; 0]
    );
    assert_eq!(ask("one", "bob@acme.example, ada@bücher.example").await, ["Ada"]);
}

#[sqlx::test]
async fn what_can_not_be_revealed_is_told(pool: PgPool) {
    let served = with_people(&pool).await;
    let nobody = "01890a5d-ac96-774b-bcce-b302099a8057";
    assert_eq!(
        ErrorCode::of(&served.reveal("one", nobody).await.unwrap_err()),
        ErrorCode::NotFound
    );
    let refusal = served.reveal("", "p1").await.unwrap_err();
    let fields: Vec<_> = violations(&refusal)
        .iter()
        .map(proto::violation::Violation::field)
        .collect();
    assert_eq!(fields, ["accountId", "personId"]);
    let eve = served.people("one", by_name()).await.unwrap().people[2]
        .id
        .clone();
    assert_eq!(served.reveal("one", &eve).await.unwrap().email, None);
    assert_eq!(shown(&served, "one").await[2], (EmailStatus::None, None));
}
