// How long builds take to start with 100,000 access keys, and the memory per key, alternating on copies of one store.

import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { prepareFolder } from "../many-keys/key-folders.ts";
import { residentMegabytes } from "../servers/measured-server.ts";
import { startPostern } from "../servers/start-postern.ts";
import { median } from "./median.ts";
import type { Row } from "./render-table.ts";

type Build = { readonly name: string; readonly main: string };
type Start = { readonly milliseconds: number; readonly megabytes: number };

const [FEW, MANY] = [1_000, 100_000];
const GOALS = { milliseconds: 1_200, bytes: 1_900 };

export async function measureStarts(
  folder: string,
  builds: readonly Build[],
  { node, runs }: { readonly node: string; readonly runs: number },
): Promise<readonly Row[]> {
  const starts = new Map<string, Start[]>();
  for (const keys of [FEW, MANY]) {
    const made = join(folder, "made");
    mkdirSync(made, { recursive: true, mode: 0o700 });
    const { dataDir } = await prepareFolder(made, keys, () => {});
    // A build migrates a store to its own format.
    for (const { name } of builds) cpSync(dataDir, join(folder, name, String(keys)), { recursive: true });
    for (let run = -1; run < runs; run++) {
      for (const { name, main } of builds) {
        const start = await measure(join(folder, name, String(keys)), main, node);
        const place = `${name} ${keys}`;
        // The first start finds neither build nor store in the page cache.
        if (run >= 0) starts.set(place, [...(starts.get(place) ?? []), start]);
      }
    }
  }
  const of = (name: string, keys: number, part: keyof Start): number =>
    median((starts.get(`${name} ${keys}`) ?? []).map((start) => start[part]));
  return builds.map(({ name }) => {
    const milliseconds = of(name, MANY, "milliseconds");
    const bytes = ((of(name, MANY, "megabytes") - of(name, FEW, "megabytes")) * 1e6) / (MANY - FEW);
    return {
      build: name,
      "start with 1,000 keys, ms": of(name, FEW, "milliseconds").toFixed(0),
      "with 100,000, ms": milliseconds.toFixed(0),
      "one key, bytes": bytes.toFixed(0),
      goal: `≤ ${GOALS.milliseconds} ms (${milliseconds <= GOALS.milliseconds ? "met" : "missed"}), ≤ ${GOALS.bytes} bytes (${
        bytes <= GOALS.bytes ? "met" : "missed"
      })`,
    };
  });
}

async function measure(dataDir: string, main: string, node: string): Promise<Start> {
  await using server = await startPostern(dataDir, main, [], node);
  return { milliseconds: server.startMilliseconds, megabytes: residentMegabytes(server) ?? Number.NaN };
}
