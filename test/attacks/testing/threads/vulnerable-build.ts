// The command with faults that tenants can use: a GET of an object with a certain name never ends, takes all memory, or fails the thread.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleModules, ENTRY, REPOSITORY } from "../../../../tools/release/bundle-command.ts";

export const ENDLESS = "endless";
export const GREEDY = "greedy";
export const FAILING = "failing";

const HANDLER = /endpoints\/handlers\/get\.ts$/;
const BEGIN = "export const handleGet: VerbHandler = (context, { definition, servedStore }) => {\n";
const FAULTS = `
  if (context.info.name === "${ENDLESS}") for (;;);
  if (context.info.name === "${GREEDY}") for (const kept: unknown[] = []; ; ) kept.push(new Array(1e5).fill(kept.length));
  if (context.info.name === "${FAILING}") setImmediate(() => { throw new Error("a fault that nothing catches"); });
`;

export type VulnerableBuild = AsyncDisposable & { readonly entry: string };

export async function buildVulnerable(): Promise<VulnerableBuild> {
  // There it finds native modules, which are not in a bundle.
  const cache = join(REPOSITORY, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "vulnerable-build-"));
  let isChanged = false;
  const { files } = await bundleModules({
    sourcemap: false,
    change(path, source) {
      if (!HANDLER.test(path)) return source;
      const parts = source.split(BEGIN);
      isChanged = parts.length === 2;
      return parts.join(BEGIN + FAULTS);
    },
  });
  if (!isChanged) throw new Error("the handler of GET begins otherwise");
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  for (const { name, contents } of files) await writeFile(join(folder, name), contents);
  return {
    entry: join(folder, ENTRY),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
