//! Secrets that are looked for, in every form that they could be left in.

use std::collections::HashMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use regex::bytes::Regex;
use sha2::{Digest as _, Sha256};

/// What is to be found nowhere.
#[derive(Default)]
pub(crate) struct Marks {
    /// What each form is of.
    forms: HashMap<Vec<u8>, String>,
}

impl Marks {
    /// A secret text.
    pub(crate) fn add(&mut self, what: &str, text: &str) {
        assert!(text.len() >= 12, "{what} is too short to be found by");
        let bytes = text.as_bytes();
        let digest = Sha256::digest(bytes);
        let forms = [
            bytes.to_vec(),
            hexadecimal(bytes).into_bytes(),
            hexadecimal(bytes).to_uppercase().into_bytes(),
            BASE64_STANDARD_NO_PAD.encode(bytes).into_bytes(),
            BASE64_URL_SAFE_NO_PAD.encode(bytes).into_bytes(),
            // Without the pepper, a digest is as good as the secret to who can try.
            digest.to_vec(),
            hexadecimal(&digest).into_bytes(),
        ];
        for form in forms {
            self.forms.insert(form, what.to_owned());
        }
    }

    /// An API key: what it begins with may be shown.
    pub(crate) fn add_key(&mut self, what: &str, key: &str) {
        self.add(what, key);
        self.add(what, &key[proto::api_key::SHOWN_LENGTH..]);
    }

    /// A session token: its last part is what makes it one.
    pub(crate) fn add_token(&mut self, what: &str, token: &str) {
        self.add(what, token);
        if let Some((_, signature)) = token
            .rsplit_once('.')
            .filter(|(_, signature)| signature.len() >= 12)
        {
            self.add(what, signature);
        }
    }

    /// Looks for all of them.
    pub(crate) fn search(&self) -> Search<'_> {
        let mut pattern = String::from("(?s-u:");
        for (number, form) in self.forms.keys().enumerate() {
            if number > 0 {
                pattern.push('|');
            }
            for byte in form {
                write!(pattern, "\\x{byte:02x}").unwrap();
            }
        }
        pattern.push(')');
        Search {
            marks: self,
            pattern: Regex::new(&pattern).unwrap(),
        }
    }
}

/// A search for marks.
pub(crate) struct Search<'a> {
    marks: &'a Marks,
    pattern: Regex,
}

impl Search<'_> {
    /// What of them is found here, with what stands around it.
    pub(crate) fn found_in(&self, bytes: &[u8]) -> Option<String> {
        let found = self.pattern.find(bytes)?;
        let around = found.start().saturating_sub(200)..bytes.len().min(found.end() + 100);
        let what = &self.marks.forms[found.as_bytes()];
        Some(format!("{what} in: {}", String::from_utf8_lossy(&bytes[around])))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
