// `npm run generate`: regenerates everything that is derived from other files: the references in docs/ and the kustomize base.
// `npm run generate -- metrics` runs only the generators with that word in their name.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const words = process.argv.slice(2);
const generators = readdirSync(fileURLToPath(new URL(".", import.meta.url)))
  .filter((name) => /^generate-.+\.ts$/.test(name))
  .filter((name) => words.length === 0 || words.some((word) => name.includes(word)));

const failed = generators.filter((name) => {
  console.log(`=== ${name}`);
  const args = ["--no-install", "tsx", "-C", "@postern/source", `tools/${name}`];
  return spawnSync("npx", args, { stdio: "inherit" }).status !== 0;
});
for (const name of failed) console.error(`FAIL ${name}`);
if (generators.length === 0) console.error(`no generator has ${words.join(" or ")} in its name`);
process.exitCode = failed.length === 0 && generators.length > 0 ? 0 : 1;
