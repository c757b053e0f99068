//! Job titles: real ones for staff and managers, the usual ones for officers.

use super::chance::Chance;

/// The real job titles, by rank.
pub(super) struct Titles {
    staff: Vec<String>,
    managers: Vec<String>,
    vice_presidents: Vec<String>,
}

/// Officers in the order in which a company that grows has them, each in the spellings in use. (The list of real
/// titles has none of them.)
const OFFICERS: [[&str; 4]; 9] = [
    [
        "Chief Executive Officer",
        "CEO",
        "President and CEO",
        "Managing Director",
    ],
    [
        "Chief Financial Officer",
        "CFO",
        "Chief Financial Officer & Treasurer",
        "Finance Director",
    ],
    [
        "Chief Operating Officer",
        "COO",
        "EVP & Chief Operating Officer",
        "Chief Operations Officer",
    ],
    [
        "Chief Technology Officer",
        "CTO",
        "VP Engineering",
        "Chief Technical Officer",
    ],
    [
        "Chief Marketing Officer",
        "CMO",
        "Vice President Marketing",
        "VP, Marketing",
    ],
    [
        "Chief Human Resources Officer",
        "CHRO",
        "Head of HR",
        "VP Human Resources",
    ],
    [
        "Chief Information Officer",
        "CIO",
        "VP Information Technology",
        "Head of IT",
    ],
    [
        "General Counsel",
        "Chief Legal Officer",
        "General Counsel and Secretary",
        "Head of Legal",
    ],
    [
        "Chief Revenue Officer",
        "CRO",
        "Senior Vice President, Sales",
        "EVP Sales",
    ],
];

/// How many people of a company there are in the sample for each officer.
const PEOPLE_PER_OFFICER: u32 = 4;

impl Titles {
    /// Sorts real titles, one a line, by rank.
    pub(super) fn parse(text: &str) -> Self {
        let mut titles = Self {
            staff: Vec::new(),
            managers: Vec::new(),
            vice_presidents: Vec::new(),
        };
        for title in text.lines().map(str::trim).filter(|title| !title.is_empty()) {
            let rank = if title.contains("Vice President") || title.contains("VP") {
                &mut titles.vice_presidents
            } else if ["Manager", "Director", "Supervisor", "Head"]
                .iter()
                .any(|word| title.contains(word))
            {
                &mut titles.managers
            } else {
                &mut titles.staff
            };
            rank.push(title.to_owned());
        }
        titles
    }

    /// Title of the person of this number, from 0, of a company with so many people in the sample. None only if there
    /// are no titles at all.
    pub(super) fn of_employee(&self, number: u32, people: u32, chance: &mut Chance) -> Option<String> {
        let officer = OFFICERS.get(number as usize).filter(|_| match number {
            0 => chance.percent(if people < PEOPLE_PER_OFFICER { 30 } else { 90 }),
            _ => people >= number * PEOPLE_PER_OFFICER && chance.percent(85),
        });
        match officer {
            Some(spellings) => Some(chance.pick(spellings).to_owned()),
            None => self.of_anyone(people >= 8, chance),
        }
    }

    /// Title of someone who is not an officer.
    pub(super) fn of_anyone(&self, vice_presidents: bool, chance: &mut Chance) -> Option<String> {
        Some(match chance.between(0, 99) {
            0..=3 if vice_presidents => chance.choose(&self.vice_presidents)?.clone(),
            4..=25 => chance.choose(&self.managers)?.clone(),
            26..=37 => format!(
                "{} {}",
                chance.pick(&["Senior", "Senior", "Sr.", "Sr"]),
                self.plain(chance)?
            ),
            38..=41 => format!(
                "{} {}",
                chance.pick(&["Junior", "Junior", "Jr.", "Jr"]),
                self.plain(chance)?
            ),
            _ => self.plain(chance)?.to_owned(),
        })
    }

    fn plain(&self, chance: &mut Chance) -> Option<&str> {
        chance.choose(&self.staff).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_companies_have_officers_and_mostly_others() {
        let titles = Titles::parse("Accountant\nSales Manager\nVice President of Sales\n\n");
        let of = |number, record: u32| {
            titles
                .of_employee(number, 100, &mut Chance::of(1, "title", &record.to_string()))
                .unwrap()
        };
        let chiefs = (0..100)
            .filter(|record| OFFICERS[0].contains(&of(0, *record).as_str()))
            .count();
        assert!((80..100).contains(&chiefs), "{chiefs}");
        let staff = (0..100).filter(|record| of(50, *record) == "Accountant").count();
        assert!((40..80).contains(&staff), "{staff}");
    }

    #[test]
    fn without_titles_there_is_none() {
        assert_eq!(
            Titles::parse("").of_anyone(true, &mut Chance::of(1, "title", "")),
            None
        );
    }
}
