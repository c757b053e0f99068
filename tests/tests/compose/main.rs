//! The system as `docker-compose.yml` starts it, with the sample in it: `./dev test --compose` runs these, one after
//! another, on containers of their own. They are what a person would try first, and what restarts do to clients.

mod bodies;
mod first_use;
mod hardening;
mod restarts;
