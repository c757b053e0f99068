//! Who has revealed the address of whom.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use proto::account::AccountId;
use runtime::database::sqlstate;
use runtime::statement::{Statement as _, acquire, begin};
use uuid::Uuid;

use super::{Store, StoreError};

/// A reveal, as it is noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reveal {
    /// The address; none if none is known.
    pub email: Option<String>,
    /// When the account first revealed it.
    pub revealed_at: DateTime<Utc>,
}

impl Store {
    /// Notes that the account has revealed the person's address, if it had not before. None if there is no such person.
    pub async fn reveal(
        &self,
        account: &AccountId,
        person: Uuid,
        now: DateTime<Utc>,
    ) -> Result<Option<Reveal>, StoreError> {
        let mut transaction = begin(&self.pool).await?;
        let noted = sqlx::query(
            "INSERT INTO reveals (account_id, person_id, revealed_at)
             SELECT $1, id, $3 FROM people WHERE id = $2
             ON CONFLICT (account_id, person_id) DO NOTHING",
        )
        .bind(account.as_str())
        .bind(person)
        .bind(now)
        .execute(&mut *transaction)
        .told("INSERT reveals people")
        .await;
        match noted {
            Ok(_) => {}
            // foreign_key_violation: deleted at the same moment.
            Err(error) if sqlstate(&error) == Some("23503") => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let reveal: Option<(Option<String>, DateTime<Utc>)> = sqlx::query_as(
            "SELECT people.email, reveals.revealed_at
             FROM reveals JOIN people ON people.id = reveals.person_id
             WHERE reveals.account_id = $1 AND reveals.person_id = $2",
        )
        .bind(account.as_str())
        .bind(person)
        .fetch_optional(&mut *transaction)
        .told("SELECT reveals people")
        .await?;
        transaction.commit().told("COMMIT").await?;
        Ok(reveal.map(|(email, revealed_at)| Reveal { email, revealed_at }))
    }

    /// The addresses of those of these people whose address the account has revealed.
    pub async fn revealed_among(
        &self,
        account: &AccountId,
        people: &[Uuid],
    ) -> Result<HashMap<Uuid, String>, StoreError> {
        let revealed: Vec<(Uuid, String)> = sqlx::query_as(
            "SELECT id, email
             FROM unnest($2::uuid[]) AS asked (person_id) CROSS JOIN LATERAL (
                 SELECT person_id FROM reveals WHERE account_id = $1 AND person_id = asked.person_id LIMIT 1
             ) AS revealed CROSS JOIN LATERAL (
                 SELECT id, email FROM people WHERE id = revealed.person_id LIMIT 1
             ) AS person
             WHERE email IS NOT NULL",
        )
        .bind(account.as_str())
        .bind(people)
        .fetch_all(&mut *acquire(&self.pool).await?)
        .told("SELECT reveals people")
        .await?;
        Ok(revealed.into_iter().collect())
    }

    /// All addresses the account has revealed. They are compared by the caller, with the rules of
    /// [`crate::planner`]: Postgres folds letters by rules of its own.
    pub async fn revealed(&self, account: &AccountId) -> Result<Vec<(Uuid, String)>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT id, email FROM people
             WHERE id = ANY(ARRAY(SELECT person_id FROM reveals WHERE account_id = $1)) AND email IS NOT NULL",
        )
        .bind(account.as_str())
        .fetch_all(&mut *acquire(&self.pool).await?)
        .told("SELECT reveals people")
        .await?)
    }
}
