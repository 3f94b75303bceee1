// Runs the real server as a process of its own, and the real tools against it.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { recordInput, recordOutput } from "../../../tools/secret-scan/recorder-of-run.ts";
import { defaultStoreFlags } from "./stores.ts";

export { temporaryDirectory } from "@postern/platform/testing/temporary-directory";

const run = promisify(execFile);

export const REPOSITORY = new URL("../../../", import.meta.url).pathname;
/** The command, as it is built. */
export const ENTRY = join(REPOSITORY, "packages/cli/bin/postern.js");
/** The Node that runs the command. `npm test` names the Node that it was started on, and runs the tests themselves on a newer one (ADR 118). */
export const NODE = process.env["NODE_OF_SERVERS"] ?? process.execPath;
/** Loaded into a server, it ends threads. */
export const ENDED_THREADS = join(REPOSITORY, "test/crash/testing/ended-threads.mjs");
/** CLUSTER_THREADS=2 runs the tests with virtual clusters in threads, FRONT_THREADS=2 with so many that serve requests; NODE_OF_SERVERS has to be new enough. With THREADS_END=20 so many of both end in a minute. */
const { CLUSTER_THREADS: count, FRONT_THREADS: fronts, THREADS_END: ends } = process.env;
/** Those of a server that serve requests, where the flags of a test say nothing else: what each of them counts is counted so many times. */
export const FRONT_THREADS = Number(fronts ?? 1);
const threadsOf = (store: readonly string[]) => ({
  ...(count === undefined ? {} : { POSTERN_CLUSTER_THREADS: count }),
  // Threads do not share memory.
  ...(fronts === undefined || store.includes("memory") ? {} : { POSTERN_THREADS: fronts }),
  ...(ends === undefined ? {} : endedThreads(ends)),
});
const endedThreads = (perMinute: string) => ({
  NODE_OPTIONS: `--import=${ENDED_THREADS}`,
  ENDED_THREADS: "front-,shared-,alone-",
  ENDED_THREADS_PER_MINUTE: perMinute,
  TEST_SEED: process.env["TEST_SEED"],
});
const TURN_MS = 100;
/** So many turns of this process, which do not pass while it is stopped together with the server: as long as a test has. */
const READY_TURNS = Number(process.env["TEST_TIMEOUT"] ?? 60_000) / TURN_MS;

export type PosternProcess = AsyncDisposable & {
  readonly url: string;
  readonly dataDir: string;
  readonly pid: number;
  readonly adminKubeconfig: string;
  readonly caFile: string;
  /** Everything that it has printed, both streams. */
  output(): string;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
  /** The same, where it ends by itself. */
  readonly exited: Promise<number | NodeJS.Signals>;
};

export type PosternSurroundings = {
  /** Prefix of the command line, such as `ip netns exec n1`. */
  readonly run?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The file that runs the command. Default: the build. */
  readonly entry?: string;
  /** The Node that runs it. Default: NODE. */
  readonly node?: string;
};

/** Starts `postern serve`, on a free port where the flags name none, and waits until it says that it is ready. */
export async function startPostern(
  dataDir: string,
  flags: readonly string[] = [],
  { run: before = [], env = {}, entry = ENTRY, node = NODE }: PosternSurroundings = {},
): Promise<PosternProcess> {
  const store = flags.includes("--store") ? [] : defaultStoreFlags(dataDir);
  const port = flags.includes("--secure-port") ? [] : ["--secure-port", "0"];
  const [program = node, ...args] = [...before, node, entry, "serve"];
  const child = spawn(program, [...args, "--data-dir", dataDir, ...port, ...store, ...flags], {
    cwd: REPOSITORY,
    // All that there is to log, since what is logged is looked through for secrets.
    env: {
      PATH: process.env["PATH"],
      HOME: dataDir,
      POSTERN_LOG_LEVEL: "debug",
      ...threadsOf([...store, ...flags]),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (printed += text));
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal ?? 1));
  });
  void exited.then(() => recordOutput(`postern serve (${dataDir})`, printed));
  const url = await readyUrl(child, exited, () => printed);
  return {
    url,
    dataDir,
    pid: child.pid ?? 0,
    adminKubeconfig: join(dataDir, "admin.kubeconfig"),
    caFile: join(dataDir, "ca.crt"),
    output: () => printed,
    exited,
    async stop(signal = "SIGTERM") {
      if (signal === "SIGTERM") await keepWriteAheadLog(dataDir);
      child.kill(signal);
      return await exited;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited;
    },
  };
}

/** A server that ends as it should takes it back into the database; what stands in it has been on the disk all the same. */
async function keepWriteAheadLog(dataDir: string): Promise<void> {
  const log = join(dataDir, "postern.db-wal");
  await copyFile(log, `${log}-${Date.now()}`).catch(() => {});
}

function readyUrl(
  child: ChildProcess,
  exited: Promise<number | NodeJS.Signals>,
  printed: () => string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let turns = 0;
    const timer = setInterval(() => {
      if (++turns < READY_TURNS) return;
      clearInterval(timer);
      child.kill("SIGKILL");
      reject(new Error(`the server was not ready in time:\n${printed()}`));
    }, TURN_MS);
    const look = (): void => {
      const url = /ready at (https:\/\/\S+)/.exec(printed())?.[1];
      if (url === undefined) return;
      clearInterval(timer);
      resolve(url);
    };
    child.stdout?.on("data", look);
    void exited.then((code) => {
      clearInterval(timer);
      reject(new Error(`the server ended with ${code}:\n${printed()}`));
    });
  });
}

/** Files that two servers on one etcd have in common, and the administrator's kubeconfig, which the first of them writes. */
const SHARED_FILES = ["server.key", "ca.crt", "ca.key", "admin.kubeconfig"];

/** Makes the data directory of another server beside one that has started: both are one installation. */
export async function shareIdentity(from: string, to: string, files: readonly string[] = SHARED_FILES): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const file of files) await copyFile(join(from, file), join(to, file));
}

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs a tool to its end. A failure is an outcome, too. */
export async function tool(command: string, args: readonly string[], input?: string): Promise<Outcome> {
  const place = [basename(command), ...args].join(" ");
  recordInput(place, input ?? "");
  await recordKubeconfigs(place);
  const outcome = await runTool(command, args, input);
  recordOutput(place, outcome.stdout, outcome.stderr);
  return outcome;
}

/** Records kubeconfigs as input: a tool may be asked to show the one that it was given. */
async function recordKubeconfigs(place: string): Promise<void> {
  const paths = [...place.matchAll(/(?:--kubeconfig |KUBECONFIG=)(\S+)/g)].flatMap(([, list = ""]) => list.split(":"));
  for (const path of paths) recordInput(place, await readFile(path, "utf8").catch(() => ""));
}

async function runTool(command: string, args: readonly string[], input?: string): Promise<Outcome> {
  const child = run(command, [...args], {
    maxBuffer: 64 << 20,
    timeout: 60_000,
    // Programs in Go, as kubectl is one, are over before collecting garbage pays: a third of their time would go there.
    env: { PATH: process.env["PATH"], HOME: tmpdir(), GOGC: "off" },
  });
  // A tool that does not read its input may be gone before it is written.
  child.child.stdin?.on("error", () => {}).end(input ?? "");
  try {
    const { stdout, stderr } = await child;
    return { code: 0, stdout, stderr };
  } catch (error) {
    // execFile rejects with what the process left behind.
    const { code = 1, stdout = "", stderr = "" } = error as { code?: number; stdout?: string; stderr?: string };
    return { code: typeof code === "number" ? code : 1, stdout, stderr };
  }
}

/** kubectl with a kubeconfig, and a discovery cache of its own. */
export const kubectlWith =
  (kubeConfig: string, cacheDir: string, program = "kubectl") =>
  (args: readonly string[], input?: string): Promise<Outcome> =>
    tool(program, ["--kubeconfig", kubeConfig, "--cache-dir", cacheDir, ...args], input);

/** Runs `postern` to its end. */
export const postern = (...args: readonly string[]): Promise<Outcome> => tool(NODE, [ENTRY, ...args]);

export type RunningTool = Disposable & {
  output(): string;
  /** Whether it has ended by itself. */
  isOver(): boolean;
};

/** Starts a tool that goes on until it is disposed. */
export function startTool(command: string, args: readonly string[]): RunningTool {
  const child = spawn(command, [...args], { env: { PATH: process.env["PATH"], HOME: tmpdir() } });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (printed += text));
  child.once("close", () => recordOutput([basename(command), ...args].join(" "), printed));
  return {
    output: () => printed,
    isOver: () => child.exitCode !== null,
    [Symbol.dispose]: () => void child.kill("SIGKILL"),
  };
}

/** Standard output of a tool; throws where it failed. */
export async function succeed(outcome: Promise<Outcome>): Promise<string> {
  const { code, stdout, stderr } = await outcome;
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}${stdout}`);
  return stdout;
}
