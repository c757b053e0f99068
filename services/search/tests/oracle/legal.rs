//! Legal forms of companies' names, as they are usually written.

use std::sync::LazyLock;

use crate::text::{Word, words};

/// Where in a name it is one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Anywhere,
    /// But not as the first word.
    Behind,
    First,
    Last,
}

use Stands::{Anywhere, Behind, First, Last};

/// The forms, separated by semicolons.
const FORMS: &[(&[Stands], &str)] = &[
    (
        &[Anywhere],
        "Inc.; LLC; L.L.C.; LLP; L.L.P.; LLLP; PLLC; PLC; P.L.C.; Ltd.; Pty Ltd; Pte. Ltd.; Pvt. Ltd.; Co., Ltd.; Ltée; \
         Limited Liability Company; Limited Liability Partnership; Public Limited Company; Public Company Limited; PCL; \
         Private Limited; Pty Limited; Pte Limited; Pvt Limited; Company Limited; Co. Limited; \
         Designated Activity Company; Unlimited Company; PJSC; P.J.S.C.; Joint Stock Company; \
         Public Joint Stock Company; Closed Joint Stock Company; Open Joint Stock Company",
    ),
    (&[Behind], "Limited; Incorporated; Corp.; Corporation"),
    (
        &[Last],
        "Co.; Company; LP; L.P.; PC; P.C.; DAC; Pty; Pte; Pvt; Limited Partnership",
    ),
    (
        &[Anywhere],
        "GmbH; G.m.b.H.; KGaA; mbH; OHG; Gesellschaft mit beschränkter Haftung; Aktiengesellschaft; GesmbH; \
         Ges.m.b.H.; Kommanditgesellschaft; Kommanditgesellschaft auf Aktien",
    ),
    (
        &[Last],
        "AG; SE; KG; UG; UG (haftungsbeschränkt); e.V.; eV; e.G.; eG; e.K.; Societas Europaea",
    ),
    (
        &[Anywhere],
        "S.A. de C.V.; SA de CV; S.A.B. de C.V.; SAB de CV; S. de R.L. de C.V.; S. de RL de CV; SAPI de CV; \
         S.A.P.I. de C.V.; Société Anonyme; Sociedad Anónima; Sociedade Anônima; Società per Azioni; \
         Società a responsabilità limitata; Sociedad Limitada; Société par actions simplifiée; \
         Société à responsabilité limitée; Ltda.; EIRELI; SARL; S.A.R.L.; S.p.A.; S.r.l.; SapA; S.a.p.A.",
    ),
    (&[First, Last], "SA; S.A."),
    (
        &[Last],
        "SpA; Srl; SAS; S.A.S.; SASU; EURL; SNC; S.N.C.; SCA; S.C.A.; S.L.; SL; S.L.U.; SLU; SAB; S.A.B.; SGPS; S.G.P.S.; \
         SAU; S.A.U.; S.A.C.; S.A.A.; SAA; S.A.S.U.; ScpA; E.S.P.; ESP; SAOG; S.A.O.G.; SAOC; KSCP; K.S.C.P.; KSCC; \
         K.S.C.C.; K.S.C.; KSC; Q.P.S.C.; QPSC; Q.S.C.; P.S.C.; PSC; BSC; B.S.C.; Société en commandite par actions",
    ),
    (
        &[Anywhere],
        "Besloten Vennootschap; Naamloze Vennootschap; BVBA; CVBA",
    ),
    (&[First, Last], "NV; N.V.; BV; B.V."),
    (&[Last], "C.V.; VOF"),
    (
        &[Anywhere],
        "Aktiebolag; Aktiebolaget; Aktieselskab; Anpartsselskab; Aksjeselskap; Osakeyhtiö; Julkinen osakeyhtiö",
    ),
    (&[First, Last], "AB; AS; A/S; Oy; Oyj"),
    (
        &[Last],
        "ASA; ApS; Abp; AB (publ); (publ); hf; h.f.; ehf; ohf; KS; IVS; O.Y.; Oy Ab",
    ),
    (
        &[Anywhere],
        "Sp. z o.o.; Spółka z o.o.; Spółka Akcyjna; Spółka z ograniczoną odpowiedzialnością; s.r.o.; spol. s r.o.; d.o.o.; \
         Zrt.; Nyrt.; Kft.; akciová spoločnosť; akciová společnost; Anonim Şirketi; Anonim Şirket; Limited Şirketi; \
         Ltd. Şti.; EAD; OOD; EOOD; TOV; PAT; PrAT",
    ),
    (
        &[First, Last],
        "AO; OAO; ZAO; PAO; OOO; JSC; OJSC; CJSC; AD; A.D.; DD; d.d.; UAB; SIA; OÜ; ООО; ОАО; ЗАО; ПАО; АО; ТОВ; ПАТ; АТ",
    ),
    (
        &[Last],
        "sro; doo; Rt.; Bt.; S.K.A.; k.s.; v.o.s.; T.A.Ş.; AE; A.E.; ΑΕ; Α.Ε.; ΕΠΕ; Şti.; d.n.o.",
    ),
    (
        &[Anywhere],
        "Sdn. Bhd.; Berhad; Bhd.; Tbk.; Kabushiki Kaisha; Godo Kaisha; Yugen Kaisha; 株式会社; 株式會社; 有限会社; 合同会社; \
         合資会社; 合名会社; 股份有限公司; 有限公司; 有限责任公司; 有限責任公司; 股份公司; 控股有限公司; 集团有限公司; 주식회사; \
         유한회사; บริษัท; จำกัด; มหาชน",
    ),
    (
        &[First, Last],
        "K.K.; KK; PT; Y.K.; Perseroan Terbatas; 株; 有; 주; 유",
    ),
    (&[Last], "בע\"מ; בעמ"),
];

/// The words of each form, the longest first, and where it stands.
static BY_LENGTH: LazyLock<Vec<(Vec<Word>, &[Stands])>> = LazyLock::new(|| {
    let mut forms = FORMS
        .iter()
        .flat_map(|(stands, row)| row.split(';').map(|form| (words(form), *stands)))
        .collect::<Vec<_>>();
    forms.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
    forms
});

/// The words of a name that are not part of a legal form.
pub(crate) fn without_forms(name: &[Word]) -> Vec<Word> {
    let longest = |from: usize, to: usize, at: &dyn Fn(usize, &[Stands]) -> Option<usize>| {
        BY_LENGTH.iter().find_map(|(form, stands)| {
            let start = at(form.len(), stands)?;
            let stands_there = start >= from
                && start + form.len() <= to
                && form
                    .iter()
                    .zip(&name[start..])
                    .all(|(one, other)| one.plain == other.plain);
            stands_there.then_some(form.len())
        })
    };
    let (mut start, mut end) = (0, name.len());
    loop {
        let at_end = longest(start, end, &|length, stands| {
            let at = end.checked_sub(length)?;
            (stands != [Behind] || at > start).then_some(at)
        });
        let at_start = || {
            longest(start, end, &|_, stands| {
                (stands.contains(&Anywhere) || stands.contains(&First)).then_some(start)
            })
        };
        if let Some(length) = at_end {
            end -= length;
        } else if let Some(length) = at_start() {
            start += length;
        } else {
            break;
        }
    }
    let mut rest: Vec<Word> = Vec::new();
    let mut broken = true;
    let mut at = start;
    while at < end {
        let within = longest(start, end, &|_, stands| {
            (stands.contains(&Anywhere) || stands == [Behind] && at > start).then_some(at)
        });
        if let Some(length) = within {
            at += length;
            broken = true;
        } else {
            let word = &name[at];
            rest.push(Word {
                glued: word.glued && !broken,
                ..word.clone()
            });
            broken = false;
            at += 1;
        }
    }
    rest
}

/// The words that a name is compared by: without its legal forms, unless nothing else is left.
pub(crate) fn name_words(name: &str) -> Vec<Word> {
    let all = words(name);
    let rest = without_forms(&all);
    if rest.is_empty() { all } else { rest }
}
