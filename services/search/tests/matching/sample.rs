//! The places of the sample's companies, which are as they come.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use search::place::is_explained;
use search::record::PlaceText;
use serde_json::Value;

#[test]
fn the_gazetteer_explains_97_of_100_places_of_the_sample() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample/companies.jsonl.gz");
    let (mut places, mut unexplained) = (0, BTreeMap::<String, usize>::new());
    for line in BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines() {
        let company: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |name: &str| company[name].as_str().map(str::to_owned);
        let place = PlaceText {
            city: text("city"),
            region: text("region"),
            country: text("country"),
        };
        if place == PlaceText::default() {
            continue;
        }
        places += 1;
        if !is_explained(&place) {
            *unexplained.entry(format!("{place:?}")).or_default() += 1;
        }
    }
    let not: usize = unexplained.values().sum();
    println!("{not} of {places} are not explained: {unexplained:#?}");
    assert!(places > 20_000 && not * 100 <= places * 3, "{not} of {places}");
}
