//! What a row tells beside its record: the day, the query, the fields; and who may ask.

use std::time::Instant;

use proto::error_code::ErrorCode;
use proto::search::v1::search_service_client::SearchServiceClient;
use proto::search::v1::{
    CompanyRecord, LocationMatch, NewBusiness, PersonRecord, SearchCompaniesRequest, SearchQuery, Sort,
    SortField,
};
use search::error::SearchError;
use sqlx::PgPool;
use tonic::{Code, Request, Status};

use crate::fixture::ToImport::{Company, Person};
use crate::fixture::{batch, company, person, serve, show};

fn by_name() -> SearchQuery {
    let sort = Sort {
        field: SortField::Name.into(),
        ..Sort::default()
    };
    SearchQuery {
        sort: Some(sort),
        ..SearchQuery::default()
    }
}

#[sqlx::test]
async fn new_is_told_by_the_row_as_the_filter_finds_it(pool: PgPool) {
    let served = serve(&pool).await;
    let founded = |id: &str, date: Option<&str>| {
        Company(CompanyRecord {
            founded_date: date.map(str::to_owned),
            ..company(id, id)
        })
    };
    // The day of the tests is 2026-11-28.
    served
        .import(vec![batch([
            founded("a", Some("2026-11-28")),
            founded("b", Some("2025-11-28")),
            founded("c", Some("2025-11-27")),
            founded("d", Some("2026-11-29")),
            founded("e", Some("2026")),
            founded("f", Some("2025")),
            founded("g", None),
        ])])
        .await;
    let names = |companies: Vec<proto::search::v1::Company>| {
        companies
            .into_iter()
            .map(|company| company.name)
            .collect::<Vec<_>>()
    };
    let all = served.companies(by_name()).await.unwrap().companies;
    let (new, other): (Vec<_>, Vec<_>) = all.into_iter().partition(|company| company.new_business);
    let filtered = async |filter: NewBusiness| {
        let query = SearchQuery {
            new_business: filter.into(),
            ..by_name()
        };
        names(served.companies(query).await.unwrap().companies)
    };
    assert_eq!(names(new.clone()), ["a", "b", "e"]);
    assert_eq!(filtered(NewBusiness::Yes).await, names(new));
    assert_eq!(filtered(NewBusiness::No).await, names(other));
}

#[sqlx::test]
async fn a_row_tells_whose_place_met_the_location(pool: PgPool) {
    let served = serve(&pool).await;
    let in_city = |id: &str, city: &str| {
        Company(CompanyRecord {
            city: Some(city.to_owned()),
            country: Some("DE".to_owned()),
            ..company(id, id)
        })
    };
    let baker = PersonRecord {
        city: Some("Köln".to_owned()),
        country: Some("DE".to_owned()),
        ..person("p", "Ada", Some("away"))
    };
    served
        .import(vec![batch([
            in_city("home", "Köln"),
            in_city("away", "Hamburg"),
            Person(baker),
        ])])
        .await;
    let query = SearchQuery {
        location: "Cologne, Germany".into(),
        ..by_name()
    };
    let found = served.companies(query).await.unwrap().companies;
    let told: Vec<_> = found
        .iter()
        .map(|company| (company.name.as_str(), company.location_match()))
        .collect();
    assert_eq!(
        told,
        [("away", LocationMatch::People), ("home", LocationMatch::Company)]
    );
    let all = served.companies(by_name()).await.unwrap().companies;
    assert!(
        all.iter()
            .all(|company| company.location_match() == LocationMatch::Unspecified)
    );
}

#[sqlx::test]
async fn a_caller_needs_the_scope_of_the_method(pool: PgPool) {
    let served = serve(&pool).await;
    let mut client = SearchServiceClient::new(served.channel.clone());
    let refusal = client
        .search_companies(SearchCompaniesRequest { query: None })
        .await
        .unwrap_err();
    assert_eq!(refusal.code(), Code::Unauthenticated);
    let mut request = Request::new(SearchCompaniesRequest { query: None });
    show(&mut request, "admin");
    let refusal = client.search_companies(request).await.unwrap_err();
    assert_eq!(refusal.code(), Code::PermissionDenied);
    let mut request = Request::new(SearchCompaniesRequest { query: None });
    show(&mut request, "search");
    assert_eq!(
        client
            .search_companies(request)
            .await
            .unwrap()
            .into_inner()
            .page
            .unwrap()
            .total,
        0
    );
}

#[sqlx::test]
async fn a_search_that_has_no_time_left_is_broken_off(pool: PgPool) {
    let served = serve(&pool).await;
    let (domain, query) = (&served.domain, SearchQuery::default());
    let refusal = domain.companies(&query, Some(Instant::now())).await.unwrap_err();
    assert!(matches!(refusal, SearchError::DeadlineExceeded), "{refusal:?}");
    assert_eq!(ErrorCode::of(&Status::from(refusal)), ErrorCode::Timeout);
    assert!(domain.companies(&query, None).await.is_ok());
}

#[sqlx::test]
async fn a_page_without_locked_people_does_without_postgres(pool: PgPool) {
    let served = serve(&pool).await;
    let known = PersonRecord {
        email: Some("bob@acme.example".into()),
        ..person("p2", "Bob", None)
    };
    let titled = PersonRecord {
        job_title: Some("Baker".into()),
        ..person("p1", "Ada", None)
    };
    served
        .import(vec![batch([
            Company(company("c", "Acme")),
            Person(titled),
            Person(known),
        ])])
        .await;
    pool.close().await;
    assert_eq!(served.companies(by_name()).await.unwrap().companies.len(), 1);
    let bakers = SearchQuery {
        job_titles: vec!["baker".into()],
        ..SearchQuery::default()
    };
    assert_eq!(served.people("account", bakers).await.unwrap().people.len(), 1);
    let refusal = served
        .people("account", SearchQuery::default())
        .await
        .unwrap_err();
    assert_eq!(ErrorCode::of(&refusal), ErrorCode::Unavailable);
    let unasked = SearchQuery {
        fields: vec!["fullName".into()],
        ..SearchQuery::default()
    };
    assert_eq!(served.people("account", unasked).await.unwrap().people.len(), 2);
}
