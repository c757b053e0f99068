//! Records and requests made up of what is really out there: the sample's companies and titles, names of many
//! languages, and the ways in which people write what they look for.

pub(crate) mod pieces;
pub(crate) mod records;
pub(crate) mod requests;
mod spelling;
