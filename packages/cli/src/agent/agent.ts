// `postern agent`: connects the cluster that it runs in to a platform.

import { readFile } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { Command, InvalidArgumentError } from "commander";
import type { CommandContext } from "../command-context.ts";
import { processHeap } from "../serve/process-heap.ts";
import { listenForStop } from "../stop-signals.ts";

type AgentFlags = {
  readonly kubeconfig?: string;
  readonly secret: string;
  readonly stateFile?: string;
  readonly platform?: string;
  readonly certificateAuthority?: string;
  readonly joinValueFile?: string;
  readonly probePort?: number;
  readonly identityTokenFile?: string;
};

const MAX_PORT = 65_535;
/** A collection of its few megabytes takes some milliseconds. */
const COLLECT_MS = 15_000;

export const createAgentCommand = (context: CommandContext): Command =>
  new Command("agent")
    .description("connect the cluster that this runs in to a platform, through a tunnel that the cluster opens")
    .option(
      "--secret <name>",
      "Secret with the address, CA, join value and key, in the agent's namespace",
      "postern-agent",
    )
    .option("--platform <url>", "address of the platform (default: that of the Secret)")
    .option("--certificate-authority <file>", "PEM file with the CA of the platform (default: that of the Secret)")
    .option("--join-value-file <file>", "file with the join value (default: that of the Secret)")
    .option("--kubeconfig <file>", "for development: reach the cluster with this kubeconfig, outside of it")
    .option("--state-file <file>", "for development: keep the key in this file instead of a Secret")
    .option(
      "--identity-token-file <file>",
      "token of the agent's ServiceAccount for the platform (default: where the manifests have it)",
    )
    .option("--probe-port <port>", "serve /healthz, /readyz and /metrics on this port", parsePort)
    .action(async (flags: AgentFlags) => {
      // Nothing that other commands need is loaded for it, and the other way round.
      const { runAgent } = await import("./run-agent.ts");
      const { createAgentLog } = await import("./agent-log.ts");
      // Forwarded bytes are young and short-lived: more room for them would only be resident memory.
      setFlagsFromString("--semi-space-growth-factor=1");
      processHeap.limitGrowth(true);
      // By itself V8 collects what the start and traffic leave behind when the heap has grown, and that stays resident.
      setInterval(() => processHeap.collect(), COLLECT_MS).unref();
      const stop = new AbortController();
      using signals = listenForStop({ source: process, now: () => performance.now(), exit: process.exit });
      void signals.stopped.then(() => stop.abort());
      const { kubeconfig, secret, stateFile, platform, probePort, identityTokenFile } = flags;
      const [certificateAuthority, joinValue] = await Promise.all(
        [flags.certificateAuthority, flags.joinValueFile].map((path) => path && readFile(path, "utf8")),
      );
      await runAgent(
        {
          secret,
          ...(kubeconfig === undefined ? {} : { kubeconfig }),
          ...(stateFile === undefined ? {} : { stateFile }),
          ...(platform === undefined ? {} : { server: platform }),
          ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
          ...(joinValue === undefined ? {} : { joinValue: joinValue.trim() }),
          ...(probePort === undefined ? {} : { probePort }),
          ...(identityTokenFile === undefined ? {} : { identityTokenFile }),
        },
        {
          environment: context.environment,
          log: createAgentLog(context.stderr, () => new Date()),
          signal: stop.signal,
        },
      );
    });

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > MAX_PORT) throw new InvalidArgumentError("it must be a port.");
  return port;
}
