// How long a server takes from its command line until it answers, and how much memory it has then, with few and with many access keys.
// Usage: npm run build && npx tsx --conditions=@postern/source benchmarks/start.ts [--sizes 1000,10000,100000] [--runs 5] [--folder <directory>]
// A folder keeps the databases for the next time.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type KeyFolder, prepareFolder, startOn } from "./many-keys/key-folders.ts";
import { median } from "./report/median.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { cpuSeconds, residentMegabytes } from "./servers/measured-server.ts";

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "1000,10000,100000" },
    runs: { type: "string", default: "5" },
    folder: { type: "string" },
  },
});

type Start = { readonly milliseconds: number; readonly cpuSeconds: number; readonly megabytes: number };

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const folder = options.folder ?? mkdtempSync(join(tmpdir(), "postern-start-"));
mkdirSync(folder, { recursive: true, mode: 0o700 });
try {
  const measured: { readonly folder: KeyFolder; readonly starts: Start[] }[] = [];
  for (const size of options.sizes.split(",").map(Number)) {
    measured.push({ folder: await prepareFolder(folder, size, say), starts: [] });
  }
  // Taking turns, so that what else the machine does falls on all of them.
  for (let run = 0; run < Number(options.runs); run++) {
    for (const each of measured) each.starts.push(await measureStart(each.folder));
  }
  const [fewest] = measured;
  const rows = measured.map(({ folder: { keys }, starts }) => {
    const memoryOf = (of: readonly Start[]): number => median(of.map(({ megabytes }) => megabytes));
    const milliseconds = starts.map((start) => start.milliseconds);
    const others = keys - (fewest?.folder.keys ?? 0);
    const more = memoryOf(starts) - memoryOf(fewest?.starts ?? []);
    return {
      keys: String(keys),
      "start, ms": median(milliseconds).toFixed(0),
      spread: `${Math.min(...milliseconds).toFixed(0)}-${Math.max(...milliseconds).toFixed(0)}`,
      "CPU, s": median(starts.map((start) => start.cpuSeconds)).toFixed(2),
      "memory, MB": memoryOf(starts).toFixed(0),
      "bytes of one key": others === 0 ? "" : ((more * 1e6) / others).toFixed(0),
    } satisfies Row;
  });
  say(renderTable(rows));
} finally {
  if (options.folder === undefined) rmSync(folder, { recursive: true });
}

async function measureStart(from: KeyFolder): Promise<Start> {
  await using server = await startOn(from);
  return {
    milliseconds: server.startMilliseconds,
    cpuSeconds: cpuSeconds(server) ?? Number.NaN,
    megabytes: residentMegabytes(server) ?? Number.NaN,
  };
}
