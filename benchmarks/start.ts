// The time from the command line to the first response, and the memory then, with few and with many objects: access
// keys, which are also read into the index of keys, and config maps of about the same size.
// Usage: npm run build && npx tsx --conditions=@postern/source benchmarks/start.ts [--sizes 1000,100000] [--runs 5] [--folder <directory>]
// A folder keeps the databases for the next run.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { databaseOf, prepareFolder } from "./many-keys/key-folders.ts";
import { median } from "./report/median.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { loadConfigMaps } from "./servers/load-config-maps.ts";
import { cpuSeconds, residentMegabytes } from "./servers/measured-server.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "1000,100000" },
    runs: { type: "string", default: "5" },
    folder: { type: "string" },
  },
});

type Start = { readonly milliseconds: number; readonly cpuSeconds: number; readonly megabytes: number };
type Measured = { readonly kind: string; readonly count: number; readonly dataDir: string; readonly starts: Start[] };

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const folder = options.folder ?? mkdtempSync(join(tmpdir(), "postern-start-"));
mkdirSync(folder, { recursive: true, mode: 0o700 });
try {
  const measured: Measured[] = [];
  for (const count of options.sizes.split(",").map(Number)) {
    const { dataDir } = await prepareFolder(folder, count, say);
    measured.push({ kind: "access keys", count, dataDir, starts: [] });
    measured.push({ kind: "config maps", count, dataDir: await prepareConfigMaps(count), starts: [] });
  }
  // Alternating, so that other load affects all of them.
  for (let run = 0; run < Number(options.runs); run++) {
    for (const { dataDir, starts } of measured) starts.push(await measureStart(dataDir));
  }
  say(renderTable(measured.map((each) => rowOf(each, measured.find(({ kind }) => kind === each.kind) ?? each))));
} finally {
  if (options.folder === undefined) rmSync(folder, { recursive: true });
}

async function prepareConfigMaps(count: number): Promise<string> {
  const dataDir = join(folder, `config-maps-${count}`);
  if (existsSync(dataDir)) return dataDir;
  const server = await startPostern(dataDir, MAIN);
  await server[Symbol.asyncDispose]();
  await loadConfigMaps(databaseOf(dataDir), count);
  return dataDir;
}

async function measureStart(dataDir: string): Promise<Start> {
  await using server = await startPostern(dataDir, MAIN);
  return {
    milliseconds: server.startMilliseconds,
    cpuSeconds: cpuSeconds(server) ?? Number.NaN,
    megabytes: residentMegabytes(server) ?? Number.NaN,
  };
}

/** `fewest`: of the same kind. */
function rowOf(measured: Measured, fewest: Measured): Row {
  const { kind, count, starts } = measured;
  const milliseconds = starts.map((start) => start.milliseconds);
  const memoryOf = (of: Measured): number => median(of.starts.map(({ megabytes }) => megabytes));
  const memory = memoryOf(measured);
  return {
    objects: `${count} ${kind}`,
    "start, ms": median(milliseconds).toFixed(0),
    spread: `${Math.min(...milliseconds).toFixed(0)}-${Math.max(...milliseconds).toFixed(0)}`,
    "CPU, s": median(starts.map((start) => start.cpuSeconds)).toFixed(2),
    "memory, MB": memory.toFixed(0),
    "bytes of one":
      count === fewest.count ? "" : (((memory - memoryOf(fewest)) * 1e6) / (count - fewest.count)).toFixed(0),
  };
}
