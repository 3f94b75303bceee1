// Writes docs/reference/metrics.md from the scrape of a server. Run: npm run generate -- metrics

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { adminKey, httpClient } from "../test/e2e/testing/http-client.ts";
import { startPostern, temporaryDirectory } from "../test/e2e/testing/postern-process.ts";
import { renderMetricsReference } from "./metrics/metrics-reference.ts";

await using directory = await temporaryDirectory();
await using server = await startPostern(join(directory.path, "data"), ["--store", "memory"]);
const send = await httpClient(server);
const { text } = await send("/metrics", { key: await adminKey(server) });
const path = fileURLToPath(new URL("../docs/reference/metrics.md", import.meta.url));
writeFileSync(path, renderMetricsReference(text));
console.log(`wrote ${path}`);
