// `postern serve`: reads the configuration, starts the server, prints its address, and stops it on a signal.

import type { Configuration } from "@postern/platform/foundation/config/configuration";
import type { RunningServer } from "@postern/platform/main";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { listSources } from "../login/platform-choice.ts";
import { listenForStop, type StopSignalOptions } from "../stop-signals.ts";
import { UsageError } from "../usage-error.ts";
import { withConfigurationFlags } from "./configuration-flags.ts";
import { processHeap } from "./process-heap.ts";
import { startText } from "./start-text.ts";
import { takeProcessErrors } from "./take-process-errors.ts";
import { limitYoungGeneration } from "./young-generation.ts";

export type StartServer = (
  configuration: Configuration,
  stopping: AbortSignal,
  onRepeatedErrors: () => void,
) => Promise<RunningServer>;

export type ServeDeps = {
  readonly startServer: StartServer;
  readonly signals: StopSignalOptions;
};

/** Loaded only to run a server: it takes longer than any other command. */
async function loadPlatform(): Promise<ServeDeps> {
  const [{ startServer }, { frontCount, ownMachine }] = await Promise.all([
    import("@postern/platform/main"),
    import("@postern/platform/fronts/front-count"),
  ]);
  return {
    async startServer(configuration, stopping, onRepeated) {
      const threads = frontCount(configuration, ownMachine()).most > 1 ? await import("../front-thread.ts") : {};
      // For as long as the process runs.
      limitYoungGeneration([...process.execArgv, process.env["NODE_OPTIONS"] ?? ""]);
      return await startServer(configuration, {
        ...threads,
        loadConsole: () => import("@postern/console/files"),
        loadDocumentation: () => import("@postern/console/documentation"),
        stopping,
        onFaults: (faults) => takeProcessErrors({ source: process, now: () => performance.now(), onRepeated }, faults),
        heap: processHeap,
      });
    },
    signals: { source: process, now: () => performance.now(), exit: (code) => process.exit(code) },
  };
}

export async function createServeCommand(
  context: CommandContext,
  loadDeps: () => Promise<ServeDeps> = loadPlatform,
): Promise<Command> {
  const command = new Command("serve").description("run the server");
  const all = () => true;
  const file = "YAML file with options; environment variables and flags take precedence";
  const flags = await withConfigurationFlags(command, context, all, file);
  return command.action(async () => {
    const configuration = await flags.load(flags.given());
    await serve(configuration, await loadDeps(), context);
  });
}

async function serve(
  configuration: Configuration,
  { startServer, signals }: ServeDeps,
  context: CommandContext,
): Promise<void> {
  using stop = listenForStop(signals);
  const stopping = new AbortController();
  void stop.stopped.then(() => stopping.abort());
  const repeatedErrors = new AbortController();
  const start = startServer(configuration, stopping.signal, () => repeatedErrors.abort());
  const server = await start.catch((error: unknown) => {
    throw explainListenFailure(error, configuration);
  });
  // A link in a file or a log would be read by others.
  const showsLink = context.stdout.isTTY === true || configuration.printSignInLink;
  const link = showsLink ? await server.createSignInLink() : undefined;
  const isFound = await leadsTo(server.url, context);
  context.stdout.write(startText({ ...context, server, link, isFound, hasConsole: configuration.console }));
  context.stdout.write(oldNodeNote(process.versions.node));
  const signal = await Promise.race([stop.stopped, whenAborted(repeatedErrors.signal)]);
  if (signal === undefined) {
    context.stderr.write(
      "postern: unexpected errors keep occurring, stopping, so that a supervisor starts the server again\n",
    );
    // A process with errors may not be able to close.
    setTimeout(() => signals.exit(FAILED), CLOSE_MS).unref();
    await server.close();
    setTimeout(() => signals.exit(FAILED), LINGER_MS).unref();
    throw new UsageError("stopped after unexpected errors, which are in the log");
  }
  context.stderr.write(`postern: ${signal} received, stopping; send it again to stop immediately\n`);
  await server.close();
  // Work that remains by then waits for other systems, such as an unresponsive trace collector.
  setTimeout(() => signals.exit(0), LINGER_MS).unref();
}

const LINGER_MS = 500;
/** As long as Kubernetes waits before it kills. */
const CLOSE_MS = 30_000;
const FAILED = 1;

const whenAborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));

/** Whether a command without flags uses the server. */
async function leadsTo(url: string, context: CommandContext): Promise<boolean> {
  const [first] = await listSources(context);
  return first !== undefined && "found" in first && new URL(first.found.transport.server).origin === url;
}

/** A warning if this Node gets no security fixes any more; otherwise empty. */
export const oldNodeNote = (version: string): string =>
  Number.parseInt(version, 10) < 22
    ? `Node ${version} is past its end of life, and slower than newer ones: run the server on Node 24\n`
    : "";

/** A listen error has a code but no remedy. */
function explainListenFailure(error: unknown, { bindAddress, securePort }: Configuration): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  if (error.name !== "ListenError" && !("syscall" in error && error.syscall === "listen")) return error;
  const remedy: { readonly [code: string]: string } = {
    EADDRINUSE: `port ${securePort} on ${bindAddress} is in use: stop the program that uses it, or choose another with --secure-port (0 for any free port)`,
    EACCES: `port ${securePort} needs privileges: choose one above 1023 with --secure-port`,
    EADDRNOTAVAIL: `${bindAddress} is not an address of this machine: choose another with --bind-address`,
  };
  const text = remedy[String(error.code)];
  return text === undefined ? error : new UsageError(text, { cause: error });
}
