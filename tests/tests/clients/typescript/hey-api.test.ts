// The client that @hey-api/openapi-ts makes of the document.
import assert from "node:assert/strict";
import { test } from "node:test";

import { client } from "./hey-api/client.gen.js";
import {
  createKey,
  listKeys,
  regenerateKey,
  renameKey,
  revokeKey,
  searchCompanies,
  searchPeople,
} from "./hey-api/sdk.gen.js";
import type { Company } from "./hey-api/types.gen.js";
import { API_KEY, BASE_URL, JWT, POOR_KEY, SLOW_KEY, TAG } from "./settings.js";

client.setConfig({ baseUrl: BASE_URL, auth: API_KEY });

test("searches, and reads a row", async () => {
  const { data, error, response } = await searchCompanies({
    body: { searchTags: [TAG], sort: { field: "name", dir: "asc" }, limit: 1, fields: ["name", "location.city"] },
  });
  assert.equal(error, undefined);
  const row: Company | undefined = data?.data.rows[0];
  assert.equal(row?.name, "Company 1");
  assert.equal(row?.location?.city, "Berlin");
  assert.equal(data?.credits.cost, 1);
  assert.ok(Number(response?.headers.get("X-RateLimit-Limit")) > 0);
});

test("walks by cursor to the end", async () => {
  const from = (cursor: string | null) =>
    searchCompanies({ body: { searchTags: [TAG], limit: 3, cursor }, throwOnError: true });
  const ids = new Set<string>();
  let cursor: string | null = null;
  do {
    const { data } = await from(cursor);
    assert.equal(data.data.total, 7);
    for (const row of data.data.rows) ids.add(row.id);
    cursor = data.data.nextCursor ?? null;
  } while (cursor !== null);
  assert.equal(ids.size, 7);
});

test("is told of every problem", async () => {
  const { data, error, response } = await searchPeople({ body: { limit: 999, infoUpdatedFrom: "2026-02-30" } });
  assert.equal(data, undefined);
  assert.equal(response?.status, 400);
  assert.equal(error?.code, "VALIDATION_ERROR");
  const paths = error?.issues?.map((issue) => issue.path.join("."));
  assert.deepEqual(paths, ["infoUpdatedFrom", "limit"]);
});

test("is refused without a key, without credits, beyond the rate", async () => {
  const refused = async (auth: string) => {
    const { error, response } = await searchPeople({ auth, body: {} });
    const after = response?.headers.get("Retry-After") ?? null;
    return { status: response?.status, code: error?.code, waits: after !== null && Number(after) >= 1 };
  };
  assert.deepEqual(await refused("none"), { status: 401, code: "INVALID_API_KEY", waits: false });
  assert.deepEqual(await refused(POOR_KEY), { status: 402, code: "INSUFFICIENT_CREDITS", waits: false });
  assert.deepEqual(await refused(SLOW_KEY), { status: 429, code: "RATE_LIMIT_EXCEEDED", waits: true });
});

test("is charged once for what it repeats", async () => {
  const search = () => searchPeople({ body: {}, headers: { "Idempotency-Key": `hey-api ${TAG}` } });
  const [first, second] = [await search(), await search()];
  assert.equal(first.response?.headers.get("Idempotency-Replayed"), null);
  assert.equal(second.response?.headers.get("Idempotency-Replayed"), "true");
});

test("manages keys", async () => {
  const session = { auth: JWT };
  const created = await createKey({ ...session, body: { name: "hey-api" }, throwOnError: true });
  assert.equal(created.response.status, 201);
  const path = { id: created.data.key.id };

  const found = await searchCompanies({ auth: created.data.secret, body: { limit: 1 } });
  assert.equal(found.data?.success, true);
  const renamed = await renameKey({ ...session, path, body: { name: "renamed" } });
  assert.equal(renamed.data?.key.name, "renamed");
  const regenerated = await regenerateKey({ ...session, path });
  assert.notEqual(regenerated.data?.secret, created.data.secret);
  const revoked = await revokeKey({ ...session, path });
  assert.equal(revoked.data?.key.active, false);

  const listed = await listKeys(session);
  assert.ok(listed.data?.keys.some((key) => key.id === path.id && key.revokedAt !== null));
  const late = await renameKey({ ...session, path, body: { name: "late" } });
  assert.equal(late.error?.code, "KEY_REVOKED");
  const unknown = await revokeKey({ ...session, path: { id: "0190a7c4-0000-7000-8000-000000000000" } });
  assert.equal(unknown.error?.code, "KEY_NOT_FOUND");
  const stranger = await listKeys();
  assert.equal(stranger.error?.code, "INVALID_TOKEN");
});
