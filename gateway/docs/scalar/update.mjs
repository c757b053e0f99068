// Vendors another version of Scalar, or checks that the one here is what its package holds:
//
//     node gateway/docs/scalar/update.mjs 1.76.0
//     node gateway/docs/scalar/update.mjs --check
//
// Needs node and npm, whose registry's hash of the package npm checks itself. Afterwards: `./dev test --docs`, and a look
// at the page.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const PACKAGE = "@scalar/api-reference";
const SCRIPT = "dist/browser/standalone.js";

const here = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const file = (name) => join(here, name);
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const pinned = (name) => readFileSync(file(name), "utf8").trim();

/** The package as it is published, in a folder. */
function fetched(version, folder) {
  const [{ filename }] = JSON.parse(
    execFileSync("npm", ["pack", `${PACKAGE}@${version}`, "--json", "--pack-destination", folder], { encoding: "utf8" }),
  );
  const archive = existsSync(join(folder, filename)) ? filename : readdirSync(folder).find((name) => name.endsWith(".tgz"));
  execFileSync("tar", ["xzf", join(folder, archive), "-C", folder]);
  return join(folder, "package");
}

/** The licences of everything that is bundled into the script, by its source map. */
function licences(version, unpacked, folder) {
  const install = (packages) =>
    execFileSync("npm", ["install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", ...packages], {
      stdio: "inherit",
    });
  install([`${PACKAGE}@${version}`]);
  const { sources } = JSON.parse(readFileSync(join(unpacked, `${SCRIPT}.map`), "utf8"));
  const names = new Set(
    sources
      .filter((source) => source.includes("node_modules/"))
      .map((source) => source.split("node_modules/").at(-1).split("/"))
      .map(([scope, name]) => (scope.startsWith("@") ? `${scope}/${name}` : scope)),
  );
  // A few are there when it is bundled, and not when it is installed.
  const missing = [...names].filter((name) => !existsSync(join(folder, "node_modules", name)));
  if (missing.length > 0) install(missing);
  const byText = new Map();
  for (const name of [...names].sort()) {
    const installed = join(folder, "node_modules", name);
    const text = readdirSync(installed).find((entry) => /^licen[cs]e/i.test(entry));
    const { license } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    const shown = text ? readFileSync(join(installed, text), "utf8").trim() : `${license}, as its package.json says`;
    byText.set(shown, [...(byText.get(shown) ?? []), `${name} (${license})`]);
  }
  const others = [...byText].map(([text, users]) => `${users.join("\n")}\n\n${text}\n`);
  const rule = `\n${"-".repeat(100)}\n\n`;
  return [`${PACKAGE} ${version} and all of @scalar: MIT, see LICENSE\n`, ...others].join(rule);
}

const asked = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), "scalar-"));
try {
  if (asked === "--check") {
    const script = readFileSync(join(fetched(pinned("VERSION"), folder), SCRIPT));
    const vendored = sha256(gunzipSync(readFileSync(file("scalar.js.gz"))));
    if (sha256(script) !== pinned("SHA256") || vendored !== pinned("SHA256")) {
      throw new Error(`what is vendored is not the ${SCRIPT} of ${PACKAGE}@${pinned("VERSION")}`);
    }
    console.log(`scalar.js.gz is ${SCRIPT} of ${PACKAGE}@${pinned("VERSION")}`);
  } else if (/^\d+\.\d+\.\d+$/.test(asked ?? "")) {
    const unpacked = fetched(asked, folder);
    const script = readFileSync(join(unpacked, SCRIPT));
    writeFileSync(file("LICENSES"), licences(asked, unpacked, folder));
    writeFileSync(file("scalar.js.gz"), gzipSync(script, { level: 9 }));
    writeFileSync(file("SHA256"), `${sha256(script)}\n`);
    writeFileSync(file("VERSION"), `${asked}\n`);
    console.log(`${PACKAGE}@${asked} is vendored`);
  } else {
    throw new Error("say a version such as 1.76.0, or --check");
  }
} finally {
  rmSync(folder, { recursive: true });
}
