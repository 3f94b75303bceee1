// The command, built with a point in each function and behind each `await` at which a test may throw, and its remote control.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundleModules, ENTRY, REPOSITORY } from "../../../../tools/release/bundle-command.ts";
import type { PosternSurroundings } from "../../../e2e/testing/postern-process.ts";
import { withFaultPoints } from "./instrument.ts";

/** Of a server and its threads. */
const SOURCES = /^packages\/(?:apiserver|kubernetes|stores|platform|cli)\/src\//;
const THREAD = /-thread-\w+\.js$/;
/** Those that take errors. */
const TAKERS = /\/(?:logging\/(?:dropped-errors|faults)|take-process-errors|logging\/create-logger)\.ts$/;

const PRELOAD = fileURLToPath(new URL("./preload.mjs", import.meta.url));

export type FaultPoint = {
  readonly place: string;
  /** Of a thread that serves no requests. Otherwise the event loop has called it in one that does. */
  readonly isInThread: boolean;
};

export type FaultyBuild = AsyncDisposable & {
  readonly surroundings: PosternSurroundings;
  /** Points that the server has passed since it was last asked for them. */
  points(): Promise<readonly FaultPoint[]>;
  /** The server throws once at this point, the next time that it passes it: in a thread that serves requests, or in another one. */
  arm(point: FaultPoint): Promise<void>;
  /** It throws no more. */
  disarm(): Promise<void>;
  /** Whether it has thrown since. */
  hasThrown(): Promise<boolean>;
};

export async function buildFaulty(): Promise<FaultyBuild> {
  // There it finds native modules, which are not in a bundle.
  const cache = join(REPOSITORY, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "faulty-build-"));
  const { files } = await bundleModules({
    sourcemap: false,
    change: (path, source) => (SOURCES.test(path) && !TAKERS.test(path) ? withFaultPoints(path, source) : source),
  });
  const bundle = join(folder, "faulty-bundle");
  await mkdir(bundle);
  await writeFile(join(bundle, "package.json"), '{"type":"module"}');
  // Threads get neither environment nor flags of the process.
  const preload = `import ${JSON.stringify(pathToFileURL(PRELOAD).href)};\n`;
  for (const { name, contents } of files)
    await writeFile(join(bundle, name), THREAD.test(name) ? Buffer.concat([Buffer.from(preload), contents]) : contents);
  const socketPath = join(tmpdir(), `${basename(folder)}.sock`);
  const ask = (path: string): Promise<any> =>
    new Promise((resolve, reject) => {
      const sent = request({ socketPath, path }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
        response.on("end", () => resolve(JSON.parse(text))).on("error", reject);
      });
      sent.on("error", reject).end();
    });
  return {
    surroundings: {
      entry: join(bundle, ENTRY),
      env: {
        NODE_OPTIONS: `--import=${PRELOAD}`,
        FAULT_SOCKET: socketPath,
      },
    },
    async points() {
      const { entries, inThreads }: { [kind in "entries" | "inThreads"]: readonly string[] } = await ask("/passed");
      return [
        ...entries.map((place) => ({ place, isInThread: false })),
        ...inThreads.map((place) => ({ place, isInThread: true })),
      ];
    },
    arm: ({ place, isInThread }) => ask(`/arm?place=${encodeURIComponent(place)}&threads=${isInThread}`),
    disarm: () => ask("/disarm"),
    hasThrown: async () => (await ask("/state")).thrown > 0,
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true });
      await rm(`${socketPath}.passed`, { force: true });
    },
  };
}
