//! Legal forms at a company's name: `Inc`, `GmbH & Co. KG`, `S.A. de C.V.`, `株式会社`.
//!
//! They are ignored in names and in what is asked for, unless nothing else is left. What is only ever a legal form is
//! one anywhere; short ones that are words or initials elsewhere count only at the end of the name, and those that
//! are written before it at its beginning too (`AB Volvo`, `PT Astra`).

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::Word;

/// Where in a name it is a legal form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Wherever it stands.
    Anywhere,
    /// Behind the first word.
    NotFirst,
    /// At the beginning or at the end.
    Edges,
    /// At the end.
    End,
}

/// Folded words of each form, by where it is one. Forms of a row are separated by commas.
const FORMS: &[(Place, &str)] = &[
    // English
    (
        Place::Anywhere,
        "inc, llc, l l c, llp, l l p, lllp, pllc, plc, p l c, ltd, pty ltd, pte ltd, pvt ltd, co ltd, ltee",
    ),
    (
        Place::Anywhere,
        "limited liability company, limited liability partnership, public limited company",
    ),
    (
        Place::Anywhere,
        "public company limited, pcl, private limited, pty limited, pte limited, pvt limited",
    ),
    (
        Place::Anywhere,
        "company limited, co limited, designated activity company, unlimited company, pjsc, p j s c",
    ),
    (
        Place::Anywhere,
        "public joint stock company, closed joint stock company, open joint stock company",
    ),
    (Place::Anywhere, "joint stock company"),
    (Place::NotFirst, "limited, incorporated, corp, corporation"),
    (
        Place::End,
        "co, company, lp, l p, pc, p c, dac, pty, pte, pvt, limited partnership",
    ),
    // German
    (
        Place::Anywhere,
        "gmbh, g m b h, kgaa, mbh, ohg, gesellschaft mit beschrankter haftung, aktiengesellschaft",
    ),
    (
        Place::Anywhere,
        "gesmbh, ges m b h, kommanditgesellschaft, kommanditgesellschaft auf aktien",
    ),
    (
        Place::End,
        "ag, se, kg, ug, ug haftungsbeschrankt, e v, ev, e g, eg, e k, societas europaea",
    ),
    // Romance
    (
        Place::Anywhere,
        "s a de c v, sa de cv, s a b de c v, sab de cv, s de r l de c v, s de rl de cv, sapi de cv",
    ),
    (
        Place::Anywhere,
        "s a p i de c v, societe anonyme, sociedad anonima, sociedade anonima",
    ),
    (
        Place::Anywhere,
        "societa per azioni, societa a responsabilita limitata, sociedad limitada, societe par actions simplifiee",
    ),
    (
        Place::Anywhere,
        "societe a responsabilite limitee, ltda, eireli, sarl, s a r l, s p a, s r l, sapa, s a p a",
    ),
    (Place::Edges, "sa, s a"),
    (
        Place::End,
        "spa, srl, sas, s a s, sasu, eurl, snc, s n c, sca, s c a, s l, sl, s l u, slu, sab, s a b, sgps, s g p s",
    ),
    (
        Place::End,
        "sau, s a u, s a c, s a a, saa, s a s u, scpa, e s p, esp, saog, s a o g, saoc, kscp, k s c p, kscc, k s c c",
    ),
    (
        Place::End,
        "k s c, ksc, q p s c, qpsc, q s c, p s c, psc, bsc, b s c, societe en commandite par actions",
    ),
    // Dutch, Flemish
    (
        Place::Anywhere,
        "besloten vennootschap, naamloze vennootschap, bvba, cvba",
    ),
    (Place::Edges, "nv, n v, bv, b v"),
    (Place::End, "c v, vof"),
    // Nordic
    (
        Place::Anywhere,
        "aktiebolag, aktiebolaget, aktieselskab, anpartsselskab, aksjeselskap, osakeyhtio, julkinen osakeyhtio",
    ),
    (Place::Edges, "ab, as, a s, oy, oyj"),
    (
        Place::End,
        "asa, aps, abp, ab publ, publ, hf, h f, ehf, ohf, ks, ivs, o y, oy ab",
    ),
    // Central and Eastern Europe, Turkey
    (
        Place::Anywhere,
        "sp z o o, spolka z o o, spolka akcyjna, spolka z ograniczona odpowiedzialnoscia, s r o, spol s r o",
    ),
    (
        Place::Anywhere,
        "d o o, zrt, nyrt, kft, akciova spolocnost, akciova spolecnost, anonim sirketi, anonim sirket, limited sirketi",
    ),
    (Place::Anywhere, "ltd sti, ead, ood, eood, tov, pat, prat"),
    (
        Place::Edges,
        "ao, oao, zao, pao, ooo, jsc, ojsc, cjsc, ad, a d, dd, d d, uab, sia, ou",
    ),
    (Place::Edges, "ооо, оао, зао, пао, ао, тов, пат, ат"),
    (
        Place::End,
        "sro, doo, rt, bt, s k a, k s, v o s, t a s, ae, a e, αε, α ε, επε, sti, d n o",
    ),
    // Asia
    (
        Place::Anywhere,
        "sdn bhd, berhad, bhd, tbk, kabushiki kaisha, godo kaisha, yugen kaisha",
    ),
    (Place::Edges, "k k, kk, pt, y k, perseroan terbatas"),
    (
        Place::Anywhere,
        "株 式 会 社, 株 式 會 社, 有 限 会 社, 合 同 会 社, 合 資 会 社, 合 名 会 社, 股 份 有 限 公 司, 有 限 公 司",
    ),
    (
        Place::Anywhere,
        "有 限 责 任 公 司, 有 限 責 任 公 司, 股 份 公 司, 控 股 有 限 公 司, 集 团 有 限 公 司",
    ),
    (Place::Anywhere, "주식회사, 유한회사"),
    (Place::Edges, "株, 有, 주, 유"),
    // Thai and Hebrew
    (Place::Anywhere, "บริษัท, จำกัด, มหาชน"),
    (Place::End, "בע מ, בעמ"),
];

/// The words of a form, and where it is one.
type Form = (Vec<String>, Place);

/// The forms, by their first word, longest first.
static BY_FIRST_WORD: LazyLock<HashMap<String, Vec<Form>>> = LazyLock::new(|| {
    let mut forms: HashMap<String, Vec<Form>> = HashMap::new();
    for (place, row) in FORMS {
        for form in row.split(',') {
            let words = super::words::words(form)
                .into_iter()
                .map(|word| word.plain)
                .collect::<Vec<_>>();
            if let Some(first) = words.first() {
                forms.entry(first.clone()).or_default().push((words, *place));
            }
        }
    }
    for rows in forms.values_mut() {
        rows.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
    }
    forms
});

/// The words of a name without its legal forms; all of them if there are no others.
#[must_use]
pub fn without_legal_forms(words: &[Word]) -> Vec<Word> {
    let rest = strip_legal_forms(words);
    if rest.is_empty() { words.to_vec() } else { rest }
}

/// The words of a name without its legal forms; none if there are no others.
#[must_use]
pub fn strip_legal_forms(words: &[Word]) -> Vec<Word> {
    let mut is_form = vec![false; words.len()];
    let mut start = 0;
    let mut end = words.len();
    loop {
        let before = (start, end);
        for at in start..end {
            if let Some(length) = form_at(words, at, start, end) {
                is_form[at..at + length].fill(true);
            }
        }
        while start < end && is_form[start] {
            start += 1;
        }
        while start < end && is_form[end - 1] {
            end -= 1;
        }
        // What stood before a form at the end now stands at the end itself: `GmbH & Co. KG`.
        if (start, end) == before {
            break;
        }
    }
    let mut previous_gone = true;
    let kept = words.iter().zip(is_form).filter_map(|(word, gone)| {
        // A character whose predecessor is gone begins a run.
        let continues = word.continues && !previous_gone;
        previous_gone = gone;
        (!gone).then(|| Word {
            continues,
            ..word.clone()
        })
    });
    kept.collect()
}

/// Length of the longest form that stands at a position of the words from `start` to `end`.
fn form_at(words: &[Word], at: usize, start: usize, end: usize) -> Option<usize> {
    let forms = BY_FIRST_WORD.get(&words[at].plain)?;
    forms.iter().find_map(|(form, place)| {
        let behind = at + form.len();
        let stands = behind <= end
            && form
                .iter()
                .zip(&words[at..])
                .all(|(form, word)| *form == word.plain);
        let counts = match place {
            Place::Anywhere => true,
            Place::NotFirst => at > start,
            Place::Edges => at == start || behind == end,
            Place::End => behind == end,
        };
        (stands && counts).then_some(form.len())
    })
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;

    fn rest(name: &str) -> String {
        let words = without_legal_forms(&words(name));
        words
            .into_iter()
            .map(|word| word.plain)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn legal_forms_are_ignored() {
        for (name, expected) in [
            ("Acme Inc", "acme"),
            ("Acme, Inc.", "acme"),
            ("ACME INCORPORATED", "acme"),
            ("Acme L.L.C.", "acme"),
            ("Acme Co., Ltd.", "acme"),
            ("Youon Technology Co.,Ltd", "youon technology"),
            ("Ford Motor Company", "ford motor"),
            ("Singapore Post Limited", "singapore post"),
            (
                "Southern Concrete Pile Public Company Limited",
                "southern concrete pile",
            ),
            ("Acme GmbH & Co. KG", "acme"),
            ("Merck KGaA", "merck"),
            ("Fresenius SE & Co. KGaA", "fresenius"),
            ("SAP SE", "sap"),
            ("A.S. Création Tapeten AG", "creation tapeten"),
            ("Nestlé S.A.", "nestle"),
            ("S.A. D'Ieteren N.V.", "d ieteren"),
            ("Grupo Bimbo, S.A.B. de C.V.", "grupo bimbo"),
            ("Enel S.p.A.", "enel"),
            ("Bending Spoons S.p.A", "bending spoons"),
            ("Philips N.V.", "philips"),
            ("AB Industrivärden (publ)", "industrivarden"),
            ("AB Volvo", "volvo"),
            ("Nokia Oyj", "nokia"),
            ("Equinor ASA", "equinor"),
            ("A/S Storebrand", "storebrand"),
            ("Acme Sp. z o.o.", "acme"),
            ("Škoda Auto a.s.", "skoda auto"),
            ("Acme spol. s r.o.", "acme"),
            ("OTP Bank Nyrt.", "otp bank"),
            ("Türk Hava Yolları A.Ş.", "turk hava yollari"),
            ("ABIVAX Société Anonyme", "abivax"),
            ("PT Bank Central Asia Tbk", "bank central asia"),
            ("Maybank Berhad", "maybank"),
            ("Toyota K.K.", "toyota"),
            ("トヨタ自動車株式会社", "ト ヨ タ 自 動 車"),
            ("株式会社日立製作所", "日 立 製 作 所"),
            ("㈱日立", "日 立"),
            ("腾讯控股有限公司", "腾 讯"),
            ("주식회사 카카오", "카카오"),
            ("(주)카카오", "카카오"),
            ("ПАО Газпром", "газпром"),
            ("Acme Ltd. (UK)", "acme uk"),
            ("Petrobras S/A", "petrobras"),
            ("Magazine Luiza Ltda", "magazine luiza"),
        ] {
            assert_eq!(rest(name), expected, "{name}");
        }
    }

    #[test]
    fn words_that_only_look_like_one_stay() {
        for (name, expected) in [
            (
                "AG Mortgage Investment Trust, Inc.",
                "ag mortgage investment trust",
            ),
            ("Co-Diagnostics, Inc.", "co diagnostics"),
            ("SE Asia Fund", "se asia fund"),
            ("Limited Brands", "limited brands"),
            ("Corporation Service Company", "corporation service"),
            ("Incorporated Research Labs", "incorporated research labs"),
            ("The As If Show", "the as if show"),
            ("Spa Resorts", "spa resorts"),
        ] {
            assert_eq!(rest(name), expected, "{name}");
        }
    }

    #[test]
    fn a_name_of_legal_forms_alone_is_a_name() {
        for (name, expected) in [
            ("Inc.", "inc"),
            ("Co., Ltd.", "co ltd"),
            ("AG", "ag"),
            ("SE SA", "se sa"),
        ] {
            assert_eq!(rest(name), expected, "{name}");
        }
        assert_eq!(rest(""), "");
    }

    #[test]
    fn a_run_begins_behind_what_was_dropped() {
        let words = without_legal_forms(&words("株式会社日立"));
        assert!(words.iter().map(|word| word.continues).eq([false, true]));
    }
}
