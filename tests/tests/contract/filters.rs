//! Section 4: filters. Places have a module of their own.

use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, PersonRecord};
use serde_json::{Value, json};
use system_tests::{Set, company, person, world};

fn typed(id: &str, types: &[&str], tags: &[&str]) -> CompanyRecord {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    CompanyRecord {
        business_types: list(types),
        tags: list(tags),
        ..company(id, id)
    }
}

fn titled(id: &str, employer: &str, title: &str) -> PersonRecord {
    PersonRecord {
        company_external_id: Some(employer.to_owned()),
        job_title: Some(title.to_owned()),
        ..person(id, id)
    }
}

const NONE: [&str; 0] = [];

#[test]
fn business_type_is_a_keyword_list_over_types_and_tags() {
    let set = Set::of(
        [
            typed("a", &["Software Companies", "Retail"], &[]),
            typed("b", &["Software"], &["E-commerce"]),
            typed("c", &["Company Registers"], &["software, hosting"]),
            typed("d", &["Bakery"], &["Café"]),
        ],
        [
            titled("pa", "a", "x"),
            titled("pd", "d", "x"),
            person("alone", "alone"),
        ],
    );
    let found = |text: &str| set.companies(json!({"businessType": text}));
    assert_eq!(found("software"), ["a", "b", "c"]);
    assert_eq!(
        found("SOFTWARE company"),
        ["a"],
        "all words in one value, singular and plural alike"
    );
    assert_eq!(found("company software"), ["a"], "in any order");
    assert_eq!(found("software retail"), NONE, "not across values");
    assert_eq!(
        found("bakeries, registers"),
        ["c", "d"],
        "commas are alternatives"
    );
    assert_eq!(found("\"software companies\""), ["a"]);
    assert_eq!(found("\"software company\""), NONE, "quotes are unstemmed");
    assert_eq!(found("\"companies software\""), NONE, "quotes are in order");
    assert_eq!(
        found("\"software, hosting\""),
        ["c"],
        "a comma in quotes does not separate"
    );
    assert_eq!(found("cafe"), ["d"]);
    assert_eq!(found("soft"), NONE, "words, not parts of them");
    assert_eq!(
        set.people(json!({"businessType": "software, bakery"})),
        ["pa", "pd"]
    );
}

#[test]
fn text_is_folded_on_both_sides() {
    let set = Set::of(
        [
            company("a", "Müller Großhandel"),
            company("b", "MULLER"),
            company("c", "Mueller Soehne"),
            company("d", "Ærø Bådværft"),
            company("e", "Łódź Żużel"),
            company("f", "Crème Brûlée"),
            company("g", "ＡＢＣ Ｍｏｔｏｒｓ"),
            company("h", "Ångström"),
        ],
        [],
    );
    let found = |text: &str| set.companies(json!({"companyName": text}));
    assert_eq!(found("müller"), ["MULLER", "Mueller Soehne", "Müller Großhandel"]);
    assert_eq!(
        found("mu\u{308}ller"),
        found("müller"),
        "composed and decomposed alike"
    );
    assert_eq!(found("mueller"), ["Mueller Soehne", "Müller Großhandel"]);
    assert_eq!(found("muller"), ["MULLER", "Müller Großhandel"]);
    assert_eq!(found("GROSSHANDEL"), ["Müller Großhandel"]);
    assert_eq!(found("aero badvaerft"), ["Ærø Bådværft"]);
    assert_eq!(found("aeroe baadvaerft"), ["Ærø Bådværft"]);
    assert_eq!(found("aro"), NONE);
    assert_eq!(found("lodz zuzel"), ["Łódź Żużel"]);
    assert_eq!(found("creme brulee"), ["Crème Brûlée"]);
    assert_eq!(found("abc motors"), ["ＡＢＣ Ｍｏｔｏｒｓ"]);
    assert_eq!(found("angstrom"), ["Ångström"]);
    assert_eq!(found("aangstroem"), ["Ångström"]);
}

#[test]
fn plus_and_hash_belong_to_the_letter_before_them() {
    let set = Set::of(
        [
            typed("a", &["C++ tools"], &[]),
            typed("b", &["C# tools"], &[]),
            typed("c", &["C tools"], &[]),
        ],
        [],
    );
    let found = |text: &str| set.companies(json!({"businessType": text}));
    assert_eq!(found("c++"), ["a"]);
    assert_eq!(found("C#"), ["b"]);
    assert_eq!(found("c"), ["c"]);
    assert_eq!(found("+tools"), ["a", "b", "c"]);
}

#[test]
fn scripts_without_spaces_match_by_the_sequence() {
    let set = Set::of(
        [
            company("a", "東京電力ホールディングス"),
            company("b", "京東方科技"),
            company("c", "บริษัทปูนซิเมนต์ไทย"),
            company("d", "삼성전자 주식회사"),
        ],
        [],
    );
    let found = |text: &str| set.companies(json!({"companyName": text}));
    assert_eq!(found("東京"), ["東京電力ホールディングス"]);
    assert_eq!(found("京東"), ["京東方科技"]);
    assert_eq!(found("電力 東京"), ["東京電力ホールディングス"]);
    assert_eq!(found("東電"), NONE);
    assert_eq!(found("ซิเมนต์"), ["บริษัทปูนซิเมนต์ไทย"]);
    assert_eq!(found("삼성전자"), ["삼성전자 주식회사"]);
}

#[test]
fn website_matches_hosts_subdomains_paths_and_first_letters() {
    let site = |id: &str, url: &str| CompanyRecord {
        website: Some(url.to_owned()),
        ..company(id, id)
    };
    let set = Set::of(
        [
            site("a", "https://www.acme.com/"),
            site("b", "http://shop.acme.com:8080/about/team"),
            site("c", "acmeworks.de"),
            site("d", "https://notacme.com"),
            company("e", "e"),
        ],
        [titled("pb", "b", "x")],
    );
    let found = |text: &str| set.companies(json!({"website": text}));
    assert_eq!(found("acme.com"), ["a", "b"]);
    assert_eq!(found("HTTPS://WWW.ACME.COM/"), ["a", "b"]);
    assert_eq!(found("shop.acme.com"), ["b"]);
    assert_eq!(found("https://shop.acme.com/about"), ["b"]);
    assert_eq!(found("acme.com/about"), ["b"], "of the host or its subdomains");
    assert_eq!(found("acme.com/contact"), NONE);
    assert_eq!(
        found("acme"),
        ["a", "b", "c"],
        "a word matches labels that start with it"
    );
    assert_eq!(found("acmew, notacme.com"), ["c", "d"]);
    assert_eq!(set.people(json!({"website": "shop.acme.com"})), ["pb"]);
}

#[test]
fn website_status_tells_who_has_one() {
    let set = Set::of(
        [
            CompanyRecord {
                website: Some("https://a.example".into()),
                ..company("a", "a")
            },
            company("b", "b"),
        ],
        [titled("pa", "a", "x"), titled("pb", "b", "x")],
    );
    assert_eq!(set.companies(json!({"websiteStatus": "has"})), ["a"]);
    assert_eq!(set.companies(json!({"websiteStatus": "no"})), ["b"]);
    assert_eq!(set.companies(json!({"websiteStatus": "any"})), ["a", "b"]);
    assert_eq!(set.people(json!({"websiteStatus": "no"})), ["pb"]);
}

#[test]
fn company_name_needs_all_words_and_ignores_legal_forms() {
    let set = Set::of(
        [
            company("1", "Acme, Inc."),
            company("2", "ACME Tools GmbH & Co. KG"),
            company("3", "Acme S.A. de C.V."),
            company("4", "株式会社アクメ"),
            company("5", "The Limited"),
            company("6", "Gmb Hacme"),
        ],
        [titled("p", "2", "x")],
    );
    let found = |text: &str| set.companies(json!({"companyName": text}));
    assert_eq!(
        found("acme"),
        ["ACME Tools GmbH & Co. KG", "Acme S.A. de C.V.", "Acme, Inc."]
    );
    assert_eq!(
        found("Acme Ltd"),
        found("acme"),
        "legal forms are ignored on both sides"
    );
    assert_eq!(found("tools acme"), ["ACME Tools GmbH & Co. KG"]);
    assert_eq!(
        found("\"acme\""),
        ["Acme S.A. de C.V.", "Acme, Inc."],
        "in quotes it is the whole name"
    );
    assert_eq!(found("\"Acme LLC\""), ["Acme S.A. de C.V.", "Acme, Inc."]);
    assert_eq!(found("アクメ"), ["株式会社アクメ"]);
    assert_eq!(found("\"アクメ株式会社\""), ["株式会社アクメ"]);
    assert_eq!(found("the limited"), ["The Limited"]);
    assert_eq!(set.people(json!({"companyName": "tools"})), ["p"]);
}

#[test]
fn company_domain_compares_registrable_domains() {
    let at = |id: &str, domain: &str| CompanyRecord {
        domain: Some(domain.to_owned()),
        ..company(id, id)
    };
    let set = Set::of(
        [
            at("a", "acme.co.uk"),
            at("b", "shop.acme.com"),
            at("c", "xn--mller-kva.de"),
            at("d", "other.co.uk"),
            company("e", "e"),
        ],
        [titled("pa", "a", "x")],
    );
    let found = |text: &str| set.companies(json!({"companyDomain": text}));
    assert_eq!(found("acme.co.uk"), ["a"]);
    assert_eq!(found("https://www.ACME.co.uk:443/x?y"), ["a"]);
    assert_eq!(found("mail.acme.co.uk."), ["a"]);
    assert_eq!(found("acme.com"), ["b"]);
    assert_eq!(found("müller.de"), ["c"]);
    assert_eq!(found("acme.com, other.co.uk"), ["b", "d"]);
    assert_eq!(found("acme.org"), NONE);
    assert_eq!(set.people(json!({"companyDomain": "acme.co.uk"})), ["pa"]);
}

#[test]
fn business_email_compares_addresses_and_domains() {
    let mail = |id: &str, address: &str| CompanyRecord {
        business_email: Some(address.to_owned()),
        ..company(id, id)
    };
    let set = Set::of(
        [
            mail("a", "Info@Acme.example"),
            mail("b", "sales@acme.example"),
            mail("c", "info@sub.acme.example"),
        ],
        [titled("pb", "b", "x")],
    );
    let found = |text: &str| set.companies(json!({"businessEmail": text}));
    assert_eq!(found("info@acme.example"), ["a"]);
    assert_eq!(found("INFO@ACME.EXAMPLE"), ["a"]);
    assert_eq!(found("@acme.example"), ["a", "b"]);
    assert_eq!(found("acme.example"), ["a", "b"]);
    assert_eq!(found("nobody@acme.example, sub.acme.example"), ["c"]);
    assert_eq!(set.people(json!({"businessEmail": "sales@acme.example"})), ["pb"]);
}

#[test]
fn a_locked_address_cannot_be_probed() {
    let address = format!("jane.{}@mail.example", world().word());
    let jane = PersonRecord {
        email: Some(address.clone()),
        ..titled("jane", "a", "x")
    };
    let set = Set::of([company("a", "a")], [jane]);
    let query = json!({"businessEmail": address});
    assert_eq!(set.people(query.clone()), NONE);
    let id = set.account.people(&set.narrow(json!({}))).column("id")[0]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(world().operator.reveal(&set.account.id, &id), Some(address));
    assert_eq!(set.people(query.clone()), ["jane"]);
    assert_eq!(set.people(json!({"businessEmail": "@mail.example"})), ["jane"]);
    let stranger = world().account().people(&set.narrow(query)).expect(200);
    assert_eq!(stranger.total(), 0, "only for the account that has revealed it");
}

#[test]
fn business_phone_compares_international_numbers() {
    let phone = |id: &str, number: &str, country: &str| CompanyRecord {
        business_phone: Some(number.to_owned()),
        country: Some(country.to_owned()),
        ..company(id, id)
    };
    let set = Set::of(
        [
            phone("uk", "020 7946 0958", "GB"),
            phone("uk2", "+44 (0)20 7946-0100", "US"),
            phone("us", "(202) 555-0143", "US"),
            phone("de", "030 23125 123", "DE"),
        ],
        [titled("p", "uk", "x")],
    );
    let found = |text: &str| set.companies(json!({"businessPhone": text}));
    for spelling in [
        "+44 20 7946 0958",
        "0044 20 7946 0958",
        "+44 (0)20 7946-0958",
        "020 7946 0958",
        "02079460958",
    ] {
        assert_eq!(found(spelling), ["uk"], "{spelling}");
    }
    assert_eq!(found("+44 20 7946"), ["uk", "uk2"], "the first digits are enough");
    assert_eq!(found("202-555"), ["us"]);
    assert_eq!(found("+1 202 555 0143"), ["us"]);
    assert_eq!(found("+4930"), ["de"]);
    assert_eq!(found("0049 30"), ["de"]);
    assert_eq!(found("7946"), NONE, "the middle is no prefix");
    assert_eq!(set.people(json!({"businessPhone": "020 7946 0958"})), ["p"]);
}

#[test]
fn description_keywords_are_a_keyword_list_over_the_description() {
    let text = |id: &str, text: &str| CompanyRecord {
        description: Some(text.to_owned()),
        ..company(id, id)
    };
    let set = Set::of(
        [
            text("a", "Makes solar panels, and batteries for them."),
            text("b", "Sells a battery. Panels of wood."),
            company("c", "c"),
        ],
        [titled("pb", "b", "x")],
    );
    let found = |text: &str| set.companies(json!({"descriptionKeywords": text}));
    assert_eq!(found("panel battery"), ["a", "b"]);
    assert_eq!(found("\"solar panels\""), ["a"]);
    assert_eq!(found("\"solar panel\""), NONE);
    assert_eq!(found("wood, solar"), ["a", "b"]);
    assert_eq!(set.people(json!({"descriptionKeywords": "wood"})), ["pb"]);
}

#[test]
fn job_titles_match_people_and_the_companies_they_work_at() {
    let set = Set::of(
        [company("a", "a"), company("b", "b"), company("c", "c")],
        [
            titled("p1", "a", "Vice President of Sales"),
            titled("p2", "a", "Sales Manager, Europe"),
            titled("p3", "b", "VP Sales"),
            titled("p4", "b", "Chief Executive Officer"),
            titled("p5", "c", "Sr. Software Engineer"),
            titled("p6", "c", "HR Managers"),
        ],
    );
    let people = |titles: Value| set.people(json!({"jobTitles": titles}));
    assert_eq!(
        people(json!(["VP Sales"])),
        ["p1", "p3"],
        "usual short forms are equal"
    );
    assert_eq!(people(json!(["vice president sales"])), ["p1", "p3"]);
    assert_eq!(people(json!(["CEO"])), ["p4"]);
    assert_eq!(people(json!(["chief executive officer"])), ["p4"]);
    assert_eq!(
        people(json!(["senior engineer", "human resources manager"])),
        ["p5", "p6"]
    );
    assert_eq!(people(json!(["manager"])), ["p2", "p6"]);
    assert_eq!(people(json!(["\"sales manager\""])), ["p2"]);
    assert_eq!(
        people(json!(["Sales Manager, Europe"])),
        ["p2"],
        "an item is one alternative"
    );
    assert_eq!(people(json!(["", "ceo"])), ["p4"]);
    assert_eq!(set.companies(json!({"jobTitles": ["manager"]})), ["a", "c"]);
    assert_eq!(
        set.companies(json!({"jobTitles": ["vp manager"]})),
        NONE,
        "one person has to hold all of it"
    );
}

#[test]
fn exclude_keywords_drop_what_they_occur_in() {
    let set = Set::of(
        [
            company("Casino Royal", "Casino Royal"),
            typed("b", &["Casinos"], &[]),
            typed("c", &[], &["casino"]),
            CompanyRecord {
                description: Some("Runs a casino".into()),
                ..company("d", "d")
            },
            company("e", "e"),
        ],
        [
            titled("p1", "e", "Casino Dealer"),
            titled("p2", "e", "Cook"),
            titled("p3", "d", "Cook"),
        ],
    );
    assert_eq!(set.companies(json!({"excludeKeywords": "casino"})), ["e"]);
    assert_eq!(
        set.companies(json!({"excludeKeywords": "poker, \"casino royal\""})),
        ["b", "c", "d", "e"]
    );
    assert_eq!(
        set.companies(json!({"excludeKeywords": "casino royal"})),
        ["b", "c", "d", "e"],
        "all words in one value"
    );
    assert_eq!(set.people(json!({"excludeKeywords": "casino"})), ["p2"]);
}

#[test]
fn search_tags_are_whole_tags_and_any_of_them() {
    let account = world().account();
    let word = world().word();
    let tag = |text: &str| format!("{word} {text}");
    let records = [
        typed("a", &[], &[&tag("Clean Energy")]),
        typed("b", &[], &[&tag("clean")]),
        typed("c", &[], &[&tag("Öl"), "x"]),
    ];
    world().operator.import(records.map(|mut record| {
        record.external_id = format!("{word}-{}", record.external_id);
        Change::Company(record)
    }));
    let found = |tags: Value| account.companies(&json!({"searchTags": tags})).names();
    assert_eq!(found(json!([tag("clean energy")])), ["a"]);
    assert_eq!(found(json!([tag("CLEAN")])), ["b"]);
    assert_eq!(found(json!([word])), NONE);
    assert_eq!(found(json!([tag("clean"), tag("öl")])), ["b", "c"]);
}

#[test]
fn new_business_is_the_last_365_days_and_all_others() {
    let day = |days: i64| {
        let text = system_tests::days_ago(days);
        CompanyRecord {
            founded_date: Some(text.clone()),
            ..company(&format!("{days}"), &format!("{days}"))
        }
    };
    let set = Set::of(
        [
            day(1),
            day(300),
            day(370),
            company("unknown", "unknown"),
            day(-30),
        ],
        [titled("p", "1", "x")],
    );
    assert_eq!(set.companies(json!({"newBusiness": "yes"})), ["1", "300"]);
    assert_eq!(
        set.companies(json!({"newBusiness": "no"})),
        ["-30", "370", "unknown"]
    );
    assert_eq!(set.companies(json!({"newBusiness": "any"})).len(), 5);
    assert_eq!(set.people(json!({"newBusiness": "yes"})), ["p"]);
    let rows = set
        .account
        .companies(&set.narrow(json!({"sort": {"field": "name"}})));
    let flags: Vec<Value> = rows.column("newBusiness");
    assert_eq!(
        flags,
        [json!(false), json!(true), json!(true), json!(false), json!(false)],
        "{:?}",
        rows.column("name")
    );
}

#[test]
fn info_updated_takes_whole_days_at_both_ends() {
    let at = |id: &str, text: &str| CompanyRecord {
        info_updated_at: Some(system_tests::timestamp(text)),
        ..company(id, id)
    };
    let mut someone = titled("p", "first", "x");
    someone.info_updated_at = Some(system_tests::timestamp("2026-03-03T12:00:00Z"));
    let set = Set::of(
        [
            at("before", "2026-02-28T23:59:59.999Z"),
            at("first", "2026-03-01T00:00:00Z"),
            at("last", "2026-03-01T23:59:59.999Z"),
            at("after", "2026-03-02T00:00:00Z"),
        ],
        [someone],
    );
    let found = |from: &str, to: &str| set.companies(json!({"infoUpdatedFrom": from, "infoUpdatedTo": to}));
    assert_eq!(found("2026-03-01", "2026-03-01"), ["first", "last"]);
    assert_eq!(found("2026-03-02", ""), ["after"]);
    assert_eq!(found("", "2026-02-28"), ["before"]);
    assert_eq!(
        set.people(json!({"infoUpdatedFrom": "2026-03-03", "infoUpdatedTo": "2026-03-03"})),
        ["p"],
        "the person's own"
    );
    assert_eq!(set.people(json!({"infoUpdatedTo": "2026-03-01"})), NONE);
}

#[test]
fn different_filters_are_anded() {
    let set = Set::of([typed("a", &["Bakery"], &[]), typed("b", &["Bakery"], &[])], []);
    assert_eq!(
        set.companies(json!({"businessType": "bakery", "companyName": "a"})),
        ["a"]
    );
    assert_eq!(
        set.companies(json!({"businessType": "bakery", "companyName": "c"})),
        NONE
    );
}

#[test]
fn a_person_without_a_company_meets_no_company_filter() {
    let title = world().word();
    let account = world().account();
    let alone = PersonRecord {
        job_title: Some(title.clone()),
        ..person(&title, "Alone")
    };
    world().operator.import([Change::Person(alone)]);
    let total = |filter: Value| {
        let mut query = json!({"jobTitles": [title]});
        query
            .as_object_mut()
            .unwrap()
            .extend(filter.as_object().unwrap().clone());
        account.people(&query).expect(200).total()
    };
    assert_eq!(total(json!({})), 1);
    for no_filter in [
        json!({"websiteStatus": "any"}),
        json!({"newBusiness": "any"}),
        json!({"excludeKeywords": "casino"}),
    ] {
        assert_eq!(total(no_filter.clone()), 1, "{no_filter}");
    }
    for filter in [
        json!({"websiteStatus": "no"}),
        json!({"websiteStatus": "has"}),
        json!({"newBusiness": "no"}),
        json!({"newBusiness": "yes"}),
        json!({"companyName": "a"}),
        json!({"businessType": "a"}),
        json!({"searchTags": ["a"]}),
        json!({"location": "Germany"}),
    ] {
        assert_eq!(total(filter.clone()), 0, "{filter}");
    }
}
