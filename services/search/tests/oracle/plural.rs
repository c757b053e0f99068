//! English plurals, stated anew.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Nouns whose plural no rule makes, and theirs.
const IRREGULAR: &str = "addendum addenda, ad ads, alga algae, alibi alibis, alumna alumnae, alumnus alumni, \
    antenna antennae, api apis, appendix appendices, aquarium aquaria, axis axes, bacterium bacteria, bikini bikinis, \
    bookshelf bookshelves, bureau bureaus, bureau bureaux, bus buses, bus busses, cactus cacti, calf calves, cd cds, \
    chateau chateaus, chateau chateaux, child children, codex codices, cpu cpus, crisis crises, criterion criteria, \
    curriculum curricula, ecu ecus, elf elves, emoji emojis, foot feet, focus foci, formula formulae, fungus fungi, gas gases, \
    gas gasses, goose geese, gpu gpus, grandchild grandchildren, guru gurus, half halves, hoof hooves, id ids, \
    index indices, iris irises, kiwi kiwis, knife knives, kpi kpis, larva larvae, leaf leaves, lens lenses, \
    louse lice, life lives, loaf loaves, martini martinis, matrix matrices, mcu mcus, md mds, memorandum memoranda, man men, menu menus, \
    metropolis metropolises, mini minis, money monies, mouse mice, mousse mousses, nebula nebulae, nucleus nuclei, oasis oases, \
    ox oxen, panini paninis, parenthesis parentheses, pc pcs, person people, person persons, phenomenon phenomena, \
    plateau plateaus, plateau plateaux, posse posses, psu psus, psychosis psychoses, quiz quizzes, rabbi rabbis, radius radii, \
    safari safaris, salami salamis, scarf scarves, self selves, shelf shelves, ski skis, sku skus, spectrum spectra, stadium stadia, \
    stimulus stimuli, stratum strata, syllabus syllabi, symposium symposia, synopsis synopses, taxi taxis, tooth teeth, \
    thief thieves, tsunami tsunamis, tutu tutus, tv tvs, ui uis, vertebra vertebrae, vertex vertices, \
    vortex vortices, vp vps, whiz whizzes, wife wives, housewife housewives, midwife midwives, wolf wolves, \
    woman women";

/// What ends like a plural and is none.
const NO_PLURAL: &str = "news series species goods clothes lens goggles means peoples mens always perhaps kudos mars \
    gas bias atlas canvas alias christmas pancreas";

/// Men of a trade: `-men` is a plural in these, not in `specimen`.
const MEN: &str = "air anchor bar business camera cave chair clergy congress council delivery door fire fisher fore \
    fresh gentle handy horse journey lay line middle milk noble ombuds police post repair sea service watch work";

/// Singulars in `-oe`, `-che` and `-as`, whose plurals are cut less or more than those in `-o`, `-ch` and `-ase`.
const IN_OE: &str = "shoe toe canoe oboe foe hoe woe floe aloe throe tiptoe horseshoe snowshoe";
const IN_CHE: &str = "cache niche headache ache toothache backache moustache mustache avalanche creche quiche psyche \
    porsche brioche pastiche cliche douche tranche apache";
const IN_AS: &str = "gas bias atlas canvas alias christmas pancreas";

type Words = HashSet<&'static str>;

static SINGULAR_OF: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let pairs = IRREGULAR
        .split(',')
        .filter_map(|pair| pair.trim().split_once(' '));
    pairs.map(|(singular, plural)| (plural, singular)).collect()
});
static NO_PLURALS: LazyLock<Words> = LazyLock::new(|| NO_PLURAL.split_whitespace().collect());
static TRADES: LazyLock<Words> = LazyLock::new(|| MEN.split_whitespace().collect());

/// The singular of a word: what it shares with its plural. Other words than those of `a` to `z` have none.
pub(crate) fn singular(word: &str) -> String {
    if word.len() < 3 || word.contains(|letter: char| !letter.is_ascii_lowercase()) {
        return word.to_owned();
    }
    if let Some(singular) = SINGULAR_OF.get(word) {
        return (*singular).to_owned();
    }
    if NO_PLURALS.contains(word) {
        return word.to_owned();
    }
    for (plural, singular) in [("women", "woman"), ("people", "person"), ("persons", "person")] {
        if let Some(trade) = word.strip_suffix(plural) {
            return format!("{trade}{singular}");
        }
    }
    if let Some(trade) = word.strip_suffix("men")
        && (TRADES.contains(trade) || trade.ends_with('s'))
    {
        return format!("{trade}man");
    }
    let regular = regular_singular(word);
    // Singulars in -ie meet those in -y: both have a plural in -ies.
    match regular.strip_suffix("ie") {
        Some(rest) if regular.len() > 3 => format!("{rest}y"),
        _ => regular,
    }
}

fn regular_singular(word: &str) -> String {
    let one_of = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let Some(without_s) = word.strip_suffix('s').filter(|_| word.len() > 3) else {
        return word.to_owned();
    };
    let before_es = without_s.strip_suffix('e');
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    if ends(&["ss", "us", "is", "aas"]) {
        return word.to_owned();
    }
    let Some(before_es) = before_es else {
        return without_s.to_owned();
    };
    if ends(&[
        "yses", "theses", "gnoses", "emphases", "stases", "chroses", "croses",
    ]) {
        return format!("{before_es}is");
    }
    if let Some(stem) = before_es.strip_suffix('i') {
        return if word.len() > 4 {
            format!("{stem}y")
        } else {
            without_s.to_owned()
        };
    }
    let keeps_e = if word.ends_with("oes") {
        one_of(IN_OE, without_s)
    } else if word.ends_with("ches") {
        one_of(IN_CHE, without_s)
    } else if word.ends_with("ases") {
        !one_of(IN_AS, before_es)
    } else if word.ends_with("uses") {
        ends(&["ouses", "auses", "fuses", "muses", "abuses", "excuses"]) || word == "uses" || word == "reuses"
    } else {
        !ends(&["xes", "shes", "sses", "zzes", "tzes"])
    };
    if keeps_e { without_s } else { before_es }.to_owned()
}
