// Enforces the structure of a resource: one folder that a newcomer can read, registered once, with an example manifest.

import { existsSync, readdirSync } from "node:fs";
import { readSource, reportGate, repositoryFiles } from "./source-files.ts";

const COMPOSITION = "packages/platform/src/server/compose.ts";
const FEATURES = "packages/platform/src/features";
const REQUIRED = ["README.md", "index.ts"];

/** Reviews and views, which are never written: they have no manifest. */
const WITHOUT_EXAMPLE = new Set(["selves", "access-keys", "cluster-profiles"]);

/** The tests of a view are beside its records. */
const TESTED_ELSEWHERE = new Set(["access-keys", "teams"]);

const composition = readSource(COMPOSITION);
const examples = repositoryFiles().filter((path) => path.startsWith("examples/"));
const folders = readdirSync(FEATURES).flatMap((feature) => {
  const kinds = `${FEATURES}/${feature}/kinds`;
  if (!existsSync(kinds)) return [];
  return readdirSync(kinds, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "testing" && entry.name !== "subresources")
    .map(({ name }) => ({ feature, folder: name, path: `${kinds}/${name}` }));
});

const faults = folders.flatMap(({ feature, folder, path }) => {
  const found: string[] = [];
  const files = readdirSync(path);
  for (const required of REQUIRED) if (!files.includes(required)) found.push(`has no ${required}`);
  const index = `${FEATURES}/${feature}/kinds/index.ts`;
  if (!readSource(index).includes(`"./${folder}/index.ts"`)) found.push(`is not in ${index}`);
  if (!composition.includes(`features/${feature}/kinds/index.ts"`)) found.push(`is not in ${COMPOSITION}`);
  if (!TESTED_ELSEWHERE.has(folder) && !files.some((file) => file.endsWith(".test.ts"))) found.push("has no test");
  const manifest = `examples/${folder.replaceAll("-", "").replace(/ies$/, "ys").replace(/s$/, "")}.yaml`;
  if (!WITHOUT_EXAMPLE.has(folder) && !examples.includes(manifest)) found.push(`has no ${manifest}`);
  return found.map((what) => `${path}: ${what}`);
});
reportGate("resources", folders.length, faults);
