//! Suggestions, which are an addition to the contract: what the guide and the OpenAPI document say of them.

use proto::search::v1::{CompanyRecord, PersonRecord};
use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, Answer, Set, company, person, world};

/// A request for suggestions with the API key, by its path and query string.
fn ask(account: &Account, asked: &str) -> Answer {
    account.get(&format!("/suggest/{asked}"))
}

/// What is suggested once everything that is imported has been counted.
fn suggested(account: &Account, asked: &str) -> Vec<Value> {
    world().operator.wait_suggested();
    let answer = ask(account, asked).expect(200);
    assert_eq!(answer.body["success"], true);
    answer.body["data"]["suggestions"].as_array().unwrap().clone()
}

fn values(suggestions: &[Value]) -> Vec<&str> {
    let values = suggestions.iter().map(|suggestion| suggestion["value"].as_str());
    values.map(Option::unwrap).collect()
}

/// A company of these types and tags.
fn firm(id: &str, types: &[String], tags: &[String]) -> CompanyRecord {
    CompanyRecord {
        business_types: types.to_vec(),
        tags: tags.to_vec(),
        ..company(id, id)
    }
}

/// Somebody with this title, who works there.
fn holder(id: &str, title: &str, company: &str) -> PersonRecord {
    PersonRecord {
        company_external_id: Some(company.to_owned()),
        job_title: Some(title.to_owned()),
        ..person(id, id)
    }
}

/// Searches with the filter alone find as many as the suggestion tells.
fn is_confirmed(account: &Account, filter: &str, suggestion: &Value) {
    let asked = match filter {
        "jobTitles" | "searchTags" => json!([suggestion["filter"]]),
        _ => suggestion["filter"].clone(),
    };
    let query = json!({(filter): asked, "limit": 1});
    let totals = [account.companies(&query).total(), account.people(&query).total()];
    let told = ["companies", "people"].map(|kind| suggestion[kind].as_i64().unwrap());
    assert_eq!(told, totals, "{suggestion}");
    assert_ne!(told, [0, 0], "{suggestion}");
}

#[test]
fn each_vocabulary_suggests_what_records_have_with_the_totals_of_a_search() {
    let word = world().word();
    let [of_type, other_type, tag] =
        ["Dredging", "Harbour Dredging", "Fleet"].map(|rest| format!("{word} {rest}"));
    let title = format!("{word} Dredge Master");
    let set = Set::of(
        [
            firm("a", std::slice::from_ref(&of_type), std::slice::from_ref(&tag)),
            firm("b", &[of_type.to_uppercase(), other_type.clone()], &[]),
            firm(
                "c",
                &[of_type.clone(), of_type.to_lowercase()],
                &[tag.to_lowercase(), tag.clone()],
            ),
            CompanyRecord {
                city: Some("Wunsiedel".to_owned()),
                country: Some("DE".to_owned()),
                ..company("d", "d")
            },
        ],
        [
            holder("p", &title, "a"),
            holder("q", &title, "c"),
            holder("r", &format!("Senior {title}"), "c"),
            holder("s", "Skipper", "d"),
        ],
    );
    for (vocabulary, typed, filter, value) in [
        (
            "businessTypes",
            format!("{word} dredg"),
            "businessType",
            of_type.as_str(),
        ),
        ("jobTitles", format!("{word} dredge m"), "jobTitles", &title),
        ("tags", format!("{word} f"), "searchTags", &tag),
        (
            "places",
            "wunsied".to_owned(),
            "location",
            "Wunsiedel, Bavaria, Germany",
        ),
    ] {
        let found = suggested(
            &set.account,
            &format!("{vocabulary}?q={}", typed.replace(' ', "%20")),
        );
        assert_eq!(values(&found)[0], value, "{found:?}");
        // Those of other tests, whose words differ by a letter, may be imported between the count and the search.
        let is_own = |name: &str| vocabulary == "places" || name.to_lowercase().contains(&word);
        let own = found.iter().zip(values(&found)).filter(|(_, name)| is_own(name));
        for (suggestion, _) in own {
            is_confirmed(&set.account, filter, suggestion);
        }
    }
}

#[test]
fn beginnings_come_first_then_words_then_typing_errors() {
    let word = world().word();
    let types = ["Pumps", "Valves", "Pumps"].map(|rest| format!("{word} {rest}"));
    let [pumps, valves, _] = types.clone();
    let service = format!("Service of {pumps}");
    let palves = format!("{word} Palves");
    let set = Set::of(
        [
            firm("a", &types, &[]),
            firm("b", std::slice::from_ref(&valves), &[]),
            firm("c", std::slice::from_ref(&service), &[]),
            firm("d", std::slice::from_ref(&palves), &[]),
        ],
        [],
    );
    let ask = |typed: &str| {
        let found = suggested(
            &set.account,
            &format!("businessTypes?q={}&limit=25", typed.replace(' ', "+")),
        );
        // Words of other tests differ by a letter, which is a typing error.
        let own = values(&found).into_iter().filter(|value| value.contains(&word));
        own.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        ask(&word),
        [pumps.clone(), valves.clone(), palves, service.clone()]
    );
    assert_eq!(
        ask(&format!("{word} valv")),
        std::slice::from_ref(&valves),
        "errors are for what nothing begins with"
    );
    assert_eq!(
        ask(&format!("{} PUMP", word.to_uppercase())),
        [pumps.clone(), service.clone()]
    );
    let (first, rest) = word.split_at(3);
    assert_eq!(
        ask(&format!("{first}q{rest} valv")),
        [valves],
        "a character too many"
    );
    let without = format!("{}{}", &word[..2], &word[3..]);
    assert_eq!(
        ask(&format!("{without} pumps")),
        [pumps, service],
        "one that is missing"
    );
    let one = suggested(&set.account, &format!("businessTypes?q={word}&limit=1"));
    assert_eq!(one.len(), 1);
}

#[test]
fn every_problem_of_the_query_string_is_told_at_once() {
    let account = world().account();
    for (asked, issues) in [
        ("tags", vec!["q missing"]),
        ("tags?q=", vec!["q missing"]),
        ("tags?q=%20", vec!["q missing"]),
        ("tags?q=!!!", vec!["q invalid_value"]),
        ("tags?q=a%00b", vec!["q invalid_value"]),
        (&format!("tags?q={}", "x".repeat(101)), vec!["q too_long"]),
        ("tags?q=a&limit=0", vec!["limit too_small"]),
        ("tags?q=a&limit=26", vec!["limit too_big"]),
        ("tags?q=a&limit=ten", vec!["limit invalid_type"]),
        ("tags?q=a&q=b", vec!["q duplicate_key"]),
        ("tags?q=a&query=b", vec!["query unrecognized_key"]),
        (
            "places?q=a&page=2&limit=0",
            vec!["limit too_small", "page unrecognized_key"],
        ),
    ] {
        let mut told = ask(&account, asked).issues();
        told.sort();
        assert_eq!(told, issues, "{asked}");
    }
    let _ = ask(&account, "tags?q=a&limit=25").expect(200);
    let _ = ask(&account, &format!("tags?q=%20{}%20", "x".repeat(100))).expect(200);
}

#[test]
fn another_vocabulary_is_told_and_another_address_or_method_is_none() {
    let account = world().account();
    let answer = ask(&account, "companies?limit=0");
    let hint = &answer.body["issues"][1]["hint"];
    assert_eq!(*hint, "one of: places, businessTypes, jobTitles, tags");
    assert_eq!(
        answer.issues(),
        ["limit too_small", "vocabulary invalid_value", "q missing"]
    );
    assert_eq!(ask(&account, "%ff?q=a").issues(), ["vocabulary invalid_value"]);
    let _ = ask(&account, "?q=a").refused(404, "NOT_FOUND");
    let _ = ask(&account, "tags/more?q=a").refused(404, "NOT_FOUND");
    let answer = account.post("/suggest/tags?q=a", &json!({}));
    let answer = answer.refused(405, "METHOD_NOT_ALLOWED");
    assert_eq!(answer.header("allow"), Some("GET,HEAD"));
}

#[test]
fn it_takes_an_api_key_and_nothing_else() {
    let account = world().account();
    let request = || account.request(Method::GET, "/suggest/tags?q=a");
    let bearer = request().bearer_auth(&account.key);
    world().operator.wait_suggested();
    let _ = Answer::of(bearer).expect(200);
    for request in [request(), request().bearer_auth(&account.jwt)] {
        let answer = Answer::of(request).refused(401, "INVALID_API_KEY");
        assert!(answer.header("www-authenticate").is_some());
    }
}

#[test]
fn it_counts_against_the_rate_and_costs_nothing() {
    let account = world().account();
    world().operator.set_rate(&account.id, 3, 86_400);
    world().operator.wait_suggested();
    for (asked, status) in [("tags?q=a", 200), ("tags?q=", 400), ("places?q=b", 200)] {
        let answer = ask(&account, asked);
        assert_eq!(answer.status, status, "{asked}");
        assert_eq!(answer.number("x-ratelimit-limit"), 3);
    }
    let answer = ask(&account, "tags?q=a").refused(429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(answer.number("x-ratelimit-remaining"), 0);
    assert!(answer.number("retry-after") > 0);
    let _ = account.companies(&json!({})).refused(429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(world().operator.balance(&account.id), 100_000);

    let poor = world().poor_account();
    let _ = ask(&poor, "tags?q=a").expect(200);
}
