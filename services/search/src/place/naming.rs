//! How a place is told to people, and by which text a location filter finds it.

use proto::alternatives::composed;

use super::gazetteer::{Entity, Gazetteer, RegionId};
use super::{AskedPart, asked_parts};

/// The names of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    /// Its English name with its region and country: `Munich, Bavaria, Germany`.
    pub shown: String,
    /// The text for a location filter that finds it, and of other places as few as names can tell apart.
    pub filter: String,
}

/// How the place is called; none if no text finds it.
#[must_use]
pub fn naming(place: Entity) -> Option<Naming> {
    let gazetteer = Gazetteer::get();
    let country = gazetteer.country(gazetteer.country_of(place));
    let region = region_of(place).map(|id| gazetteer.region(id));
    let (shown, filters) = match (place, region) {
        (Entity::Country(_), _) => {
            // Towns and regions have names and codes of countries; of its own name in itself there is one, with its code.
            let (name, code) = (&*country.name, &*country.code);
            let filters = vec![vec![name], vec![name, code], vec![code, name]];
            (country.name.clone(), filters)
        }
        (Entity::Region(_), Some(region)) => {
            let filters = [&region.name, &region.code].map(|name| vec![name.as_str(), &country.name]);
            (format!("{}, {}", region.name, country.name), filters.to_vec())
        }
        (Entity::City(id), Some(region)) => {
            let name = &*gazetteer.city(id).name;
            let filters = [&region.name, &region.code].map(|region| vec![name, region, &country.name]);
            let shown = format!("{name}, {}, {}", region.name, country.name);
            (shown, filters.to_vec())
        }
        (Entity::City(id), None) => {
            let name = &*gazetteer.city(id).name;
            (
                format!("{name}, {}", country.name),
                vec![vec![name, &*country.name]],
            )
        }
        // A region lies in itself.
        (Entity::Region(_), None) => return None,
    };
    let filters = filters.into_iter().filter(|parts| !parts.contains(&""));
    let filters = filters.map(|parts| {
        // In names they separate words; in a filter, parts and places.
        let parts = parts.iter().map(|part| composed(part).replace([',', ';'], " "));
        parts.collect::<Vec<_>>().join(", ")
    });
    let found = filters.filter_map(|filter| {
        let found = found_by(&filter);
        found.contains(&place).then_some((found.len(), filter))
    });
    // The first of the fewest.
    let (_, filter) = found.min_by_key(|(count, _)| *count)?;
    Some(Naming { shown, filter })
}

/// The places that the first part of an alternative names and that lie in, or are, what each other part names.
fn found_by(alternative: &str) -> Vec<Entity> {
    let gazetteer = Gazetteer::get();
    let parts = asked_parts(alternative);
    let Some((first, others)) = parts.split_first() else {
        return Vec::new();
    };
    let lies_in = |place: Entity, part: &AskedPart| {
        let mut around = part.entities.iter();
        around.any(|around| gazetteer.is_within(place, *around))
    };
    let found = first.entities.iter().copied();
    found
        .filter(|place| others.iter().all(|part| lies_in(*place, part)))
        .collect()
}

/// The region that a place is or lies in, if that is known.
fn region_of(place: Entity) -> Option<RegionId> {
    match place {
        Entity::Country(_) => None,
        Entity::Region(id) => Some(id),
        Entity::City(id) => Gazetteer::get().city(id).region,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{entities, of_source_text};

    /// How the narrowest place of a record is called.
    fn called(city: &str, region: &str, country: &str) -> Naming {
        let place = of_source_text(&[city, region, country].join("\u{1f}"));
        let narrowest = entities(&place).into_iter().next_back().unwrap();
        naming(narrowest).unwrap()
    }

    #[test]
    fn a_place_is_told_with_what_it_lies_in() {
        for (city, region, country, shown, filter) in [
            (
                "München",
                "",
                "DE",
                "Munich, Bavaria, Germany",
                "Munich, Bavaria, Germany",
            ),
            (
                "Springfield",
                "IL",
                "US",
                "Springfield, Illinois, United States",
                "Springfield, Illinois, United States",
            ),
            ("", "BY", "DE", "Bavaria, Germany", "Bavaria, Germany"),
            ("", "", "FR", "France", "France"),
        ] {
            let naming = called(city, region, country);
            assert_eq!((naming.shown.as_str(), naming.filter.as_str()), (shown, filter));
        }
    }

    #[test]
    fn of_namesakes_a_filter_finds_as_few_as_it_can() {
        for (city, region, country) in [
            ("München", "", "DE"),
            ("Springfield", "IL", "US"),
            ("Springfield", "MO", "US"),
            ("Paris", "TX", "US"),
            ("Birmingham", "AL", "US"),
            ("", "GA", "US"),
            ("", "", "GE"),
        ] {
            let place = of_source_text(&[city, region, country].join("\u{1f}"));
            let narrowest = entities(&place).into_iter().next_back().unwrap();
            let filter = naming(narrowest).unwrap().filter;
            assert_eq!(found_by(&filter), [narrowest], "{filter}");
        }
    }

    /// Only what lies in a country and has its very name is found with it: a city state's city, a region, a village.
    #[test]
    fn a_countrys_filter_finds_nothing_elsewhere() {
        let gazetteer = Gazetteer::get();
        for country in gazetteer.countries() {
            let filter = naming(Entity::Country(country)).unwrap().filter;
            for found in found_by(&filter) {
                assert_eq!(gazetteer.country_of(found), country, "{filter}");
            }
        }
    }
}
