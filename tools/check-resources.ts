// Enforces the structure of a resource: one folder that a newcomer can read, registered once, with an example manifest.

import { existsSync, readdirSync } from "node:fs";
import { readSource, reportGate, repositoryFiles } from "./source-files.ts";

const ROOT = "packages/platform/src/resources";
const REQUIRED = ["README.md", "index.ts"];

/** Reviews and views, which are never written: they have no manifest. */
const WITHOUT_EXAMPLE = new Set(["selves", "access-keys"]);

/** The tests of a view are beside its records. */
const TESTED_ELSEWHERE = new Set(["access-keys", "teams"]);

const index = readSource(`${ROOT}/index.ts`);
const examples = repositoryFiles().filter((path) => path.startsWith("examples/"));
const folders = readdirSync(ROOT, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "testing")
  .map(({ name }) => name);

const faults = folders.flatMap((folder) => {
  const found: string[] = [];
  const files = readdirSync(`${ROOT}/${folder}`);
  for (const required of REQUIRED) if (!files.includes(required)) found.push(`has no ${required}`);
  if (!index.includes(`"./${folder}/index.ts"`)) found.push("is not in resources/index.ts");
  if (!TESTED_ELSEWHERE.has(folder) && !files.some((file) => file.endsWith(".test.ts"))) found.push("has no test");
  const manifest = `examples/${folder.replaceAll("-", "").replace(/s$/, "")}.yaml`;
  if (!WITHOUT_EXAMPLE.has(folder) && !examples.includes(manifest)) found.push(`has no ${manifest}`);
  return found.map((what) => `${ROOT}/${folder}: ${what}`);
});
if (!existsSync(`${ROOT}/index.ts`)) faults.push(`${ROOT}/index.ts is missing`);
reportGate("resources", folders.length, faults);
