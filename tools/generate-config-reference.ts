// Writes docs/reference/configuration.md from the catalogue of options. Run: npm run generate -- config

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { renderReference } from "../packages/platform/src/foundation/config/reference.ts";

const path = fileURLToPath(new URL("../docs/reference/configuration.md", import.meta.url));
writeFileSync(path, renderReference());
console.log(`wrote ${path}`);
