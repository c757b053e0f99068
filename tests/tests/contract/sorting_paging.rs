//! Section 5: sorting, paging, totals.

use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, PersonRecord};
use serde_json::{Value, json};
use system_tests::{Answer, Set, company, person, world};

fn set_of(companies: impl IntoIterator<Item = CompanyRecord>) -> Set {
    Set::of(companies, [])
}

fn ask(set: &Set, query: Value) -> Answer {
    set.account.companies(&set.narrow(query)).expect(200)
}

fn names(set: &Set, query: Value) -> Vec<Value> {
    ask(set, query).column("name")
}

fn sized(name: &str, employees: Option<i64>, founded: Option<&str>, updated: &str) -> CompanyRecord {
    CompanyRecord {
        employee_count: employees,
        founded_date: founded.map(str::to_owned),
        info_updated_at: Some(system_tests::timestamp(updated)),
        ..company(name, name)
    }
}

fn four() -> Set {
    set_of([
        sized("beta", Some(5), None, "2026-01-03T00:00:00Z"),
        sized("Álpha", None, Some("2001-01-01"), "2026-01-01T00:00:00Z"),
        sized("Gamma", Some(50), Some("1999"), "2026-01-04T00:00:00Z"),
        sized("alpha 2", Some(7), Some("2010-10-10"), "2026-01-02T00:00:00Z"),
    ])
}

#[test]
fn companies_sort_by_each_field_in_both_directions_with_missing_values_last() {
    let set = four();
    for (sort, order) in [
        (json!({"field": "name"}), ["Álpha", "alpha 2", "beta", "Gamma"]),
        (
            json!({"field": "name", "dir": "asc"}),
            ["Álpha", "alpha 2", "beta", "Gamma"],
        ),
        (
            json!({"field": "name", "dir": "desc"}),
            ["Gamma", "beta", "alpha 2", "Álpha"],
        ),
        (
            json!({"field": "infoUpdatedAt"}),
            ["Gamma", "beta", "alpha 2", "Álpha"],
        ),
        (
            json!({"field": "infoUpdatedAt", "dir": "asc"}),
            ["Álpha", "alpha 2", "beta", "Gamma"],
        ),
        (
            json!({"field": "employeeCount"}),
            ["Gamma", "alpha 2", "beta", "Álpha"],
        ),
        (
            json!({"field": "employeeCount", "dir": "asc"}),
            ["beta", "alpha 2", "Gamma", "Álpha"],
        ),
        (
            json!({"field": "foundedDate"}),
            ["alpha 2", "Álpha", "Gamma", "beta"],
        ),
        (
            json!({"field": "foundedDate", "dir": "asc"}),
            ["Gamma", "Álpha", "alpha 2", "beta"],
        ),
    ] {
        assert_eq!(names(&set, json!({"sort": sort})), order, "{sort}");
    }
}

#[test]
fn the_sort_applied_is_told() {
    let set = four();
    let applied = |query: Value| ask(&set, query).body["data"]["sort"].clone();
    assert_eq!(
        applied(json!({})),
        json!({"field": "infoUpdatedAt", "dir": "desc"})
    );
    assert_eq!(
        applied(json!({"companyName": "alpha"})),
        json!({"field": "relevance", "dir": "desc"})
    );
    assert_eq!(
        applied(json!({"businessType": "x"})),
        json!({"field": "relevance", "dir": "desc"})
    );
    assert_eq!(
        applied(json!({"descriptionKeywords": "x"})),
        json!({"field": "relevance", "dir": "desc"})
    );
    assert_eq!(
        applied(json!({"jobTitles": ["x"]})),
        json!({"field": "relevance", "dir": "desc"})
    );
    assert_eq!(
        applied(json!({"location": "Berlin"})),
        json!({"field": "infoUpdatedAt", "dir": "desc"})
    );
    assert_eq!(
        applied(json!({"sort": {"field": "name"}})),
        json!({"field": "name", "dir": "asc"})
    );
    assert_eq!(
        applied(json!({"sort": {"field": "foundedDate"}})),
        json!({"field": "foundedDate", "dir": "desc"})
    );
}

#[test]
fn people_sort_by_each_field() {
    let (account, tag) = (world().account(), world().word());
    let employer = |id: &str, name: &str| {
        Change::Company(CompanyRecord {
            tags: vec![tag.clone()],
            ..company(&format!("{tag}-{id}"), name)
        })
    };
    let someone = |name: &str, title: Option<&str>, employer: &str, updated: &str| {
        Change::Person(PersonRecord {
            job_title: title.map(str::to_owned),
            company_external_id: Some(format!("{tag}-{employer}")),
            info_updated_at: Some(system_tests::timestamp(updated)),
            ..person(&format!("{tag}-{name}"), name)
        })
    };
    world().operator.import([
        employer("1", "Zeta"),
        employer("2", "Eta"),
        someone("Émile", Some("Cook"), "1", "2026-01-02T00:00:00Z"),
        someone("Adam", None, "1", "2026-01-03T00:00:00Z"),
        someone("Zoe", Some("Actor"), "2", "2026-01-01T00:00:00Z"),
    ]);
    for (sort, order) in [
        (json!({"field": "fullName"}), ["Adam", "Émile", "Zoe"]),
        (
            json!({"field": "fullName", "dir": "desc"}),
            ["Zoe", "Émile", "Adam"],
        ),
        (json!({"field": "jobTitle"}), ["Zoe", "Émile", "Adam"]),
        (
            json!({"field": "jobTitle", "dir": "desc"}),
            ["Émile", "Zoe", "Adam"],
        ),
        (json!({"field": "infoUpdatedAt"}), ["Adam", "Émile", "Zoe"]),
    ] {
        let answer = account.people(&json!({"searchTags": [tag], "sort": sort}));
        assert_eq!(answer.column("fullName"), order, "{sort}");
    }
    let answer = account.people(&json!({"searchTags": [tag], "sort": {"field": "companyName"}}));
    assert_eq!(answer.column("fullName")[0], "Zoe");
}

#[test]
fn relevance_puts_whole_values_before_adjacent_words_before_all_words() {
    let set = set_of([
        company("1", "Solar Blue Power Works"),
        company("2", "Blue Solar Works"),
        company("3", "Blue Solar"),
        company("4", "Solar Power Blue"),
    ]);
    let names = names(&set, json!({"companyName": "blue solar"}));
    assert_eq!(names[..2], ["Blue Solar", "Blue Solar Works"]);
    assert_eq!(names.len(), 4);
}

#[test]
fn relevance_counts_more_alternatives_before_fewer_and_names_before_types() {
    let typed = |id: &str, types: &[&str]| CompanyRecord {
        business_types: types.iter().map(|text| (*text).to_owned()).collect(),
        ..company(id, id)
    };
    let set = set_of([typed("one", &["Steel"]), typed("both", &["Steel", "Iron"])]);
    assert_eq!(
        names(&set, json!({"businessType": "steel, iron"})),
        ["both", "one"]
    );
    let set = set_of([
        CompanyRecord {
            business_types: vec!["Iron".into()],
            ..company("a", "Iron Works")
        },
        CompanyRecord {
            business_types: vec!["Iron Trade".into()],
            ..company("b", "Iron")
        },
    ]);
    assert_eq!(
        names(&set, json!({"businessType": "iron", "companyName": "iron"})),
        ["Iron", "Iron Works"]
    );
}

#[test]
fn ties_go_by_id_and_no_page_loses_or_repeats_a_row() {
    let set =
        set_of((0..60).map(|number| sized(&format!("{number}"), Some(1), None, "2026-01-01T00:00:00Z")));
    for sort in ["infoUpdatedAt", "employeeCount", "foundedDate"] {
        let query = |page: i64| json!({"sort": {"field": sort}, "limit": 7, "page": page, "fields": ["id"]});
        let ids: Vec<Value> = (1..=9)
            .flat_map(|page| ask(&set, query(page)).column("id"))
            .collect();
        let texts: Vec<&str> = ids.iter().map(|id| id.as_str().unwrap()).collect();
        assert_eq!(texts.len(), 60, "{sort}");
        assert!(
            texts.windows(2).all(|pair| pair[0] < pair[1]),
            "{sort}: ties go by id"
        );
        assert_eq!(
            walk(&set, json!({"sort": {"field": sort}, "limit": 7})),
            ids,
            "{sort}"
        );
    }
}

/// Ids of all records, by cursor.
fn walk(set: &Set, mut query: Value) -> Vec<Value> {
    query["cursor"] = Value::Null;
    let mut ids = Vec::new();
    loop {
        let answer = ask(set, query.clone());
        ids.extend(answer.column("id"));
        match &answer.body["data"]["nextCursor"] {
            Value::Null => return ids,
            next => query["cursor"] = next.clone(),
        }
        // Limit and fields may change on the way.
        query["limit"] = json!(ids.len() % 9 + 1);
        query["fields"] = [json!(["id"]), json!(["name"]), json!(["id", "tags"])][ids.len() % 3].clone();
    }
}

#[test]
fn a_cursor_walk_gives_each_record_once_in_every_order() {
    let set = set_of((0..40).map(|number| {
        sized(
            &format!("name {}", number % 5),
            (number % 3 > 0).then_some(number % 7),
            (number % 4 > 0)
                .then_some(["1999", "2000-05-05", "1999-01-01"][usize::try_from(number % 3).unwrap()]),
            &format!("2026-01-0{}T00:00:00Z", number % 3 + 1),
        )
    }));
    // The records share names, so that their external ids have to differ: `Set` makes them from the names.
    let total = usize::try_from(ask(&set, json!({})).total()).unwrap();
    for field in [
        "relevance",
        "name",
        "infoUpdatedAt",
        "foundedDate",
        "employeeCount",
    ] {
        for dir in ["asc", "desc"] {
            if field == "relevance" && dir == "asc" {
                continue;
            }
            let sort = json!({"field": field, "dir": dir});
            let all = ask(&set, json!({"sort": sort, "limit": 250})).column("id");
            assert_eq!(all.len(), total);
            assert_eq!(walk(&set, json!({"sort": sort, "limit": 3})), all, "{sort}");
        }
    }
}

#[test]
fn paging_is_told_and_a_cursor_goes_on_from_a_page() {
    let set = four();
    let first = ask(&set, json!({"limit": 3, "sort": {"field": "name"}}));
    let data = &first.body["data"];
    assert_eq!(
        (&data["page"], &data["limit"], &data["total"]),
        (&json!(1), &json!(3), &json!(4))
    );
    assert_eq!(data["paginationMode"], "page");
    let cursor = data["nextCursor"].as_str().unwrap().to_owned();
    let second = ask(
        &set,
        json!({"limit": 3, "sort": {"field": "name"}, "cursor": cursor}),
    );
    let data = &second.body["data"];
    assert_eq!(data["paginationMode"], "cursor");
    assert_eq!(
        (&data["page"], &data["total"], &data["nextCursor"]),
        (&json!(2), &json!(4), &Value::Null)
    );
    assert_eq!(second.column("name"), ["Gamma"]);
    let last = ask(&set, json!({"limit": 3, "page": 2, "sort": {"field": "name"}}));
    assert_eq!(last.body["data"]["nextCursor"], Value::Null);
    let beyond = ask(&set, json!({"limit": 3, "page": 9}));
    assert_eq!((beyond.rows().len(), beyond.total()), (0, 4));
    assert_eq!(beyond.body["data"]["nextCursor"], Value::Null);
    let start = ask(&set, json!({"cursor": null, "limit": 1}));
    assert_eq!(
        (&start.body["data"]["paginationMode"], &start.body["data"]["page"]),
        (&json!("cursor"), &json!(1))
    );
    let exact = ask(&set, json!({"limit": 4}));
    assert_eq!(
        exact.body["data"]["nextCursor"],
        Value::Null,
        "no more rows, no cursor"
    );
}

#[test]
fn a_cursor_belongs_to_its_filters_and_sort() {
    let set = four();
    let cursor = ask(&set, json!({"limit": 1})).body["data"]["nextCursor"]
        .as_str()
        .unwrap()
        .to_owned();
    let ask = |query: Value| set.account.companies(&query);
    let same = json!({"searchTags": [set.tag], "cursor": cursor, "limit": 2, "fields": ["name"], "companyName": " "});
    assert_eq!(ask(same).status, 200);
    for changed in [
        json!({"cursor": cursor}),
        json!({"searchTags": [set.tag], "cursor": cursor, "companyName": "alpha"}),
        json!({"searchTags": [set.tag], "cursor": cursor, "sort": {"field": "name"}}),
        json!({"searchTags": [set.tag], "cursor": cursor, "sort": {"dir": "asc"}}),
    ] {
        assert_eq!(
            ask(changed.clone()).issues(),
            ["cursor invalid_format"],
            "{changed}"
        );
    }
    assert_eq!(
        set.account
            .people(&json!({"searchTags": [set.tag], "cursor": cursor}))
            .issues(),
        ["cursor invalid_format"]
    );
}

#[test]
fn an_altered_cursor_is_refused() {
    let set = four();
    let cursor = ask(&set, json!({"limit": 1})).body["data"]["nextCursor"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut altered: Vec<String> = (0..cursor.len())
        .map(|at| {
            let mut bytes = cursor.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            String::from_utf8(bytes).unwrap()
        })
        .collect();
    altered.extend([
        cursor[1..].to_owned(),
        cursor[..cursor.len() - 1].to_owned(),
        format!("{cursor}A"),
        String::new(),
        "garbage".into(),
        "A".repeat(5_000),
    ]);
    for cursor in altered {
        let answer = set
            .account
            .companies(&json!({"searchTags": [set.tag], "cursor": cursor}));
        assert_eq!(answer.issues(), ["cursor invalid_format"], "{cursor}");
    }
    assert_eq!(
        set.account.companies(&json!({"cursor": 5})).issues(),
        ["cursor invalid_type"]
    );
}

#[test]
fn totals_are_equal_on_all_pages_limits_and_sorts() {
    let set =
        set_of((0..30).map(|number| sized(&format!("{number}"), Some(number), None, "2026-01-01T00:00:00Z")));
    for query in [
        json!({"limit": 1}),
        json!({"limit": 250}),
        json!({"limit": 7, "page": 3}),
        json!({"limit": 7, "page": 99}),
        json!({"sort": {"field": "name"}}),
        json!({"sort": {"field": "employeeCount", "dir": "asc"}}),
        json!({"cursor": null}),
    ] {
        assert_eq!(ask(&set, query.clone()).total(), 30, "{query}");
    }
}

#[test]
fn changed_and_deleted_records_are_searchable_at_once() {
    let set = set_of([company("one", "one")]);
    let id = ask(&set, json!({})).column("id")[0].clone();
    let renamed = CompanyRecord {
        tags: vec![set.tag.clone()],
        ..company(&format!("{}-one", set.tag), "two")
    };
    world().operator.import([Change::Company(renamed)]);
    let answer = ask(&set, json!({}));
    assert_eq!(
        (answer.column("name"), answer.column("id")),
        (vec![json!("two")], vec![id])
    );
    let delete = proto::search::v1::DeleteCompany {
        external_id: format!("{}-one", set.tag),
    };
    world().operator.import([Change::DeleteCompany(delete)]);
    assert_eq!(ask(&set, json!({})).total(), 0);
}
