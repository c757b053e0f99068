//! Made-up names: a given and a family name drawn by the fake-data crate, each for itself, in a language of the country.

use fake::Fake as _;
use fake::faker::name::raw::{FirstName, LastName};
use fake::locales::{
    AR_SA, DE_DE, Data, EN, FA_IR, FR_FR, IT_IT, JA_JP, NL_NL, PT_BR, PT_PT, TR_TR, ZH_CN, ZH_TW,
};

use super::chance::Chance;

/// A made-up name.
pub(super) struct Name {
    /// Given name.
    pub(super) first: String,
    /// Family name.
    pub(super) last: String,
    /// Both, in the order of the language.
    pub(super) full: String,
}

/// A name as people of the country may bear it. Languages that the crate lacks, and every tenth person, have English
/// ones.
pub(super) fn name(country: Option<&str>, chance: &mut Chance) -> Name {
    if chance.percent(10) {
        return name_in::<EN>(EN, chance);
    }
    match country.unwrap_or_default() {
        "DE" | "AT" | "LI" => name_in(DE_DE, chance),
        "CH" => match chance.between(0, 9) {
            0..=5 => name_in(DE_DE, chance),
            6..=8 => name_in(FR_FR, chance),
            _ => name_in(IT_IT, chance),
        },
        "FR" | "MC" | "SN" | "CI" => name_in(FR_FR, chance),
        "LU" | "BE" if chance.percent(50) => name_in(FR_FR, chance),
        "CA" if chance.percent(20) => name_in(FR_FR, chance),
        "NL" | "BE" => name_in(NL_NL, chance),
        "IT" | "SM" => name_in(IT_IT, chance),
        "PT" | "AO" | "MZ" => name_in(PT_PT, chance),
        "BR" => name_in(PT_BR, chance),
        "TR" => name_in(TR_TR, chance),
        "JP" => name_in(JA_JP, chance),
        "CN" => name_in(ZH_CN, chance),
        "TW" => name_in(ZH_TW, chance),
        "HK" | "MO" if chance.percent(70) => name_in(ZH_TW, chance),
        "SG" | "MY" if chance.percent(30) => name_in(ZH_CN, chance),
        "SA" | "EG" | "AE" | "KW" | "QA" | "JO" | "OM" | "BH" | "MA" | "TN" | "IQ" | "LB" => {
            name_in(AR_SA, chance)
        }
        "IR" => name_in(FA_IR, chance),
        _ => name_in(EN, chance),
    }
}

fn name_in<L: Data + Copy>(language: L, chance: &mut Chance) -> Name {
    let first: &str = FirstName(language).fake_with_rng(chance.generator());
    let last: &str = LastName(language).fake_with_rng(chance.generator());
    let full = L::NAME_TPL
        .replace("{FirstName}", first)
        .replace("{LastName}", last);
    Name {
        first: first.to_owned(),
        last: last.to_owned(),
        full,
    }
}
