"""A search by gRPC, as an internal service makes one: a token, a deadline, and every problem of a query that is refused.

SEARCH_GRPC is where the search service is (http://127.0.0.1:7101), SERVICE_TOKEN a token with the scope `search`.
"""

import os

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from search.v1 import search_pb2, search_pb2_grpc

# Longest time for one answer, in seconds. The service stops its work when it is over.
DEADLINE = 2.0

OPTIONS = [
    ("grpc.keepalive_time_ms", 10_000),
    # Pages of 250 companies with long descriptions are larger than gRPC's 4 MiB.
    ("grpc.max_receive_message_length", 64 << 20),
]


def search(client, query):
    return client.SearchCompanies(
        search_pb2.SearchCompaniesRequest(query=query),
        timeout=DEADLINE,
        metadata=[("authorization", f"Bearer {os.environ['SERVICE_TOKEN']}")],
    )


def problems(error):
    """Each problem of a query that was refused: where, and what."""
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        bad_request = error_details_pb2.BadRequest()
        if detail.Unpack(bad_request):
            for violation in bad_request.field_violations:
                yield f"{violation.field}: {violation.description}"


address = os.environ["SEARCH_GRPC"].removeprefix("http://")
with grpc.insecure_channel(address, options=OPTIONS) as channel:
    client = search_pb2_grpc.SearchServiceStub(channel)
    query = search_pb2.SearchQuery(location="Berlin", limit=2)

    answer = search(client, query)
    print(f"{answer.page.total} in all")
    for company in answer.companies:
        print(company.name)

    query.limit = 999
    query.info_updated_from = "yesterday"
    try:
        search(client, query)
        raise SystemExit("a query with two problems was answered")
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.INVALID_ARGUMENT:
            raise
        print(f"refused: {error.code().name}")
        for problem in problems(error):
            print(f"- {problem}")
