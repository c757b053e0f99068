// A client by openapi-fetch, with the types that openapi-typescript makes of the document.
import assert from "node:assert/strict";
import { test } from "node:test";

import createClient from "openapi-fetch";

import type { components, paths } from "./schema.js";
import { API_KEY, BASE_URL, JWT, POOR_KEY, SLOW_KEY, TAG } from "./settings.js";

const searcher = (key: string) => createClient<paths>({ baseUrl: BASE_URL, headers: { "X-API-Key": key } });
const client = searcher(API_KEY);

test("searches, and reads a row", async () => {
  const { data, error, response } = await client.POST("/companies/search", {
    body: { searchTags: [TAG], sort: { field: "name", dir: "asc" }, limit: 1, fields: ["name", "location.city"] },
  });
  assert.equal(error, undefined);
  const row: components["schemas"]["Company"] | undefined = data?.data.rows[0];
  assert.equal(row?.name, "Company 1");
  assert.equal(row?.location?.city, "Berlin");
  assert.equal(data?.credits.cost, 1);
  assert.equal(data?.data.paginationMode, "page");
  assert.ok(Number(response.headers.get("X-RateLimit-Limit")) > 0);
});

test("walks by cursor to the end", async () => {
  const from = (cursor: string | null) =>
    client.POST("/companies/search", { body: { searchTags: [TAG], limit: 3, cursor } });
  const ids = new Set<string>();
  let cursor: string | null = null;
  do {
    const { data } = await from(cursor);
    assert.ok(data);
    assert.equal(data.data.total, 7);
    for (const row of data.data.rows) ids.add(row.id);
    cursor = data.data.nextCursor ?? null;
  } while (cursor !== null);
  assert.equal(ids.size, 7);
});

test("is told of every problem", async () => {
  const { data, error, response } = await client.POST("/people/search", {
    body: { limit: 999, infoUpdatedFrom: "2026-02-30" },
  });
  assert.equal(data, undefined);
  assert.equal(response.status, 400);
  assert.equal(error?.code, "VALIDATION_ERROR");
  const paths = error?.issues?.map((issue) => issue.path.join("."));
  assert.deepEqual(paths, ["infoUpdatedFrom", "limit"]);
});

test("is refused without a key, without credits, beyond the rate", async () => {
  const refused = async (key: string) => {
    const { error, response } = await searcher(key).POST("/people/search", { body: {} });
    const after = response.headers.get("Retry-After");
    return { status: response.status, code: error?.code, waits: after !== null && Number(after) >= 1 };
  };
  assert.deepEqual(await refused("none"), { status: 401, code: "INVALID_API_KEY", waits: false });
  assert.deepEqual(await refused(POOR_KEY), { status: 402, code: "INSUFFICIENT_CREDITS", waits: false });
  assert.deepEqual(await refused(SLOW_KEY), { status: 429, code: "RATE_LIMIT_EXCEEDED", waits: true });
});

test("is charged once for what it repeats", async () => {
  const search = () =>
    client.POST("/people/search", { body: {}, params: { header: { "Idempotency-Key": `openapi-fetch ${TAG}` } } });
  const [first, second] = [await search(), await search()];
  assert.equal(first.response.headers.get("Idempotency-Replayed"), null);
  assert.equal(second.response.headers.get("Idempotency-Replayed"), "true");
});

test("manages keys", async () => {
  const session = createClient<paths>({ baseUrl: BASE_URL, headers: { Authorization: `Bearer ${JWT}` } });
  const created = await session.POST("/keys", { body: { name: "openapi-fetch" } });
  assert.ok(created.data);
  assert.equal(created.response.status, 201);
  const { id } = created.data.key;
  const params = { path: { id } };

  const found = await searcher(created.data.secret).POST("/companies/search", { body: { limit: 1 } });
  assert.equal(found.data?.success, true);
  const renamed = await session.PATCH("/keys/{id}", { params, body: { name: "renamed" } });
  assert.equal(renamed.data?.key.name, "renamed");
  const regenerated = await session.POST("/keys/{id}/regenerate", { params });
  assert.notEqual(regenerated.data?.secret, created.data.secret);
  const revoked = await session.DELETE("/keys/{id}", { params });
  assert.equal(revoked.data?.key.active, false);

  const listed = await session.GET("/keys");
  assert.ok(listed.data?.keys.some((key) => key.id === id && key.revokedAt !== null));
  const late = await session.PATCH("/keys/{id}", { params, body: { name: "late" } });
  assert.equal(late.error?.code, "KEY_REVOKED");
  const unknown = await session.DELETE("/keys/{id}", { params: { path: { id: "0190a7c4-0000-7000-8000-000000000000" } } });
  assert.equal(unknown.error?.code, "KEY_NOT_FOUND");
  const stranger = await client.GET("/keys");
  assert.equal(stranger.error?.code, "INVALID_TOKEN");
});
