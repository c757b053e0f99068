//! What the beginning of a text may become, among all that records have. Free of charge; it counts against the rate as a
//! search does.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use proto::search::v1;
use proto::suggestions::{MAX_LIMIT, VOCABULARIES, check};
use serde::Serialize;
use utoipa::ToSchema;

use super::query_string::QueryString;
use super::{Gateway, admission};
use crate::error::ApiError;
use crate::upstream::Deadline;

/// The parameter of the path with the vocabulary.
pub const VOCABULARY: &str = "vocabulary";

/// The parameter with what has been typed.
pub const TYPED: &str = "q";

/// The parameter with the number of suggestions.
pub const LIMIT: &str = "limit";

/// Suggestions.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuggestResponse {
    /// Always `true`.
    #[schema(example = true)]
    pub success: bool,
    /// What is suggested.
    pub data: SuggestData,
}

/// What is suggested.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuggestData {
    /// The best first.
    pub suggestions: Vec<Suggestion>,
}

/// A value that records have.
#[derive(Debug, Serialize, ToSchema)]
pub struct Suggestion {
    /// As most records write it; a place by its English names.
    #[schema(example = "Head of Marketing")]
    pub value: String,
    /// What a search's filter is to be given: `location` for places, `businessType` for business types, an item of `jobTitles`
    /// for job titles, an item of `searchTags` for tags.
    #[schema(example = "\"Head of Marketing\"")]
    pub filter: String,
    /// Companies that a search with this filter alone finds: its `total`.
    #[schema(example = 7)]
    pub companies: i64,
    /// People whom a search with this filter alone finds: its `total`.
    #[schema(example = 8)]
    pub people: i64,
}

/// Suggests values of a vocabulary.
pub async fn suggest(
    State(gateway): State<Arc<Gateway>>,
    vocabulary: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let deadline = gateway.deadline();
    let (head, _) = request.into_parts();
    admission::by_key(&gateway, &head, deadline, async |_| {
        // A name that is no text is no vocabulary either.
        let vocabulary = vocabulary.map(|Path(name)| name).unwrap_or_default();
        let request = read(&vocabulary, head.uri.query())?;
        let suggestions = ask(&gateway, request, deadline).await?;
        let data = SuggestData { suggestions };
        Ok(Json(SuggestResponse { success: true, data }).into_response())
    })
    .await
}

fn read(vocabulary: &str, query: Option<&str>) -> Result<v1::SuggestRequest, ApiError> {
    let known = VOCABULARIES.iter().find(|(name, _)| *name == vocabulary);
    let vocabulary = known.map_or(v1::Vocabulary::Unspecified, |(_, vocabulary)| *vocabulary);
    let mut query = QueryString::parse(query, &[TYPED, LIMIT]);
    let request = v1::SuggestRequest {
        vocabulary: vocabulary.into(),
        q: query.text(TYPED).unwrap_or_default(),
        limit: query.integer(LIMIT, 1..=MAX_LIMIT),
    };
    for violation in check(&request) {
        query.refuse(violation);
    }
    query.check()?;
    Ok(request)
}

async fn ask(
    gateway: &Gateway,
    request: v1::SuggestRequest,
    deadline: Deadline,
) -> Result<Vec<Suggestion>, ApiError> {
    let service = gateway.upstreams.search.enter()?;
    let answer = service.call_repeatable(deadline, request, async |mut client, request| {
        client.suggest(request).await
    });
    let suggestions = answer.await?.suggestions.into_iter();
    let suggestions = suggestions.map(|suggestion| Suggestion {
        value: suggestion.value,
        filter: suggestion.filter,
        companies: suggestion.companies,
        people: suggestion.people,
    });
    Ok(suggestions.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(vocabulary: &str, query: &str) -> Vec<String> {
        let told = read(vocabulary, Some(query)).unwrap_err().body(String::new());
        let issues = told.issues.iter();
        issues
            .map(|issue| format!("{:?} {}", issue.path, issue.code))
            .collect()
    }

    #[test]
    fn a_request_is_read_from_path_and_query() {
        let request = read("jobTitles", Some("q=VP+S%C3%A3%20&limit=3")).unwrap();
        let expected = v1::SuggestRequest {
            vocabulary: v1::Vocabulary::JobTitles.into(),
            q: "VP Sã".to_owned(),
            limit: Some(3),
        };
        assert_eq!(request, expected);
        assert_eq!(read("tags", Some("q=a")).unwrap().limit, None);
    }

    #[test]
    fn each_parameter_is_told_of_once() {
        assert_eq!(
            issues("titles", "limit=0&Q=a"),
            [
                "[Name(\"Q\")] unrecognized_key",
                "[Name(\"limit\")] too_small",
                "[Name(\"vocabulary\")] invalid_value",
                "[Name(\"q\")] missing",
            ]
        );
        assert_eq!(issues("tags", "q=a&q=b"), ["[Name(\"q\")] duplicate_key"]);
        assert_eq!(issues("tags", "q=%00"), ["[Name(\"q\")] invalid_value"]);
        assert_eq!(issues("tags", "q=!"), ["[Name(\"q\")] invalid_value"]);
    }
}
