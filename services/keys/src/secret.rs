//! Making secrets, and what is kept of them.
//!
//! A secret has 190 random bits, so that a keyed hash without salt or stretching can't be turned back, and the hash can
//! be looked up by an index: the cost is the same for the first and the millionth key. Secrets are never compared with
//! each other, so that no comparison can tell by its time how near a guess came; the index compares hashes of what was
//! sent, which a caller without the pepper can't steer.
//!
//! Two peppers count at a time: how one is changed for another is told in [`crate::pepper_change`].

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use proto::api_key::{self, ALPHABET, ApiKeySecret, PREFIX, RANDOM_LENGTH};
use runtime::ambient::Ambient;
use runtime::secret::Secret;
use sha2::{Digest as _, Sha256};

/// A new secret.
///
/// # Panics
/// If the system has no randomness to give.
#[must_use]
pub fn generate(ambient: &Ambient) -> ApiKeySecret {
    let mut body = PREFIX.to_owned();
    while body.len() < PREFIX.len() + RANDOM_LENGTH {
        let mut random = [0; RANDOM_LENGTH];
        ambient.fill(&mut random);
        let missing = PREFIX.len() + RANDOM_LENGTH - body.len();
        body.extend(random.into_iter().filter_map(digit).take(missing));
    }
    let text = format!("{body}{}", api_key::checksum(&body));
    ApiKeySecret::parse(&text).expect("a secret made by the rule meets the rule")
}

/// The base62 digit that a random byte stands for; none for the last 8 values, which would favour the first digits.
fn digit(random: u8) -> Option<char> {
    let digits = 62;
    (random < 4 * digits).then(|| char::from(ALPHABET[usize::from(random % digits)]))
}

/// The server's part of every hash.
#[derive(Clone)]
pub struct Pepper {
    text: Secret,
    id: String,
}

impl Pepper {
    /// A pepper of this text.
    #[must_use]
    pub fn new(text: Secret) -> Self {
        let digest = Sha256::digest(text.expose().as_bytes());
        let id = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        Self {
            text,
            id: format!("{id:08x}"),
        }
    }

    /// Tells peppers apart without telling what they are: 8 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is kept of a secret.
    ///
    /// # Panics
    /// Never: HMAC takes keys of every length.
    #[must_use]
    pub fn hash(&self, secret: &ApiKeySecret) -> HashedSecret {
        let mac = Hmac::<Sha256>::new_from_slice(self.text.expose().as_bytes())
            .expect("HMAC takes keys of every length");
        let hash = mac.chain_update(secret.expose()).finalize().into_bytes();
        HashedSecret {
            hash: hash.into(),
            pepper_id: self.id.clone(),
        }
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pepper({})", self.id)
    }
}

/// What is kept of a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct HashedSecret {
    /// HMAC-SHA-256 of the secret, keyed with a pepper.
    pub hash: [u8; 32],
    /// Which pepper.
    pub pepper_id: String,
}

impl fmt::Debug for HashedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HashedSecret(with {})", self.pepper_id)
    }
}

/// The peppers in use.
#[derive(Clone, Debug)]
pub struct Peppers {
    /// Hashes what is new.
    pub current: Pepper,
    /// Still finds what was hashed with it.
    pub previous: Option<Pepper>,
}

impl Peppers {
    /// Every hash under which the secret may be kept.
    pub fn hashes(&self, secret: &ApiKeySecret) -> impl Iterator<Item = HashedSecret> {
        std::iter::once(&self.current)
            .chain(&self.previous)
            .map(|pepper| pepper.hash(secret))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn secrets_are_well_formed_and_differ() {
        let ambient = Ambient::system();
        let secrets: HashSet<String> = (0..1_000)
            .map(|_| generate(&ambient).expose().to_owned())
            .collect();
        assert_eq!(secrets.len(), 1_000);
        for secret in secrets {
            assert_eq!(secret.len(), 42);
            assert!(ApiKeySecret::parse(&secret).is_some());
        }
    }

    #[test]
    fn no_digit_is_favoured() {
        let digits: Vec<char> = (0..=u8::MAX).filter_map(digit).collect();
        for known in ALPHABET {
            let count = digits
                .iter()
                .filter(|digit| **digit == char::from(*known))
                .count();
            assert_eq!(count, 4);
        }
        // Every digit turns up at every place: a miss in 2,000 draws has a chance of 32 x 62 x (61/62)^2000 < 1e-10.
        let ambient = Ambient::fixed(chrono::DateTime::UNIX_EPOCH, 1);
        let mut seen = vec![HashSet::new(); RANDOM_LENGTH];
        for _ in 0..2_000 {
            let secret = generate(&ambient);
            for (place, digit) in secret.expose()[PREFIX.len()..][..RANDOM_LENGTH]
                .chars()
                .enumerate()
            {
                seen[place].insert(digit);
            }
        }
        assert!(seen.iter().all(|digits| digits.len() == 62));
    }

    #[test]
    fn the_hash_is_the_hmac_of_the_whole_secret() {
        // Checked against Python's `hmac.new(pepper, secret, "sha256")` and `sha256(pepper)`.
        let secret = ApiKeySecret::parse("dsk_0123456789ABCDEFGHIJKLMNOPQRSTUV0lYb4h").unwrap();
        let pepper = Pepper::new(Secret::new("a pepper of thirty-two characters"));
        let hashed = pepper.hash(&secret);
        let (high, low) = hashed.hash.split_at(16);
        let number = |half: &[u8]| u128::from_be_bytes(half.try_into().unwrap());
        let hex = format!("{:032x}{:032x}", number(high), number(low));
        assert_eq!(
            hex,
            "1d161c8f61bcf1a20a9a75f2c8059b42e09831843e667d48e59c8cffcaf3d219"
        );
        assert_eq!(hashed.pepper_id, "75057aa1");
    }

    #[test]
    fn peppers_hash_apart_and_both_are_looked_up() {
        let secret = generate(&Ambient::system());
        let (one, two) = (Pepper::new(Secret::new("one")), Pepper::new(Secret::new("two")));
        assert_ne!(one.hash(&secret), two.hash(&secret));
        let peppers = Peppers {
            current: two.clone(),
            previous: Some(one.clone()),
        };
        let hashes: Vec<_> = peppers.hashes(&secret).collect();
        assert_eq!(hashes, [two.hash(&secret), one.hash(&secret)]);
    }

    #[test]
    fn nothing_secret_is_shown() {
        let secret = generate(&Ambient::system());
        let pepper = Pepper::new(Secret::new("the pepper"));
        let hashed = pepper.hash(&secret);
        let shown = format!("{secret:?} {pepper:?} {hashed:?}");
        assert!(!shown.contains(&secret.expose()[api_key::SHOWN_LENGTH..]));
        assert!(!shown.contains("the pepper"));
        assert!(!shown.contains(&format!("{:?}", hashed.hash)));
    }
}
