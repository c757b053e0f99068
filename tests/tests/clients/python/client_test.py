"""The client that openapi-python-client makes of the document."""

import datetime
import os
import unittest
from http import HTTPStatus
from uuid import UUID

from generated import AuthenticatedClient
from generated.api.keys import create_key, list_keys, regenerate_key, rename_key, revoke_key
from generated.api.search import search_companies, search_people
from generated.models import (
    ApiKeyCreated,
    ApiKeyList,
    ApiKeyRenamed,
    ApiKeyRevoked,
    CompanyField,
    CompanySearchRequest,
    CompanySearchResponse,
    CompanySort,
    CompanySortDir,
    CompanySortField,
    CreateKeyRequest,
    Error,
    ErrorCode,
    PeopleSearchRequest,
    RenameKeyRequest,
)

BASE_URL = os.environ["BASE_URL"]
TAG = os.environ["TAG"]
NOBODYS = UUID("0190a7c4-0000-7000-8000-000000000000")


def searcher(key: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=BASE_URL, token=key, prefix="", auth_header_name="X-API-Key")


CLIENT = searcher(os.environ["API_KEY"])
SESSION = AuthenticatedClient(base_url=BASE_URL, token=os.environ["JWT"])


class ClientTest(unittest.TestCase):
    def test_searches_and_reads_a_row(self) -> None:
        query = CompanySearchRequest(
            search_tags=[TAG],
            sort=CompanySort(field=CompanySortField.NAME, dir_=CompanySortDir.ASC),
            limit=1,
            fields=[CompanyField.NAME, CompanyField.LOCATION_CITY],
        )
        answer = search_companies.sync_detailed(client=CLIENT, body=query)
        self.assertEqual(answer.status_code, HTTPStatus.OK)
        found = answer.parsed
        assert isinstance(found, CompanySearchResponse)
        row = found.data.rows[0]
        self.assertEqual((row.name, row.location.city), ("Company 1", "Berlin"))
        self.assertEqual(found.credits_.cost, 1)
        self.assertGreater(int(answer.headers["X-RateLimit-Limit"]), 0)

    def test_walks_by_cursor_to_the_end(self) -> None:
        ids, cursor = set(), None
        while True:
            query = CompanySearchRequest(search_tags=[TAG], limit=3, cursor=cursor)
            page = search_companies.sync(client=CLIENT, body=query)
            assert isinstance(page, CompanySearchResponse)
            self.assertEqual(page.data.total, 7)
            ids.update(row.id for row in page.data.rows)
            cursor = page.data.next_cursor
            if not cursor:
                break
        self.assertEqual(len(ids), 7)

    def test_is_told_of_every_problem(self) -> None:
        query = PeopleSearchRequest(limit=999, info_updated_from=datetime.date(1800, 1, 1))
        answer = search_people.sync_detailed(client=CLIENT, body=query)
        self.assertEqual(answer.status_code, HTTPStatus.BAD_REQUEST)
        error = answer.parsed
        assert isinstance(error, Error)
        self.assertEqual(error.code, ErrorCode.VALIDATION_ERROR)
        self.assertEqual([issue.path for issue in error.issues], [["infoUpdatedFrom"], ["limit"]])

    def test_is_refused_without_a_key_without_credits_beyond_the_rate(self) -> None:
        for key, status, code in [
            ("none", HTTPStatus.UNAUTHORIZED, ErrorCode.INVALID_API_KEY),
            (os.environ["POOR_KEY"], HTTPStatus.PAYMENT_REQUIRED, ErrorCode.INSUFFICIENT_CREDITS),
            (os.environ["SLOW_KEY"], HTTPStatus.TOO_MANY_REQUESTS, ErrorCode.RATE_LIMIT_EXCEEDED),
        ]:
            answer = search_people.sync_detailed(client=searcher(key), body=PeopleSearchRequest())
            assert isinstance(answer.parsed, Error)
            self.assertEqual((answer.status_code, answer.parsed.code), (status, code))
            if status == HTTPStatus.TOO_MANY_REQUESTS:
                self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)

    def test_is_charged_once_for_what_it_repeats(self) -> None:
        def replayed() -> str | None:
            answer = search_people.sync_detailed(
                client=CLIENT, body=PeopleSearchRequest(), idempotency_key=f"python {TAG}"
            )
            return answer.headers.get("Idempotency-Replayed")

        self.assertEqual([replayed(), replayed()], [None, "true"])

    def test_manages_keys(self) -> None:
        created = create_key.sync(client=SESSION, body=CreateKeyRequest(name="python"))
        assert isinstance(created, ApiKeyCreated)
        key = created.key.id

        found = search_companies.sync(client=searcher(created.secret), body=CompanySearchRequest(limit=1))
        self.assertIsInstance(found, CompanySearchResponse)
        renamed = rename_key.sync(key, client=SESSION, body=RenameKeyRequest(name="renamed"))
        assert isinstance(renamed, ApiKeyRenamed)
        self.assertEqual(renamed.key.name, "renamed")
        regenerated = regenerate_key.sync(key, client=SESSION)
        assert isinstance(regenerated, ApiKeyCreated)
        self.assertNotEqual(regenerated.secret, created.secret)
        revoked = revoke_key.sync(key, client=SESSION)
        assert isinstance(revoked, ApiKeyRevoked)
        self.assertFalse(revoked.key.active)

        listed = list_keys.sync(client=SESSION)
        assert isinstance(listed, ApiKeyList)
        self.assertTrue(any(known.id == key and known.revoked_at for known in listed.keys))
        late = rename_key.sync(key, client=SESSION, body=RenameKeyRequest(name="late"))
        assert isinstance(late, Error)
        self.assertEqual(late.code, ErrorCode.KEY_REVOKED)
        unknown = revoke_key.sync(NOBODYS, client=SESSION)
        assert isinstance(unknown, Error)
        self.assertEqual(unknown.code, ErrorCode.KEY_NOT_FOUND)
        stranger = list_keys.sync(client=CLIENT)
        assert isinstance(stranger, Error)
        self.assertEqual(stranger.code, ErrorCode.INVALID_TOKEN)


if __name__ == "__main__":
    unittest.main()
