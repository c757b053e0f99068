use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{DateTime, Utc};
use flate2::read::GzDecoder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use rlibphonenumber::PHONE_NUMBER_UTIL;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::*;
use crate::documents::Documents;
use crate::engine::place::FORMAT;
use crate::phone;
use crate::record::{Company, Founded, Person, PlaceText};

const KINDS: [Kind; 2] = [Kind::Company, Kind::Person];

/// Bytes of a dictionary: see the module's beginning.
const DICTIONARY_LEN: usize = 64 * 1024;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(line: &Value, name: &str) -> Option<String> {
    line[name].as_str().map(str::to_owned)
}

fn texts(line: &Value, name: &str) -> Vec<String> {
    let items = line[name].as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn place(line: &Value) -> PlaceText {
    PlaceText {
        city: text(line, "city"),
        region: text(line, "region"),
        country: text(line, "country"),
    }
}

/// Where the line has a day alone, its beginning.
fn updated_at(line: &Value) -> DateTime<Utc> {
    let Some(time) = text(line, "infoUpdatedAt") else {
        return DateTime::UNIX_EPOCH;
    };
    let beginning = format!("{time}T00:00:00Z");
    time.parse().or_else(|_| beginning.parse()).unwrap()
}

fn id(line: &Value) -> Uuid {
    Uuid::new_v5(
        &Uuid::NAMESPACE_OID,
        line["externalId"].as_str().unwrap().as_bytes(),
    )
}

/// A company as a line of an import file has it.
fn company(line: &Value) -> Company {
    let founded = |text: String| match text.parse() {
        Ok(day) => Founded::Day(day),
        Err(_) => Founded::Year(text.parse().unwrap()),
    };
    Company {
        id: id(line),
        number: None,
        external_id: text(line, "externalId").unwrap(),
        name: text(line, "name").unwrap(),
        domain: text(line, "domain"),
        website: text(line, "website"),
        business_types: texts(line, "businessTypes"),
        description: text(line, "description"),
        tags: texts(line, "tags"),
        business_email: text(line, "businessEmail"),
        business_phone: text(line, "businessPhone"),
        place: place(line),
        employee_count: line["employeeCount"].as_i64(),
        founded: text(line, "foundedDate").map(founded),
        info_updated_at: updated_at(line),
    }
}

/// A person as a line of an import file has them.
fn person(line: &Value) -> Person {
    let (first_name, last_name) = (text(line, "firstName"), text(line, "lastName"));
    let names: Vec<_> = first_name.iter().chain(&last_name).map(String::as_str).collect();
    Person {
        id: id(line),
        external_id: text(line, "externalId").unwrap(),
        company_external_id: text(line, "companyExternalId"),
        full_name: text(line, "fullName").unwrap_or_else(|| names.join(" ")),
        first_name,
        last_name,
        job_title: text(line, "jobTitle"),
        email: text(line, "email"),
        place: place(line),
        info_updated_at: updated_at(line),
    }
}

/// The rows of companies.
fn company_rows(companies: &[Company]) -> Vec<Bytes> {
    let mut documents = Documents::default();
    let rows = companies
        .iter()
        .map(|company| documents.company(company, &[]).row);
    rows.collect()
}

/// The rows of people, and of the companies they work at the parts that these have.
fn person_rows(people: &[Person], companies: &[Company]) -> Vec<Bytes> {
    let mut documents = Documents::default();
    let by_external_id: HashMap<_, _> = companies
        .iter()
        .map(|company| (&company.external_id, company))
        .collect();
    let rows = people.iter().map(|person| {
        let company = person.company_external_id.as_ref().map(|id| by_external_id[id]);
        let employer = company.map(|company| documents.employer(company));
        documents.person(person, employer.as_ref()).row
    });
    rows.collect()
}

/// Some of the sample's companies, as they come.
fn real_companies() -> Vec<Company> {
    let file = File::open(root().join("sample/companies.jsonl.gz")).unwrap();
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    let companies = lines.map(|line| company(&serde_json::from_str(&line.unwrap()).unwrap()));
    companies.take(1_000).collect()
}

/// One person for each company, with real titles.
fn people_of(companies: &[Company]) -> Vec<Person> {
    let titles = fs::read_to_string(root().join("sample/job_titles.txt")).unwrap();
    let names = [
        "Ada",
        "Grace",
        "Alan",
        "Emmy",
        "Srinivasa",
        "Carl Friedrich",
        "Sofja",
    ];
    let people =
        companies
            .iter()
            .zip(titles.lines().step_by(9))
            .enumerate()
            .map(|(number, (company, title))| {
                let (first, last) = (names[number % 7], names[number % 6]);
                person(&json!({
                    "externalId": number.to_string(),
                    "companyExternalId": company.external_id,
                    "fullName": format!("{first} {last}"),
                    "firstName": first,
                    "lastName": last,
                    "jobTitle": title,
                    "city": company.place.city,
                    "region": company.place.region,
                    "country": company.place.country,
                }))
            });
    people.collect()
}

fn len<T: AsRef<[u8]>>(rows: &[T]) -> usize {
    rows.iter().map(|row| row.as_ref().len()).sum()
}

/// Packs the rows, looks whether they come back, and tells their mean lengths before and after.
fn packed(kind: Kind, rows: &[Bytes]) -> (usize, usize) {
    let packed: Vec<_> = rows.iter().map(|row| pack(kind, row)).collect();
    for (row, packed) in rows.iter().zip(&packed) {
        assert_eq!(unpack(kind, packed).unwrap(), row);
    }
    (len(rows) / rows.len(), len(&packed) / rows.len())
}

#[test]
fn rows_of_the_sample_become_short() {
    let companies = real_companies();
    let (before, after) = packed(Kind::Company, &company_rows(&companies));
    assert!(before > 600 && after <= 200, "a company: {before} to {after}");

    let people = people_of(&companies);
    let (before, after) = packed(Kind::Person, &person_rows(&people, &companies));
    assert!(before > 200 && after <= 118, "a person: {before} to {after}");
}

#[test]
fn what_does_not_become_shorter_is_stored_as_it_is() {
    for kind in KINDS {
        assert_eq!(pack(kind, b""), [AS_IT_IS]);
        assert_eq!(pack(kind, b"a"), [AS_IT_IS, b'a']);
        let long = vec![0; MAX_LEN + 1];
        assert_eq!(pack(kind, &long).len(), 1 + long.len());
        assert_eq!(unpack(kind, &pack(kind, &long)).unwrap(), long);
        assert!(pack(kind, &long[1..]).len() < 100);
        assert_eq!(unpack(kind, &pack(kind, &long[1..])).unwrap(), long[1..]);
    }
}

#[test]
fn what_claims_to_be_too_long_is_an_error() {
    let frame = zstd::bulk::compress(&vec![0; MAX_LEN + 1], LEVEL).unwrap();
    let packed = told(COMPRESSED, frame.strip_prefix(&MAGIC).unwrap());
    assert!(packed.len() < 1_000);
    unpack(Kind::Company, &packed).unwrap_err();
}

#[test]
fn an_unknown_way_is_an_error() {
    unpack(Kind::Person, b"").unwrap_err();
    unpack(Kind::Person, b"\x02abc").unwrap_err();
    unpack(Kind::Person, &[COMPRESSED]).unwrap_err();
}

#[test]
fn a_cut_row_is_an_error() {
    let companies = real_companies();
    for row in company_rows(&companies[..20]) {
        let packed = pack(Kind::Company, &row);
        assert_eq!(packed[0], COMPRESSED);
        for len in 0..packed.len() {
            unpack(Kind::Company, &packed[..len]).unwrap_err();
        }
        assert_eq!(unpack(Kind::Company, &packed).unwrap(), row);
    }
}

/// Other dictionaries make rows unreadable, and other numbering plans leave numbers that are not found: whoever changes
/// them gives the format its next number, here too.
#[test]
fn dictionaries_and_numbering_plans_belong_to_the_format() {
    let mut hash = Sha256::new().chain_update(COMPANIES).chain_update(PEOPLE);
    let regions = PHONE_NUMBER_UTIL.get_supported_regions();
    let regions = regions.map(|region| region.as_region_str().to_string());
    for region in regions.collect::<BTreeSet<_>>() {
        for number in [
            "0201234567",
            "8001234567",
            "+12025550123",
            "112345678",
            "94123456",
        ] {
            for term in phone::terms(number, Some(&region)) {
                hash.update(term);
                hash.update("\n");
            }
        }
    }
    let hash = hash
        .finalize()
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    assert_eq!(
        (FORMAT, hash.as_str()),
        (
            7,
            "684423a090d493168273c3d4b09a97cb6d2bc85da82f8147e47d0f4f687c424f"
        )
    );
}

proptest! {
    #[test]
    fn any_row_comes_back(
        kind in prop::sample::select(&KINDS[..]),
        piece in vec(any::<u8>(), 0..300),
        times in 0..400_usize,
    ) {
        let row = piece.repeat(times);
        let packed = pack(kind, &row);
        prop_assert!(packed.len() <= row.len() + 1);
        prop_assert_eq!(unpack(kind, &packed).unwrap(), row);
    }

    #[test]
    fn no_damage_panics_or_makes_more_than_the_longest_row(
        kind in prop::sample::select(&KINDS[..]),
        piece in vec(any::<u8>(), 1..100),
        damage in vec((any::<Index>(), any::<u8>()), 1..4),
        random in vec(any::<u8>(), 0..100),
    ) {
        let mut packed = pack(kind, &piece.repeat(5));
        for (at, byte) in damage {
            *at.get_mut(&mut packed) = byte;
        }
        for damaged in [packed, told(COMPRESSED, &random)] {
            if let Ok(row) = unpack(kind, &damaged) {
                prop_assert!(row.len() <= MAX_LEN);
            }
        }
    }
}

/// Writes the dictionaries anew, from the sample that `./dev up` loads. The same sample makes the same dictionaries.
#[test]
#[ignore = "no test: changes files of the repository"]
fn write_the_dictionaries() {
    let companies: Vec<_> = sample("sample-companies").iter().map(company).collect();
    let people: Vec<_> = sample("sample-people").iter().map(person).collect();
    write_dictionary("company_rows.dict", &company_rows(&companies));
    write_dictionary("person_rows.dict", &person_rows(&people, &companies));
}

/// What a command of `dsctl` makes of the sample.
fn sample(command: &str) -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--bin", "dsctl", "--", command])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

fn write_dictionary(name: &str, rows: &[Bytes]) {
    let dictionary = zstd::dict::from_samples(rows, DICTIONARY_LEN).unwrap();
    fs::write(root().join("services/search/data").join(name), dictionary).unwrap();
}
