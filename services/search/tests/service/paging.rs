//! Pages, cursors, totals.

use std::collections::HashSet;

use proto::search::v1::{PaginationMode, SearchQuery, Sort, SortDirection, SortField};
use proto::violation::ViolationCode;
use sqlx::PgPool;

use crate::fixture::ToImport::Company;
use crate::fixture::{Served, batch, company, serve, violations};

const COMPANIES: usize = 60;

async fn with_companies(pool: &PgPool) -> Served {
    let served = serve(pool).await;
    let names = (0..COMPANIES).map(|number| {
        let id = number.to_string();
        // Many have the same name: ties.
        Company(company(&id, &format!("Acme {}", number / 20)))
    });
    served.import(vec![batch(names)]).await;
    served
}

fn sorted(field: SortField) -> Sort {
    Sort {
        field: field.into(),
        ..Sort::default()
    }
}

#[sqlx::test]
async fn pages_by_number_and_by_cursor_hold_each_record_once(pool: PgPool) {
    let served = with_companies(&pool).await;
    for field in [
        SortField::Name,
        SortField::InfoUpdatedAt,
        SortField::EmployeeCount,
        SortField::Relevance,
    ] {
        let base = SearchQuery {
            company_name: "acme".into(),
            limit: Some(7),
            sort: Some(sorted(field)),
            ..SearchQuery::default()
        };
        let mut by_page = Vec::new();
        for page in 1..=9 {
            let query = SearchQuery {
                page: Some(page),
                ..base.clone()
            };
            let answer = served.companies(query).await.unwrap();
            let info = answer.page.unwrap();
            assert_eq!((info.total, info.page, info.limit), (60, page, 7));
            assert_eq!(info.pagination_mode(), PaginationMode::Page);
            assert_eq!(info.next_cursor.is_some(), page < 9);
            by_page.extend(answer.companies.into_iter().map(|company| company.id));
        }
        let (mut by_cursor, mut cursor, mut page) = (Vec::new(), Some(String::new()), 1);
        while let Some(shown) = cursor {
            let query = SearchQuery {
                cursor: Some(shown),
                ..base.clone()
            };
            let answer = served.companies(query).await.unwrap();
            let info = answer.page.unwrap();
            assert_eq!((info.total, info.page), (60, page));
            assert_eq!(info.pagination_mode(), PaginationMode::Cursor);
            by_cursor.extend(answer.companies.into_iter().map(|company| company.id));
            (cursor, page) = (info.next_cursor, page + 1);
        }
        assert_eq!(by_page, by_cursor);
        assert_eq!(by_page.iter().collect::<HashSet<_>>().len(), COMPANIES);
    }
}

#[sqlx::test]
async fn a_cursor_goes_on_from_a_page_and_with_another_limit_and_other_fields(pool: PgPool) {
    let served = with_companies(&pool).await;
    let base = SearchQuery {
        sort: Some(sorted(SortField::Name)),
        ..SearchQuery::default()
    };
    let all = served
        .companies(SearchQuery {
            limit: Some(250),
            ..base.clone()
        })
        .await
        .unwrap()
        .companies;
    let second = SearchQuery {
        limit: Some(10),
        page: Some(2),
        ..base.clone()
    };
    let cursor = served.companies(second).await.unwrap().page.unwrap().next_cursor;
    let third = SearchQuery {
        limit: Some(15),
        cursor,
        fields: vec!["name".into()],
        ..base
    };
    let third = served.companies(third).await.unwrap();
    let ids = |companies: &[proto::search::v1::Company]| {
        companies
            .iter()
            .map(|company| company.id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&third.companies), ids(&all[20..35]));
    assert_eq!(third.page.unwrap().page, 3);
    assert!(
        third
            .companies
            .iter()
            .all(|company| company.info_updated_at.is_none())
    );
}

#[sqlx::test]
async fn a_cursor_of_another_search_is_refused_with_every_other_problem(pool: PgPool) {
    let served = with_companies(&pool).await;
    let first = SearchQuery {
        limit: Some(10),
        cursor: Some(String::new()),
        ..SearchQuery::default()
    };
    let cursor = served
        .companies(first.clone())
        .await
        .unwrap()
        .page
        .unwrap()
        .next_cursor
        .unwrap();
    let shown = |change: fn(&mut SearchQuery)| {
        let mut query = SearchQuery {
            cursor: Some(cursor.clone()),
            ..first.clone()
        };
        change(&mut query);
        query
    };
    for change in [
        (|query| query.company_name = "acme".into()) as fn(&mut SearchQuery),
        |query| {
            query.sort = Some(Sort {
                direction: SortDirection::Asc.into(),
                ..Sort::default()
            });
        },
        |query| query.search_tags = vec!["a".into()],
    ] {
        let violations = violations(&served.companies(shown(change)).await.unwrap_err());
        assert_eq!(
            (violations[0].field().as_str(), violations[0].code),
            ("cursor", ViolationCode::InvalidFormat)
        );
        assert!(
            violations[0].message.contains("another search"),
            "{}",
            violations[0].message
        );
    }
    // The same search said in another way is the same.
    let same = shown(|query| {
        query.company_name = "  ".into();
        query.job_titles = vec![String::new()];
        query.sort = Some(Sort {
            field: SortField::InfoUpdatedAt.into(),
            direction: SortDirection::Desc.into(),
        });
    });
    assert_eq!(served.companies(same).await.unwrap().companies.len(), 10);
    // A search for people is another one, too; and other problems are told beside it.
    let query = SearchQuery {
        limit: Some(0),
        ..shown(|_| {})
    };
    let found = violations(&served.people("account", query).await.unwrap_err());
    let fields: Vec<_> = found.iter().map(proto::violation::Violation::field).collect();
    assert_eq!(fields, ["limit", "cursor"]);
    let altered = format!("{}A{}", &cursor[..20], &cursor[21..]);
    let query = SearchQuery {
        cursor: Some(altered),
        ..first
    };
    let found = violations(&served.companies(query).await.unwrap_err());
    assert!(found[0].message.contains("altered"), "{}", found[0].message);
}
