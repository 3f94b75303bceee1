// Writes docs/reference/kinds/ from what a server publishes. Run: npx tsx -C @postern/source tools/generate-kind-reference.ts

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startPlatform } from "../packages/platform/src/testing/running-platform.ts";
import { renderKindReference } from "./reference/kind-reference.ts";
import { publishedGroups } from "./reference/published-groups.ts";

await using platform = await startPlatform();
const groups = await publishedGroups(async (path) => (await platform.send({ path })).body);
const folder = fileURLToPath(new URL("../docs/reference/kinds/", import.meta.url));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, text] of renderKindReference(groups)) writeFileSync(`${folder}${name}`, text);
console.log(`wrote ${folder}`);
