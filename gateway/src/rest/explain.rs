//! How a search would be understood: each filter after normalisation, places with what they may mean, order, page and cost.
//! Nothing is searched and nothing charged; it counts against the rate as a search does.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use proto::search::v1::{
    AlternativeExplanation, ExplainCompaniesRequest, ExplainPeopleRequest, Explanation, FilterExplanation,
    PlaceExplanation, PlaceType, SearchQuery, TermExplanation, TermMatch,
};
use proto::search_query::{RecordKind, field_names, is_blank};
use serde::Serialize;
use tonic::Status;
use utoipa::ToSchema;

use super::search::{AppliedSort, PagingMode, operation};
use super::{Gateway, admission};
use crate::body::search_body;
use crate::error::ApiError;
use crate::upstream::Deadline;

/// An explanation's answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExplainResponse {
    /// Always `true`.
    #[schema(example = true)]
    pub success: bool,
    /// How the search would be understood.
    pub data: ExplainData,
}

/// How a search would be understood.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainData {
    /// The filters that are given, in the order of the specification; a record has to meet all of them.
    pub filters: Vec<ExplainedFilter>,
    /// The order that would be applied.
    pub sort: AppliedSort,
    /// Number of the page, from 1.
    #[schema(example = 1)]
    pub page: i64,
    /// Records a page.
    #[schema(example = 25)]
    pub limit: i64,
    /// How it would be paged.
    pub pagination_mode: PagingMode,
    /// Names of the fields that rows would have.
    pub fields: Vec<String>,
    /// Credits that the search would cost.
    #[schema(example = 1)]
    pub cost: i64,
}

/// A filter as it is understood.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedFilter {
    /// Its name.
    #[schema(example = "businessType")]
    pub filter: String,
    /// Where it looks; what is told of a person's company begins with `company.`, what is told of a company's people with
    /// `people.`.
    pub fields: Vec<String>,
    /// Records that meet it are left out.
    pub excludes: bool,
    /// Its alternatives, one of which has to hold.
    pub any_of: Vec<ExplainedAlternative>,
}

/// An alternative of a filter as it is understood.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedAlternative {
    /// What was written.
    #[schema(example = "gyms")]
    pub text: String,
    /// What has to hold of it, within one value of one of the fields.
    pub all_of: Vec<ExplainedTerm>,
}

/// Something that a filter looks for.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedTerm {
    /// How it is compared.
    #[serde(rename = "match")]
    pub compared: Comparison,
    /// What is compared, normalised.
    #[schema(example = "gym")]
    pub value: String,
    /// Other forms that are as good.
    pub other_forms: Vec<String>,
    /// The places that may be meant; only where `match` is `place`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub places: Option<ExplainedPlaces>,
}

/// How a term is compared.
///
/// - `word`: English singular and plural alike; `exactWord`: as it is; `phrase`: words that follow each other, as they are;
///   `wholeValue`: the whole value, word for word.
/// - `place`: a place of the gazetteer, or these words in a place that it does not know.
/// - `domain`: the registrable domain; `host`: a host or its subdomains; `hostAndPath`: the same with a path that begins so;
///   `hostLabel`: a label of a host that begins so.
/// - `emailAddress`; `emailDomain`: the host of an address.
/// - `phonePrefix`: first characters of a number, international with `+`, else as written in its country.
/// - `present`: there is a value. `from`, `to`: this day or time, or a later, an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TermMatch)]
#[expect(
    missing_docs,
    reason = "each is told above, where readers of the interface see it"
)]
pub enum Comparison {
    Word,
    ExactWord,
    Phrase,
    WholeValue,
    Place,
    Domain,
    Host,
    HostAndPath,
    HostLabel,
    EmailAddress,
    EmailDomain,
    PhonePrefix,
    Present,
    From,
    To,
}

/// The places that a part of a location may mean, any of which will do.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExplainedPlaces {
    /// Those that the other parts leave come first.
    pub candidates: Vec<ExplainedPlace>,
    /// How many more there are.
    #[schema(example = 0)]
    pub more: i64,
}

/// A place.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedPlace {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: KindOfPlace,
    /// Its English name.
    #[schema(example = "Springfield")]
    pub name: String,
    /// Its region, if it is a city and its region is known.
    #[schema(required = true, example = "Illinois")]
    pub region: Option<String>,
    /// Its country.
    #[schema(example = "United States")]
    pub country: String,
    /// ISO 3166-1 alpha-2 code of the country.
    #[schema(example = "US")]
    pub country_code: String,
    /// Whether the other parts of the alternative leave it: false for Springfield in Ohio in `Springfield, IL`.
    pub is_left: bool,
}

/// What a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PlaceType)]
pub enum KindOfPlace {
    /// A country.
    Country,
    /// A region of first order: state, province, prefecture.
    Region,
    /// A city, town or village.
    City,
}

/// Explains a search for people.
pub async fn people(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    explain(&gateway, RecordKind::Person, request).await
}

/// Explains a search for companies.
pub async fn companies(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    explain(&gateway, RecordKind::Company, request).await
}

async fn explain(gateway: &Gateway, kind: RecordKind, request: Request) -> Response {
    let deadline = gateway.deadline();
    let (head, body) = request.into_parts();
    admission::by_key(gateway, &head, deadline, async |_| {
        let bytes = gateway.bodies.read(&head.headers, body, deadline).await?;
        let query = search_body::parse(&bytes, kind).map_err(ApiError::invalid)?;
        let fields = fields(kind, &query);
        let explanation = explanation(gateway, kind, query, deadline).await?;
        let cost = gateway.credits.cost(operation(kind));
        let data = explanation.and_then(|explanation| data(kind, explanation, fields, cost));
        let data =
            data.ok_or_else(|| Status::internal("the search service's explanation is not complete"))?;
        Ok(Json(ExplainResponse { success: true, data }).into_response())
    })
    .await
}

async fn explanation(
    gateway: &Gateway,
    kind: RecordKind,
    query: SearchQuery,
    deadline: Deadline,
) -> Result<Option<Explanation>, ApiError> {
    let service = gateway.upstreams.search.enter()?;
    let query = Some(query);
    Ok(match kind {
        RecordKind::Company => {
            let request = ExplainCompaniesRequest { query };
            let answer = service.call_repeatable(deadline, request, async |mut client, request| {
                client.explain_companies(request).await
            });
            answer.await?.explanation
        }
        RecordKind::Person => {
            let request = ExplainPeopleRequest { query };
            let answer = service.call_repeatable(deadline, request, async |mut client, request| {
                client.explain_people(request).await
            });
            answer.await?.explanation
        }
    })
}

/// Those asked for, each once and the id with them; all if none is.
fn fields(kind: RecordKind, query: &SearchQuery) -> Vec<String> {
    let asked = |name: &str| name == "id" || query.fields.iter().any(|asked| asked == name);
    let all = query.fields.iter().all(|name| is_blank(name));
    let names = field_names(kind)
        .iter()
        .filter(|name| if all { !name.contains('.') } else { asked(name) });
    names.map(|name| (*name).to_owned()).collect()
}

/// None if the explanation breaks the search service's contract.
fn data(kind: RecordKind, explanation: Explanation, fields: Vec<String>, cost: i64) -> Option<ExplainData> {
    Some(ExplainData {
        pagination_mode: PagingMode::of(explanation.pagination_mode())?,
        filters: explanation
            .filters
            .into_iter()
            .map(filter)
            .collect::<Option<_>>()?,
        sort: AppliedSort::of(kind, explanation.sort?)?,
        page: explanation.page,
        limit: explanation.limit,
        fields,
        cost,
    })
}

fn filter(filter: FilterExplanation) -> Option<ExplainedFilter> {
    let alternative = |alternative: AlternativeExplanation| {
        Some(ExplainedAlternative {
            text: alternative.text,
            all_of: alternative.all_of.into_iter().map(term).collect::<Option<_>>()?,
        })
    };
    Some(ExplainedFilter {
        filter: filter.filter,
        fields: filter.fields,
        excludes: filter.excludes,
        any_of: filter
            .any_of
            .into_iter()
            .map(alternative)
            .collect::<Option<_>>()?,
    })
}

fn term(term: TermExplanation) -> Option<ExplainedTerm> {
    let compared = comparison(term.r#match())?;
    let places = (compared == Comparison::Place).then_some(term.places);
    let places = places.map(|places| {
        Some(ExplainedPlaces {
            candidates: places.into_iter().map(place).collect::<Option<_>>()?,
            more: term.more_places,
        })
    });
    Some(ExplainedTerm {
        compared,
        value: term.value,
        other_forms: term.other_forms,
        places: match places {
            Some(places) => Some(places?),
            None => None,
        },
    })
}

const fn comparison(compared: TermMatch) -> Option<Comparison> {
    Some(match compared {
        TermMatch::Unspecified => return None,
        TermMatch::Word => Comparison::Word,
        TermMatch::ExactWord => Comparison::ExactWord,
        TermMatch::Phrase => Comparison::Phrase,
        TermMatch::WholeValue => Comparison::WholeValue,
        TermMatch::Place => Comparison::Place,
        TermMatch::Domain => Comparison::Domain,
        TermMatch::Host => Comparison::Host,
        TermMatch::HostAndPath => Comparison::HostAndPath,
        TermMatch::HostLabel => Comparison::HostLabel,
        TermMatch::EmailAddress => Comparison::EmailAddress,
        TermMatch::EmailDomain => Comparison::EmailDomain,
        TermMatch::PhonePrefix => Comparison::PhonePrefix,
        TermMatch::Present => Comparison::Present,
        TermMatch::From => Comparison::From,
        TermMatch::To => Comparison::To,
    })
}

fn place(place: PlaceExplanation) -> Option<ExplainedPlace> {
    let kind = match place.r#type() {
        PlaceType::Unspecified => return None,
        PlaceType::Country => KindOfPlace::Country,
        PlaceType::Region => KindOfPlace::Region,
        PlaceType::City => KindOfPlace::City,
    };
    Some(ExplainedPlace {
        kind,
        name: place.name,
        region: place.region,
        country: place.country,
        country_code: place.country_code,
        is_left: place.is_left,
    })
}
