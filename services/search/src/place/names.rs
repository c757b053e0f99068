//! All names of places, to be shown what they begin with. To look a name up, their hashes will do
//! ([`Gazetteer::named`]); the names themselves take 16 MB, and are kept from when they are first asked for.

use std::sync::LazyLock;

use super::gazetteer::{Entity, Gazetteer};

/// The names of all places.
struct Names {
    text: String,
    /// Whose name begins where, sorted. It ends before the next [`END`].
    called: Vec<(Entity, u32)>,
}

/// Ends each name. No name holds it, since it ends the lines that they are read from.
const END: char = '\n';

static NAMES: LazyLock<Names> = LazyLock::new(Names::read);

/// All that a place is called.
pub fn names(place: Entity) -> impl Iterator<Item = &'static str> {
    let Names { text, called } = &*NAMES;
    let first = called.partition_point(|(other, _)| *other < place);
    let own = called[first..]
        .iter()
        .take_while(move |(other, _)| *other == place);
    own.filter_map(|(_, begin)| text.get(*begin as usize..)?.split(END).next())
}

impl Names {
    fn read() -> Self {
        let mut text = String::new();
        let mut called = Vec::new();
        Gazetteer::each_name(|place, name| {
            let begin = u32::try_from(text.len()).expect("the gazetteer's names take a few megabytes");
            called.push((place, begin));
            text.push_str(name);
            text.push(END);
        });
        text.shrink_to_fit();
        called.sort_unstable();
        called.shrink_to_fit();
        Self { text, called }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words::words;

    #[test]
    fn a_place_is_found_by_each_of_its_names() {
        let gazetteer = Gazetteer::get();
        let munich = gazetteer.cities_named(&words("München"))[0];
        let all = names(Entity::City(munich)).collect::<Vec<_>>();
        assert!(
            all.contains(&"Munich") && all.contains(&"Monaco di Baviera"),
            "{all:?}"
        );
        for name in all {
            let found = gazetteer.all_named(&words(name));
            assert!(found.contains(&Entity::City(munich)), "{name}");
        }
    }
}
