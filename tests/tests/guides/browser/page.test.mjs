// The reference at /docs in Chromium. By environment: ORIGIN of a gateway, an API_KEY with credits, where PACKAGES and
// CHROMIUM are, and where SCREENSHOTS go.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { join } from "node:path";

const { ORIGIN, API_KEY, PACKAGES, CHROMIUM, SCREENSHOTS } = process.env;
const require = createRequire(join(PACKAGES, "package.json"));
const { chromium } = require("playwright-core");
const { AxeBuilder } = require("@axe-core/playwright");

// Longest wait for anything; no test is about time.
const PATIENCE = 60_000;

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 375, height: 800 };

let browser;
before(async () => {
  // As root there is no sandbox to be had.
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({ executablePath: CHROMIUM, args });
});
after(() => browser.close());

/** Opens the page, lets the work be done, and holds that nothing was complained of and nobody else was asked. */
async function onPage({ viewport = WIDE, colorScheme = "light", hash = "" }, work) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    const complaints = [];
    const outside = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      if (origin !== ORIGIN && protocol !== "data:") outside.push(request.url());
    });
    await page.exposeFunction("violated", (what) => complaints.push(what));
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        globalThis.violated(`${event.violatedDirective} forbids ${event.blockedURI} ${event.sample}`);
      });
    });
    await page.goto(`${ORIGIN}/docs${hash}`);
    await page.getByRole("heading", { name: "Changelog", exact: true }).waitFor({ state: "attached" });
    await page.locator(`body.${colorScheme}-mode`).waitFor();
    await work(page);
    assert.deepEqual(complaints, []);
    assert.deepEqual(outside, []);
  } finally {
    await context.close();
  }
}

/** Nobody is kept out by what is shown now. */
async function isAccessible(page) {
  // What fades in, or from light to dark, is read when it is there.
  await page.evaluate(async () => {
    const ends = (animation) => animation.effect.getComputedTiming().endTime !== Infinity;
    const frame = () => new Promise(requestAnimationFrame);
    let running;
    do {
      await frame();
      await frame();
      running = document.getAnimations().filter(ends).filter(({ playState }) => playState === "running");
      await Promise.allSettled(running.map((animation) => animation.finished));
    } while (running.length > 0);
  });
  const { violations } = await new AxeBuilder({ page }).analyze();
  const told = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, target, any, all, none }) => {
      const [check] = [...any, ...all, ...none];
      const related = check?.relatedNodes?.map((node) => node.html.slice(0, 200)) ?? [];
      return `${id}: ${help}: ${target}: ${check?.message}: ${html.slice(0, 300)} beside ${related.join(" and ")}`;
    }),
  );
  assert.deepEqual(told, []);
}

const picture = (page, name) => page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });

const goTo = async (page, hash, heading) => {
  await page.evaluate((to) => (location.hash = to), hash);
  await page.getByRole("heading", { name: heading, exact: true }).first().waitFor();
};

const openClient = async (page) => {
  await goTo(page, "#tag/search/POST/companies/search", "Search companies");
  const open = page.getByRole("button", { name: /Test Request.*companies\/search/ });
  await open.waitFor();
  return open;
};

const client = (page) => page.getByRole("dialog");

/** The answer of the API to the next search. */
const nextSearch = (page) => page.waitForResponse((response) => response.url() === `${ORIGIN}/api/v1/companies/search`);

for (const colorScheme of ["light", "dark"]) {
  for (const [width, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
    test(`${colorScheme} and ${width}: guides, operations and the client can be read by everybody`, async () => {
      await onPage({ viewport, colorScheme }, async (page) => {
        await isAccessible(page);
        await picture(page, `${colorScheme}-${width}-1-start`);
        await goTo(page, "#description/filters", "Filters");
        await picture(page, `${colorScheme}-${width}-2-filters`);
        const open = await openClient(page);
        await isAccessible(page);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${overflow} pixels are beyond the right edge`);
        await picture(page, `${colorScheme}-${width}-3-operation`);
        await open.click();
        await client(page).getByRole("button", { name: /^Send/ }).first().waitFor();
        await isAccessible(page);
        await picture(page, `${colorScheme}-${width}-4-client`);
      });
    });
  }
}

test("every guide is shown, and every operation is in the index", async () => {
  await onPage({}, async (page) => {
    const index = page.getByRole("complementary").or(page.locator("aside")).first();
    for (const guide of [
      "Authentication",
      "Filters",
      "Places",
      "Paging, sorting, fields",
      "Credits and idempotency",
      "Limits",
      "Errors",
      "Changelog",
    ]) {
      await index.getByRole("link", { name: guide, exact: true }).waitFor();
      await page.getByRole("heading", { name: guide, exact: true, level: 1 }).first().waitFor();
    }
    const { paths } = await (await fetch(`${ORIGIN}/api/v1/openapi.json`)).json();
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    for (const { summary } of operations) {
      await index.getByRole("link", { name: new RegExp(`^${summary}`) }).first().waitFor();
    }
    assert.ok(operations.length > 7);
  });
});

test("a search is sent with a key, its answer is seen, and the key is not kept", async () => {
  await onPage({}, async (page) => {
    await (await openClient(page)).click();
    await client(page).locator("input.scalar-password-input").first().fill(API_KEY);
    const body = client(page).locator(".cm-content[contenteditable=true]").first();
    await body.fill('{"companyName": "siemens", "limit": 1}');
    const [response] = await Promise.all([
      nextSearch(page),
      client(page).getByRole("button", { name: /^Send/ }).first().click(),
    ]);
    assert.equal(response.status(), 200);
    const sent = response.request().headers();
    assert.equal(sent["x-api-key"], API_KEY);
    assert.equal(sent["idempotency-key"], undefined, "an example is not sent");
    const shown = client(page).getByText("Siemens Aktiengesellschaft").first();
    await shown.waitFor();
    await picture(page, "answer");
    await isAccessible(page);
    await page.reload();
    await page.getByRole("heading", { name: "Changelog", exact: true }).waitFor({ state: "attached" });
    const kept = await page.evaluate(async () => {
      const databases = await indexedDB.databases();
      return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, databases, document.cookie]);
    });
    assert.ok(!kept.includes(API_KEY), kept);
    assert.ok(!(await page.content()).includes(API_KEY));
  });
});

test("with the keyboard alone: a search without a key is sent, and the refusal is seen", async () => {
  await onPage({ hash: "#tag/search/POST/companies/search" }, async (page) => {
    const open = await openClient(page);
    // Whatever has the focus is seen to have it, and Tab leads from there to the button and on to the next.
    const tabTo = async (isThere) => {
      for (let step = 0; step < 400; step += 1) {
        await page.keyboard.press("Tab");
        if (await isThere()) return;
      }
      assert.fail("Tab does not lead there");
    };
    const isFocused = (locator) => locator.evaluate((element) => element === document.activeElement);
    await tabTo(() => isFocused(open));
    await page.keyboard.press("Enter");
    const send = client(page).getByRole("button", { name: /^Send/ }).first();
    await send.waitFor();
    await tabTo(() => isFocused(send));
    const [response] = await Promise.all([nextSearch(page), page.keyboard.press("Enter")]);
    assert.equal(response.status(), 401);
    await client(page).getByText("INVALID_API_KEY").first().waitFor();
    await page.keyboard.press("Escape");
    await client(page).waitFor({ state: "hidden" });
  }).catch((problem) => {
    // The browser itself writes a line for each answer that is an error: that one is expected, and no other.
    const expected = /^Failed to load resource: the server responded with a status of 401/;
    const { actual } = problem;
    if (!Array.isArray(actual) || actual.length !== 1 || !expected.test(actual[0])) throw problem;
  });
});

test("without its script the page leads to all that it shows", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${ORIGIN}/docs`);
  for (const name of ["Filters", "Errors", "OpenAPI document"]) {
    const address = await page.getByRole("link", { name }).getAttribute("href");
    const answer = await fetch(new URL(address, ORIGIN));
    assert.equal(answer.status, 200);
  }
  await context.close();
});
