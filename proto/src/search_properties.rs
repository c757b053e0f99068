//! The properties of a search's body: one table, by which they are named, parsed, held against their rules, documented,
//! offered as tools and as flags of `dsctl`, and made up by the tests.

use crate::search::v1::{NewBusiness, SearchQuery, SortDirection, WebsiteStatus};
use crate::search_query::{DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGED_RECORDS};

/// A property of a search's body.
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// What may stand there, and where it goes.
    pub kind: Kind,
    /// What it means.
    pub doc: &'static str,
    /// A value of it, as JSON.
    pub example: &'static str,
}

impl Property {
    /// Whether it says which records are found, and not in which order or how many are shown.
    #[must_use]
    pub const fn is_filter(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Integer { .. } | Kind::Cursor | Kind::Sort | Kind::Fields
        )
    }
}

/// What may stand in a property.
pub enum Kind {
    /// A text.
    Text(Text),
    /// A day, `YYYY-MM-DD`.
    Date(fn(&mut SearchQuery) -> &mut String),
    /// A list of texts to search for, each an alternative.
    Texts(fn(&mut SearchQuery) -> &mut Vec<String>),
    /// One of some words, each with its number in the message.
    Choice(fn(&mut SearchQuery) -> &mut i32, &'static [(&'static str, i32)]),
    /// An integer from 1.
    Integer {
        /// Where it goes.
        slot: fn(&mut SearchQuery) -> &mut Option<i64>,
        /// Largest value, whatever else is asked for.
        maximum: i64,
        /// Value when it is left out.
        default: i64,
    },
    /// A cursor or null.
    Cursor,
    /// What to sort by.
    Sort,
    /// Names of fields to return.
    Fields,
}

/// A text: where it goes, and what its alternatives must be.
pub struct Text {
    /// Where it goes.
    pub slot: fn(&mut SearchQuery) -> &mut String,
    /// What its alternatives must be.
    pub rule: TextRule,
}

/// What the alternatives of a text must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRule {
    /// Words, in quotes exactly these.
    Keywords,
    /// Places; `;` separates them, since a comma is a part of one.
    Places,
    /// Words of a company's name. It has no alternatives: the comma in `Acme, Inc.` is one of its characters.
    CompanyName,
    /// URLs, hosts or the first letters of a host's label.
    Website,
    /// Domains.
    Domain,
    /// E-mail addresses or their domains.
    Email,
    /// Telephone numbers, or how they begin.
    Phone,
}

/// The words of `websiteStatus`.
const WEBSITE_STATUS: &[(&str, i32)] = &[
    ("any", WebsiteStatus::Any as i32),
    ("has", WebsiteStatus::Has as i32),
    ("no", WebsiteStatus::No as i32),
];

/// The words of `newBusiness`.
const NEW_BUSINESS: &[(&str, i32)] = &[
    ("any", NewBusiness::Any as i32),
    ("yes", NewBusiness::Yes as i32),
    ("no", NewBusiness::No as i32),
];

/// The words of `sort.dir`.
pub const DIRECTIONS: &[(&str, i32)] = &[
    ("asc", SortDirection::Asc as i32),
    ("desc", SortDirection::Desc as i32),
];

const fn text(slot: fn(&mut SearchQuery) -> &mut String, rule: TextRule) -> Kind {
    Kind::Text(Text { slot, rule })
}

/// Every property, in the order of the specification.
pub const PROPERTIES: [Property; 20] = [
    Property {
        name: "businessType",
        kind: text(|query| &mut query.business_type, TextRule::Keywords),
        doc: "Keywords over the company's business types and tags (of a person: its company's). A comma separates \
              alternatives; within one, all words have to occur in one value, in any order, singular and plural \
              alike; \"in quotes\" stands for exactly these words in this order.",
        example: "\"software, \\\"computer programming\\\"\"",
    },
    Property {
        name: "location",
        kind: text(|query| &mut query.location, TextRule::Places),
        doc: "Places: `;` separates alternatives, comma parts narrow. A company matches by its own place or by the \
              place of at least one of its people (`locationMatch` tells which), a person by its own place, or its \
              company's if it has none.",
        example: "\"Springfield, IL, USA; Munich\"",
    },
    Property {
        name: "website",
        kind: text(|query| &mut query.website, TextRule::Website),
        doc: "URLs or hosts, comma-separated: the host or its subdomains match, a path as a prefix too. A word \
              without a dot matches hosts with a label that starts with it.",
        example: "\"https://www.example.com/shop\"",
    },
    Property {
        name: "websiteStatus",
        kind: Kind::Choice(|query| &mut query.website_status, WEBSITE_STATUS),
        doc: "Whether the company has a website; `any` is no filter.",
        example: "\"has\"",
    },
    Property {
        name: "companyName",
        kind: text(|query| &mut query.company_name, TextRule::CompanyName),
        doc: "Words of the company's name, in any order; legal forms (Inc, Ltd, GmbH, ...) do not count. In quotes: \
              the whole name.",
        example: "\"Acme Tools\"",
    },
    Property {
        name: "companyDomain",
        kind: text(|query| &mut query.company_domain, TextRule::Domain),
        doc: "Domains, comma-separated, compared by the registrable domain.",
        example: "\"example.com\"",
    },
    Property {
        name: "businessEmail",
        kind: text(|query| &mut query.business_email, TextRule::Email),
        doc: "E-mail addresses of the company, or their domains with or without `@`, comma-separated. A person's own \
              address counts only where this account has revealed it.",
        example: "\"info@example.com\"",
    },
    Property {
        name: "businessPhone",
        kind: text(|query| &mut query.business_phone, TextRule::Phone),
        doc: "First digits of the company's telephone number in any spelling, at least 4; comma-separated.",
        example: "\"+44 20 7946\"",
    },
    Property {
        name: "descriptionKeywords",
        kind: text(|query| &mut query.description_keywords, TextRule::Keywords),
        doc: "Keywords over the company's description, as `businessType`.",
        example: "\"cloud hosting\"",
    },
    Property {
        name: "jobTitles",
        kind: Kind::Texts(|query| &mut query.job_titles),
        doc: "Job titles, each item an alternative whose words all occur in any order (a comma within an item only separates \
              words), quotes as in `businessType`; usual short forms are equal (VP, \
              CEO, CTO, ...). Of companies: those with at least one person of such a title.",
        example: "[\"CTO\", \"head of engineering\"]",
    },
    Property {
        name: "excludeKeywords",
        kind: text(|query| &mut query.exclude_keywords, TextRule::Keywords),
        doc: "Keywords, as `businessType`; drops records where one occurs in the company's name, business types, tags \
              or description, or in the person's job title.",
        example: "\"staffing, recruiting\"",
    },
    Property {
        name: "searchTags",
        kind: Kind::Texts(|query| &mut query.search_tags),
        doc: "Tags of the company, each compared as a whole; any of them is enough.",
        example: "[\"b2b\"]",
    },
    Property {
        name: "newBusiness",
        kind: Kind::Choice(|query| &mut query.new_business, NEW_BUSINESS),
        doc: "Whether the company was founded within the last 365 days: `no` is all others, those of unknown age too; \
              `any` is no filter.",
        example: "\"any\"",
    },
    Property {
        name: "infoUpdatedFrom",
        kind: Kind::Date(|query| &mut query.info_updated_from),
        doc: "First day (UTC) on which the record may have been updated, years 1900-2100.",
        example: "\"2026-01-01\"",
    },
    Property {
        name: "infoUpdatedTo",
        kind: Kind::Date(|query| &mut query.info_updated_to),
        doc: "Last day (UTC) on which the record may have been updated; the whole day counts.",
        example: "\"2026-12-31\"",
    },
    Property {
        name: "page",
        kind: Kind::Integer {
            slot: |query| &mut query.page,
            maximum: MAX_PAGED_RECORDS,
            default: 1,
        },
        doc: "Page, from 1; `page` x `limit` is at most 10,000. To go further, use `cursor`. Above 1 it excludes a \
              cursor.",
        example: "1",
    },
    Property {
        name: "limit",
        kind: Kind::Integer {
            slot: |query| &mut query.limit,
            maximum: MAX_LIMIT,
            default: DEFAULT_LIMIT,
        },
        doc: "Records a page.",
        example: "25",
    },
    Property {
        name: "cursor",
        kind: Kind::Cursor,
        doc: "`null` starts paging by cursor, `data.nextCursor` of the page before goes on. A cursor belongs to its \
              filters and its sort; `limit` and `fields` may change.",
        example: "null",
    },
    Property {
        name: "sort",
        kind: Kind::Sort,
        doc: "What to sort by. Without it: `relevance` if one of `companyName`, `businessType`, \
              `descriptionKeywords`, `jobTitles` is given, else `infoUpdatedAt` descending.",
        example: "{\"field\": \"infoUpdatedAt\", \"dir\": \"desc\"}",
    },
    Property {
        name: "fields",
        kind: Kind::Fields,
        doc: "Names of the fields to return, in any order, paths too (`location.city`); `id` always comes. Without \
              it: all.",
        example: "[\"id\", \"location.city\"]",
    },
];
