//! Tables of lines, good and bad.

use super::*;

fn reason(line: &str) -> String {
    parse(1, Some(line.as_bytes())).expect_err(line).to_string()
}

fn change(line: &str) -> Change {
    parse(7, Some(line.as_bytes()))
        .expect(line)
        .expect(line)
        .change
        .expect(line)
}

#[test]
fn what_is_no_record_is_told_with_its_reason() {
    for (line, expected) in [
        ("not json", "not a JSON object: expected ident at column 2"),
        (
            r#"{"type":"company""#,
            "not a JSON object: EOF while parsing an object at column 17",
        ),
        (
            r#"{"a":1} x"#,
            "not a JSON object: trailing characters at column 9",
        ),
        (
            "[1]",
            "not a JSON object: invalid type: sequence, expected a record in braces at column 0",
        ),
        (
            r#""text""#,
            "not a JSON object: invalid type: string \"text\", expected a record in braces at column 6",
        ),
        (
            r#"{"name":"\ud800"}"#,
            "not a JSON object: unexpected end of hex escape at column 16",
        ),
        ("{}", r#"type: is missing: "company" or "person""#),
        (r#"{"type":null}"#, r#"type: is missing: "company" or "person""#),
        (r#"{"type":7}"#, "type: is the number 7, and must be a text"),
        (
            r#"{"type":"Company"}"#,
            r#"type: is "Company", and must be "company" or "person""#,
        ),
        (r#"{"type":"company","name":"A"}"#, "externalId: is missing"),
        (r#"{"type":"company","externalId":"1"}"#, "name: is missing"),
        (
            r#"{"type":"company","externalId":" ","name":" "}"#,
            "externalId: is missing; name: is missing",
        ),
        (
            r#"{"type":"company","externalId":1,"name":"A"}"#,
            "externalId: is the number 1, and must be a text",
        ),
        (
            r#"{"type":"company","externalId":"1","externalId":"2","name":"A"}"#,
            "externalId: is given twice",
        ),
        (
            r#"{"type":"company","externalId":"1","name":"A","countryName":"Chad"}"#,
            "countryName: is no property of this type",
        ),
        (
            r#"{"type":"company","externalId":"1","name":"A","buisnessTypes":[]}"#,
            "buisnessTypes: is no property of this type (did you mean businessTypes?)",
        ),
        (
            r#"{"type":"person","externalId":"1","fullName":"A","tags":[]}"#,
            "tags: is no property of this type",
        ),
    ] {
        assert_eq!(reason(line), expected, "{line}");
    }
}

#[test]
fn a_property_of_the_wrong_type_or_form_is_told_with_what_it_is() {
    for (line, expected) in [
        (
            r#"{"type":"company","externalId":"1","name":"A","tags":"a"}"#,
            "tags: is a text, and must be a list of texts",
        ),
        (
            r#"{"type":"company","externalId":"1","name":"A","tags":["a",null]}"#,
            "tags[1]: is null, and must be a text",
        ),
        (
            r#"{"type":"company","externalId":"1","name":"A","employeeCount":"5"}"#,
            "employeeCount: is a text, and must be a whole number",
        ),
        (
            r#"{"type":"company","externalId":"1","name":"A","employeeCount":5.5}"#,
            "employeeCount: is the number 5.5, and must be a whole number",
        ),
        (
            r#"{"type":"company","externalId":"1","name":"A","infoUpdatedAt":"2026-02-30"}"#,
            "infoUpdatedAt: is \"2026-02-30\", and must be a day (2026-01-31) or a time (2026-01-31T09:30:00Z)",
        ),
        (
            r#"{"type":"company","externalId":"1","deleted":"yes","name":"A"}"#,
            "deleted: is a text, and must be true or false",
        ),
        (
            r#"{"type":"company","externalId":"1","deleted":true,"colour":1}"#,
            "colour: is no property of this type",
        ),
    ] {
        assert_eq!(reason(line), expected, "{line}");
    }
}

#[test]
fn the_rules_of_records_hold_before_anything_is_sent() {
    for (line, part) in [
        (
            r#"{"type":"company","externalId":"1","name":"A","foundedDate":"2026-13-01"}"#,
            "foundedDate: ",
        ),
        (
            r#"{"type":"company","externalId":"1","name":"A","country":"Germany"}"#,
            "country: ",
        ),
        (
            r#"{"type":"company","externalId":"1","name":"A","employeeCount":-1}"#,
            "employeeCount: ",
        ),
        (r#"{"type":"person","externalId":"1"}"#, "fullName: "),
    ] {
        assert!(reason(line).starts_with(part), "{line}: {}", reason(line));
    }
}

#[test]
fn lines_that_are_no_text_are_told() {
    assert_eq!(
        parse(1, None).unwrap_err().to_string(),
        "the line is longer than 1048576 bytes"
    );
    assert_eq!(
        parse(1, Some(b"{\"a\":\"\xff\"}")).unwrap_err().to_string(),
        "not UTF-8 at byte 7"
    );
    assert!(parse(1, Some(&b"[".repeat(100_000))).is_err());
}

#[test]
fn blank_lines_are_nothing() {
    for line in ["", "   ", "\t"] {
        assert_eq!(parse(1, Some(line.as_bytes())), Ok(None));
    }
}

#[test]
fn a_whole_company_and_a_whole_person_are_read() {
    let line = r#"{"type":"company","externalId":"1","name":"A","domain":"a.example","website":"http://a.example",
        "businessTypes":["x"],"description":"d","tags":["t","u"],"businessEmail":"i@a.example","businessPhone":"1",
        "city":"c","region":"r","country":"DE","employeeCount":25.0,"foundedDate":"1999",
        "infoUpdatedAt":"2026-01-31T10:30:00.5+01:00"}"#;
    let Change::Company(company) = change(line) else {
        panic!("{line}")
    };
    assert_eq!(
        (company.employee_count, company.founded_date.as_deref()),
        (Some(25), Some("1999"))
    );
    assert_eq!(company.tags, ["t", "u"]);
    assert_eq!(
        company.info_updated_at,
        Some(Timestamp {
            seconds: 1_769_851_800,
            nanos: 500_000_000
        })
    );
    let line = r#"{"type":"person","externalId":"2","companyExternalId":"1","firstName":"F","lastName":"L",
        "jobTitle":null,"email":"f@a.example","infoUpdatedAt":"2026-01-31"}"#;
    let Change::Person(person) = change(line) else {
        panic!("{line}")
    };
    assert_eq!((person.full_name, person.job_title), (None, None));
    assert_eq!(person.company_external_id.as_deref(), Some("1"));
    assert_eq!(
        person.info_updated_at,
        Some(Timestamp {
            seconds: 1_769_817_600,
            nanos: 0
        })
    );
}

#[test]
fn deletions_need_no_more_than_the_id() {
    assert_eq!(
        change(r#"{"type":"company","externalId":"1","deleted":true}"#),
        Change::DeleteCompany(DeleteCompany {
            external_id: "1".to_owned()
        })
    );
    assert_eq!(
        change(r#"{"type":"person","externalId":"1","deleted":true,"fullName":"A"}"#),
        Change::DeletePerson(DeletePerson {
            external_id: "1".to_owned()
        })
    );
}
